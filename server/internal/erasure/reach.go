package erasure

import (
	"context"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// reaching tells of the aliases whose heads, or past ones, are among nodes.
func (r *run) reaching(ctx context.Context, nodes map[chainstore.ID]bool) error {
	var all []*transcriptv1.ReachingAlias
	_, err := r.Store.ExportAliases(ctx, 0, func(name string) bool { return name == r.Namespace }, chainstore.ExportYield{
		Namespace: func(*chainstore.ExportedNamespace) error { return nil },
		Alias: func(a *chainstore.ExportedAlias) error {
			reaches := func(s chainstore.AliasState) bool { return !s.Deleted && nodes[s.Node] }
			if len(a.States) > 0 && slices.ContainsFunc(a.States, reaches) {
				all = append(all, &transcriptv1.ReachingAlias{
					Name: a.Name, OfPrefix: r.Prefix != "" && strings.HasPrefix(a.Name, r.Prefix), PastOnly: !reaches(a.States[0]), Deleted: a.States[0].Deleted,
				})
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(all, listed) {
		if err := r.tell(func(report *transcriptv1.EraseResponse) { report.Aliases = some }); err != nil {
			return err
		}
	}
	return nil
}

// spawned tells of the nodes that begin chains which targets spawned. It looks from some heads alone where there are many.
func (r *run) spawned(ctx context.Context, targets []chainstore.ID) error {
	heads := targets
	if r.Prefix != "" {
		heads = r.heads
	}
	more, seen := len(heads) > listed, map[chainstore.ID]bool{}
	var found []string
	for _, head := range heads[:min(len(heads), listed)] {
		chain, err := r.Store.Chain(ctx, r.Namespace, chainstore.Ref{ID: head}, nil)
		if err != nil {
			return err
		}
		spawned, cut, err := chain.Spawned(ctx, chainstore.SpawnedReach)
		if err != nil {
			return err
		}
		more = more || cut
		for _, h := range spawned {
			t := r.targets[h.SpawnedFrom.Node]
			if t == nil || t.kept || t.erasedAt != 0 || seen[h.ID] {
				continue
			}
			if seen[h.ID] = true; len(found) == listed {
				more = true
				break
			}
			found = append(found, h.ID.String())
		}
	}
	r.now.MoreSpawned = more
	return r.tell(func(report *transcriptv1.EraseResponse) { report.SpawnedNodeIds = found })
}
