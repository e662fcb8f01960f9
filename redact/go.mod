module github.com/transcriptd/transcriptd/redact

go 1.26.0
