module github.com/transcriptd/transcriptd/examples/reply-chain/tests

go 1.26.0

require (
	github.com/transcriptd/transcriptd v0.0.0
	github.com/transcriptd/transcriptd/client v0.0.0
	github.com/transcriptd/transcriptd/examples/reply-chain/go v0.0.0
	github.com/transcriptd/transcriptd/gen v0.0.0
)

require (
	github.com/transcriptd/transcriptd/canonical v0.0.0 // indirect
	github.com/transcriptd/transcriptd/compaction/runloop v0.0.0 // indirect
	github.com/transcriptd/transcriptd/redact v0.0.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

// Until a release, as in the workspace (go.work); .ci/release takes them out.
replace (
	github.com/transcriptd/transcriptd => ../../..
	github.com/transcriptd/transcriptd/canonical => ../../../canonical
	github.com/transcriptd/transcriptd/client => ../../../client
	github.com/transcriptd/transcriptd/compaction/runloop => ../../../compaction/runloop
	github.com/transcriptd/transcriptd/conformance => ../../../conformance
	github.com/transcriptd/transcriptd/examples/reply-chain/go => ../go
	github.com/transcriptd/transcriptd/gen => ../../../gen
	github.com/transcriptd/transcriptd/redact => ../../../redact
)
