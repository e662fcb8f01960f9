package server

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/collection"
	"github.com/transcriptd/transcriptd/server/internal/panics"
	"github.com/transcriptd/transcriptd/server/internal/progress"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// DefaultGrace is how long what was put is kept by its time where nobody says how long.
const DefaultGrace = 24 * time.Hour

// MaxGrace is the longest grace.
const MaxGrace = 10 * 365 * 24 * time.Hour

// Collected is how far a collection of the whole store is.
type Collected = collection.Report

// CollectGarbage collects a namespace, or every namespace, and tells how far it is.
func (a *admin) CollectGarbage(req *transcriptv1.CollectGarbageRequest, out grpc.ServerStreamingServer[transcriptv1.CollectGarbageResponse]) error {
	asked, run, err := a.parseCollection(req)
	if err != nil {
		return err
	}
	place, err := a.verifies.enter(out.Context())
	if err != nil {
		return err
	}
	defer place.leave()
	sender := sending[transcriptv1.CollectGarbageResponse]{out, place}
	var last *transcriptv1.CollectGarbageResponse
	send := func(r *transcriptv1.CollectGarbageResponse) error {
		return reply.SendError(out.Context(), sender.Send(r))
	}
	err = progress.Run(out.Context(), func(ctx context.Context, report func(collection.Report) error) error {
		return run(ctx, asked, report)
	}, func(_, newer collection.Report) collection.Report { return newer }, func(r collection.Report) error {
		if last = collected(&r); r.Phase == chainstore.CollectDone && !r.Reclaiming {
			return nil // another follows
		}
		return send(last)
	})
	if err != nil {
		return err
	}
	last.Done, last.Phase = true, transcriptv1.CollectPhase_COLLECT_PHASE_UNSPECIFIED
	return send(last)
}

// parseCollection reads what is to be collected, and how.
func (a *admin) parseCollection(req *transcriptv1.CollectGarbageRequest) (
	asked chainstore.Collection, run func(context.Context, chainstore.Collection, func(collection.Report) error) error, err error,
) {
	if req.MaxNodesPerSecond < 0 {
		return asked, nil, wire.InvalidField("max_nodes_per_second", "must not be negative")
	}
	if req.ReclaimSpace && (req.DryRun || req.Scope != transcriptv1.Scope_SCOPE_STORE) {
		return asked, nil, wire.InvalidField("reclaim_space", "must be false with dry_run, and of a namespace: space is given back of the whole store")
	}
	asked = chainstore.Collection{DryRun: req.DryRun, Grace: a.grace.Milliseconds(), NodesPerSecond: req.MaxNodesPerSecond}
	if req.Grace != nil {
		if asked.Grace, err = grace(req.Grace); err != nil {
			return asked, nil, err
		}
	}
	collector := collection.Collector{Store: a.store, Keeper: a.keeper, Now: a.now}
	switch req.Scope {
	case transcriptv1.Scope_SCOPE_UNSPECIFIED, transcriptv1.Scope_SCOPE_NAMESPACE:
		namespace := wire.Namespace(req.Namespace)
		return asked, func(ctx context.Context, c chainstore.Collection, report func(collection.Report) error) error {
			return collector.One(ctx, namespace, c, report)
		}, nil
	case transcriptv1.Scope_SCOPE_STORE:
		if req.Namespace != "" {
			return asked, nil, wire.InvalidField("namespace", "must be empty with SCOPE_STORE, which is every namespace")
		}
		return asked, func(ctx context.Context, c chainstore.Collection, report func(collection.Report) error) error {
			return collector.Whole(ctx, c, req.ReclaimSpace, report)
		}, nil
	default:
		return asked, nil, wire.InvalidField("scope", "must be SCOPE_NAMESPACE or SCOPE_STORE")
	}
}

// grace is that of a request in milliseconds.
func grace(d *durationpb.Duration) (int64, error) {
	if d.CheckValid() != nil || d.AsDuration() < 0 || d.AsDuration() > MaxGrace || d.Nanos%int32(time.Millisecond) != 0 {
		return 0, wire.InvalidField("grace", fmt.Sprintf("must be from 0 to %d seconds, in whole milliseconds", int64(MaxGrace/time.Second)))
	}
	return d.AsDuration().Milliseconds(), nil
}

// collected tells of a report.
func collected(r *collection.Report) *transcriptv1.CollectGarbageResponse {
	m := &transcriptv1.CollectGarbageResponse{
		Nodes: r.Nodes, Messages: r.Messages, MessageBytes: r.MessageBytes, AliasStates: r.States,
		Namespace: r.Namespace, NamespacesCollected: r.Namespaces, FileBytes: r.Space.Files, DeadBytes: r.Space.Dead,
		AliasesExpired: r.Expired, NamespacesHeld: r.Held,
	}
	if m.Phase = phaseOf(r.Phase); r.All > 0 {
		m.Progress = float64(r.All-r.Left) / float64(r.All)
	}
	if r.Phase == chainstore.CollectDone {
		m.Progress = 1
	}
	if r.Reclaiming {
		m.Progress, m.Phase = 1, transcriptv1.CollectPhase_COLLECT_PHASE_RECLAIMING
	}
	return m
}

func phaseOf(p chainstore.CollectPhase) transcriptv1.CollectPhase {
	switch p {
	case chainstore.CollectQueued:
		return transcriptv1.CollectPhase_COLLECT_PHASE_QUEUED
	case chainstore.CollectMarking:
		return transcriptv1.CollectPhase_COLLECT_PHASE_MARKING
	case chainstore.CollectHeld:
		return transcriptv1.CollectPhase_COLLECT_PHASE_HELD
	default:
		return transcriptv1.CollectPhase_COLLECT_PHASE_SWEEPING
	}
}

// Collect collects the whole store for the program itself, as the rpc does for callers: a panic is its error. It takes no place of theirs.
func (s *Server) Collect(ctx context.Context, nodesPerSecond int64, report func(Collected) error) error {
	c := chainstore.Collection{Grace: s.grace.Milliseconds(), NodesPerSecond: nodesPerSecond}
	collector := collection.Collector{Store: s.store, Keeper: s.keeper, Now: s.now}
	return panics.Guard(func() error { return collector.Whole(ctx, c, false, report) })
}

// DrawReceiptKey draws the key that the store signs receipts with, where it has none yet. Else the first erasure draws it.
func (s *Server) DrawReceiptKey(ctx context.Context) error {
	return panics.Guard(func() error { return s.receipts.Draw(ctx) })
}

// Reclaim gives space back for the program itself: a panic is its error.
func (s *Server) Reclaim(ctx context.Context) error {
	return panics.Guard(func() error { return s.store.Reclaim(ctx) })
}
