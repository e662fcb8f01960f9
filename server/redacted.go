package server

import (
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

func redactCalls(calls []*transcriptv1.ToolCallSummary) {
	for _, c := range calls {
		c.Id, c.Name = wire.RedactedName(c.Id), wire.RedactedName(c.Name)
	}
}

// redactNames takes secrets out of all names and ids of a description that callers chose.
func redactNames(r *transcriptv1.DescribeResponse) {
	for _, c := range r.Loop.Pending {
		c.Id, c.Name = wire.RedactedName(c.Id), wire.RedactedName(c.Name)
	}
	for _, tool := range r.Tools {
		tool.Name = wire.RedactedName(tool.Name)
	}
	if from := r.Lineage.SpawnedFrom; from != nil {
		from.ToolCallId = wire.RedactedName(from.ToolCallId)
	}
	for _, spawned := range r.Lineage.Spawned {
		if from := spawned.SpawnedFrom; from != nil {
			from.ToolCallId = wire.RedactedName(from.ToolCallId)
		}
	}
	for i, alias := range r.Aliases {
		r.Aliases[i] = redact.Text(alias)
	}
	for _, v := range r.Variables {
		v.Name = redact.Text(v.Name)
	}
}
