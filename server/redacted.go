package server

import (
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
)

// redactedName is a name or an id that a caller chose, without secrets; nil where there is none.
func redactedName(name *string) *string {
	if name == nil {
		return nil
	}
	shown := redact.Text(*name)
	return &shown
}

func redactCalls(calls []*transcriptv1.ToolCallSummary) {
	for _, c := range calls {
		c.Id, c.Name = redactedName(c.Id), redactedName(c.Name)
	}
}

func redactHit(h *transcriptv1.SearchHit) {
	h.ToolCallId, h.ToolName, h.Alias = redactedName(h.ToolCallId), redactedName(h.ToolName), redact.Text(h.Alias)
}

// redactNames takes secrets out of all names and ids of a description that callers chose.
func redactNames(r *transcriptv1.DescribeResponse) {
	for _, c := range r.Loop.Pending {
		c.Id, c.Name = redactedName(c.Id), redactedName(c.Name)
	}
	for _, tool := range r.Tools {
		tool.Name = redactedName(tool.Name)
	}
	if from := r.Lineage.SpawnedFrom; from != nil {
		from.ToolCallId = redactedName(from.ToolCallId)
	}
	for _, spawned := range r.Lineage.Spawned {
		if from := spawned.SpawnedFrom; from != nil {
			from.ToolCallId = redactedName(from.ToolCallId)
		}
	}
	for i, alias := range r.Aliases {
		r.Aliases[i] = redact.Text(alias)
	}
	for _, v := range r.Variables {
		v.Name = redact.Text(v.Name)
	}
}
