package testserver

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Collect lets the server collect, which does not wait for report. Of what is left to be looked at a report on the wire tells a part of the whole.
func (w *wire) Collect(ctx context.Context, namespace string, c chainstore.Collection, report func(chainstore.Collected) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer w.forget()
	stream, err := w.admin.CollectGarbage(ctx, &transcriptv1.CollectGarbageRequest{
		Namespace: spelled(namespace), DryRun: c.DryRun, MaxNodesPerSecond: c.NodesPerSecond,
		Grace: durationpb.New(time.Duration(c.Grace) * time.Millisecond),
	})
	if err != nil {
		return domain(err)
	}
	for done := false; ; {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) && done {
			return nil
		}
		if err != nil {
			return domain(err)
		}
		done = m.Done
		told := chainstore.Collected{
			Phase: phaseOf(m), Nodes: m.Nodes, Messages: m.Messages, MessageBytes: m.MessageBytes, States: m.AliasStates,
		}
		if err := report(told); err != nil {
			return err
		}
	}
}

func phaseOf(m *transcriptv1.CollectGarbageResponse) chainstore.CollectPhase {
	switch m.Phase {
	case transcriptv1.CollectPhase_COLLECT_PHASE_QUEUED:
		return chainstore.CollectQueued
	case transcriptv1.CollectPhase_COLLECT_PHASE_MARKING:
		return chainstore.CollectMarking
	case transcriptv1.CollectPhase_COLLECT_PHASE_HELD:
		return chainstore.CollectHeld
	case transcriptv1.CollectPhase_COLLECT_PHASE_SWEEPING:
		return chainstore.CollectSweeping
	default:
		return chainstore.CollectDone
	}
}

// forget forgets the nodes seen: some of them may be gone.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.nodes)
}

// Hold is not on the wire.
func (w *wire) Hold(context.Context) (release func(), err error) { return nil, errNotOnWire }
