package testserver

import (
	"maps"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// addDetail adds what a detail tells to a note.
func addDetail(note *transcriptv1.MessageNote, d *chainstore.Detail) {
	note.Model, note.FinishReason = d.Model, d.FinishReason
	note.InputTokens, note.OutputTokens, note.CachedTokens = d.Input, d.Output, d.Cached
	if len(d.Attributes) > 0 {
		note.Attributes = map[string]string{}
	}
	for _, a := range d.Attributes {
		note.Attributes[a.Key] = a.Value
	}
}

// detailsOf are the encoded details that notes tell.
func detailsOf(notes []*transcriptv1.MessageNote) []byte {
	details := make([]chainstore.Detail, len(notes))
	for i, n := range notes {
		d := &details[i]
		*d = chainstore.Detail{Model: n.Model, FinishReason: n.FinishReason, Input: n.InputTokens, Output: n.OutputTokens, Cached: n.CachedTokens}
		for _, key := range slices.Sorted(maps.Keys(n.Attributes)) {
			d.Attributes = append(d.Attributes, chainstore.Attribute{Key: key, Value: n.Attributes[key]})
		}
	}
	return chainstore.EncodeDetails(details)
}
