module github.com/transcriptd/transcriptd/examples/reply-chain/go

go 1.26.0

require (
	github.com/anthropics/anthropic-sdk-go v1.84.0
	github.com/openai/openai-go/v3 v3.99.0
	github.com/transcriptd/transcriptd/client v0.0.0
	github.com/transcriptd/transcriptd/gen v0.0.0
)

require (
	github.com/bahlo/generic-list-go v0.2.0 // indirect
	github.com/buger/jsonparser v1.1.2 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/invopop/jsonschema v0.14.0 // indirect
	github.com/pb33f/ordered-map/v2 v2.3.1 // indirect
	github.com/standard-webhooks/standard-webhooks/libraries v0.0.1 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	github.com/transcriptd/transcriptd/canonical v0.0.0 // indirect
	github.com/transcriptd/transcriptd/compaction/runloop v0.0.0 // indirect
	github.com/transcriptd/transcriptd/redact v0.0.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.45.0 // indirect
	go.opentelemetry.io/otel/metric v1.45.0 // indirect
	go.opentelemetry.io/otel/trace v1.45.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0-rc.2 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20261019180522-ce908d29299b // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

// Until a release, as in the workspace (go.work); .ci/release takes them out.
replace (
	github.com/transcriptd/transcriptd/canonical => ../../../canonical
	github.com/transcriptd/transcriptd/client => ../../../client
	github.com/transcriptd/transcriptd/compaction/runloop => ../../../compaction/runloop
	github.com/transcriptd/transcriptd/gen => ../../../gen
	github.com/transcriptd/transcriptd/redact => ../../../redact
)
