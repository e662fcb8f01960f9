module github.com/transcriptd/transcriptd/conformance

go 1.26.0

require (
	github.com/transcriptd/transcriptd/canonical v0.0.0
	github.com/transcriptd/transcriptd/compaction/runloop v0.0.0
	github.com/transcriptd/transcriptd/gen v0.0.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)

// Until a release, as in the workspace (go.work); .ci/release takes them out.
replace (
	github.com/transcriptd/transcriptd/canonical => ../canonical
	github.com/transcriptd/transcriptd/compaction/runloop => ../compaction/runloop
	github.com/transcriptd/transcriptd/gen => ../gen
)
