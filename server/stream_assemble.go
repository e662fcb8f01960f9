package server

import (
	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/frames"
)

// StreamAssemble reads and sends batch by batch, and reads the next while it sends one: in constant memory, four batches
// at most and the rows that filled them. Batches take room for replies; where there is none, a batch is a frame, and one that is
// larger waits.
func (t *transcripts) StreamAssemble(req *transcriptv1.StreamAssembleRequest, out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]) error {
	ctx := out.Context()
	a, err := chainview.Open(ctx, t.store, req)
	if err != nil {
		return err
	}
	w := &frames.Writer{Out: out, First: &transcriptv1.StreamAssembleResponse{
		HeadId: a.HeadID(), BaseId: a.BaseID(), Etag: a.Etag, NotModified: a.NotModified, Counters: a.Counters(), Erasures: a.Erasures(),
	}}
	w.First.Begin, w.First.HasMoreBefore = a.Begin()
	if a.NotModified {
		return w.Send(&chainview.Frame{}, &transcriptv1.Report{})
	}
	last, report, err := frames.ReadAll(ctx, a, t.replies, t.scans, w.SendAll)
	if err != nil {
		return err
	}
	defer last.Drop()
	return w.Send(last, a.Report(report))
}
