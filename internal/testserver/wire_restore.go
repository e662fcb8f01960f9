package testserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func (w *wire) Restore(ctx context.Context, namespace string, r *chainstore.Restored) (int, error) {
	req := &transcriptv1.RestoreRequest{Namespace: spelled(namespace), Archived: &transcriptv1.ArchiveNamespace{
		SettingsRevision: r.Settings.Revision, RevisionFloor: r.Floor,
	}}
	if s := r.Settings; s.Revision > 0 {
		req.Archived.Settings = wireSettings(&s.Settings)
	}
	asked, fields := &chainstore.Change{}, []string{}
	for i := range r.Aliases {
		req.Aliases = append(req.Aliases, archivedAlias(&r.Aliases[i]))
		asked.Aliases = append(asked.Aliases, chainstore.AliasChange{Condition: chainstore.Condition{Kind: chainstore.HeadIs}})
		fields = append(fields, fmt.Sprintf("aliases[%d]", i))
	}
	reply, err := w.admin.Restore(ctx, req)
	if err == nil {
		return int(reply.AliasesSet), nil
	}
	if field, of := strings.CutSuffix(violated(status.Convert(err)), ".states"); of {
		return 0, missingError(domain(err), field+".target", asked, fields)
	}
	return 0, conflictError(err, asked, fields)
}

func archivedAlias(a *chainstore.ExportedAlias) *transcriptv1.ArchiveAlias {
	out := &transcriptv1.ArchiveAlias{Name: a.Name, Labels: a.Labels, Revision: a.Revision}
	for i := len(a.States) - 1; i >= 0; i-- {
		s := &a.States[i]
		state := &transcriptv1.ArchiveAliasState{BeganAt: timestamppb.New(time.UnixMilli(s.At)), Revision: s.Revision}
		if !s.Deleted {
			state.Node = s.Node[:]
		}
		out.States = append(out.States, state)
	}
	return out
}
