package audit

import (
	"strings"
	"unicode/utf8"
)

// Record is what a Log is told of a call. Texts that are too long are cut.
type Record struct {
	// Principal is who called; empty where callers are not told apart, or the caller was not known.
	Principal string
	// Method is the full name of the rpc.
	Method string
	// Namespace is the one that the call was about; empty: none, or not one that there can be.
	Namespace string
	// Everything says that the call was about the whole store.
	Everything bool
	DryRun     bool
	// ForgetHistory says that histories of aliases were to go.
	ForgetHistory bool
	// Selector is the kind of what selects nodes to erase, without its value.
	Selector string
	// Nodes are the ids of what the call put or erased, Aliases the names of what it set or deleted, which stay out of the file. The first Listed of
	// each are told, and NodeCount and AliasCount, which are at least as many.
	Nodes, Aliases        []string
	NodeCount, AliasCount int
	// Code and Reason are the outcome.
	Code, Reason string
	RequestID    string
	Peer         string
	// Unchanged says that the call changed nothing for sure. Many such in a short time are summed up.
	Unchanged bool
}

// told is what a line tells of a call.
func (r *Record) told(key *Key, salt string) *call {
	c := &call{
		Principal: cut(r.Principal), Method: cut(r.Method), Namespace: cut(r.Namespace), DryRun: r.DryRun, ForgetHistory: r.ForgetHistory, Selector: cut(r.Selector),
		NodeCount: r.NodeCount, AliasCount: r.AliasCount,
		Code: cut(r.Code), Reason: cut(r.Reason), RequestID: cut(r.RequestID), Peer: cut(r.Peer),
	}
	if r.Everything {
		c.WholeOf = "store"
	}
	for _, id := range r.Nodes[:min(len(r.Nodes), Listed)] {
		c.Nodes = append(c.Nodes, cut(id))
	}
	for _, alias := range r.Aliases[:min(len(r.Aliases), Listed)] {
		c.Aliases = append(c.Aliases, key.Name(salt, r.Namespace, alias))
	}
	return c
}

// cut is a text that is not too long, and whole characters.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.ToValidUTF8(text[:end], "\uFFFD")
}
