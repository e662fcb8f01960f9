package transport

import (
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// describe adds to a record what a request asks for and what its reply, nil for none, tells: which nodes were put, which aliases set or deleted. No more than
// that is taken from either. A request of another method adds nothing.
func describe(r *audit.Record, req, made any) {
	if framed, ok := made.(*reply.Spliced); ok {
		made = framed.Message
	}
	switch req := req.(type) {
	case *transcriptv1.PutNodeRequest:
		updated(r, req.GetAliases())
		put(r, made)
	case *transcriptv1.PutNodesRequest:
		for _, n := range req.GetNodes() {
			updated(r, n.GetAliases())
		}
		if answer, ok := made.(*transcriptv1.PutNodesResponse); ok {
			for _, n := range answer.GetNodes() {
				put(r, n)
			}
		}
	case *transcriptv1.PutArchivedNodesRequest:
		if answer, ok := made.(*transcriptv1.PutArchivedNodesResponse); ok {
			for _, n := range answer.GetNodes() {
				put(r, n)
			}
		}
	case *transcriptv1.CompactRequest:
		r.DryRun = req.GetDryRun()
		updated(r, req.GetAliases())
		if alias := req.GetHead().GetAlias(); alias != "" {
			named(r, alias)
		}
		if answer, ok := made.(*transcriptv1.CompactResponse); ok && answer.GetWritten() {
			putNode(r, answer.GetNodeId())
		}
	case *transcriptv1.AliasRequest:
		for _, a := range req.GetAliases() {
			named(r, a.GetName())
		}
	case *transcriptv1.DeleteAliasRequest:
		r.ForgetHistory = req.GetForgetHistory()
		named(r, req.GetName())
	case *transcriptv1.DeleteAliasesRequest:
		r.DryRun, r.ForgetHistory = req.GetDryRun(), req.GetForgetHistory()
		if answer, ok := made.(*transcriptv1.DeleteAliasesResponse); ok {
			for _, a := range answer.GetAliases() {
				named(r, a.GetName())
			}
		}
	case *transcriptv1.RestoreRequest:
		for _, a := range req.GetAliases() {
			named(r, a.GetName())
		}
		holding(r, req.GetArchived().GetSettings())
	case *transcriptv1.SetNamespaceRequest:
		holding(r, req.GetSettings())
	}
}

// holding names the prefixes with a legal hold.
func holding(r *audit.Record, s *transcriptv1.NamespaceSettings) {
	for _, rule := range s.GetRetention() {
		if rule.GetLegalHold() {
			named(r, rule.GetAliasPrefix())
		}
	}
}

func updated(r *audit.Record, aliases []*transcriptv1.AliasUpdate) {
	for _, a := range aliases {
		named(r, a.GetName())
	}
}

func named(r *audit.Record, alias string) {
	if r.AliasCount++; r.AliasCount <= audit.Listed {
		r.Aliases = append(r.Aliases, alias)
	}
}

func put(r *audit.Record, made any) {
	if answer, ok := made.(*transcriptv1.PutNodeResponse); ok && answer != nil {
		putNode(r, answer.GetNodeId())
	}
}

func putNode(r *audit.Record, id string) {
	if r.NodeCount++; r.NodeCount <= audit.Listed {
		r.Nodes = append(r.Nodes, id)
	}
}
