package frames

import (
	"google.golang.org/grpc"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/transport/reply"
)

// Writer sends frames.
type Writer struct {
	Out grpc.ServerStreamingServer[transcriptv1.StreamAssembleResponse]
	// First is what the first frame carries beside its nodes; nil once it is sent.
	First *transcriptv1.StreamAssembleResponse
}

// SendAll sends the frames of a batch, in order.
func (w *Writer) SendAll(full []*chainview.Frame) error {
	for _, f := range full {
		if err := w.Send(f, nil); err != nil {
			return err
		}
	}
	return nil
}

// Send sends a frame; the last one carries the report. Beside the largest nodes there is no room for one, which comes in a frame of its own.
func (w *Writer) Send(f *chainview.Frame, report *transcriptv1.Report) error {
	if report != nil && !f.HasRoom(report) {
		if err := w.Send(f, nil); err != nil {
			return err
		}
		f = &chainview.Frame{}
	}
	m := w.First
	if w.First = nil; m == nil {
		m = &transcriptv1.StreamAssembleResponse{}
	}
	m.Nodes, m.Report = f.Nodes, report
	err := w.Out.SendMsg(reply.Splice(m, f, nil))
	reply.HeldBy(f).UnlessEnded()
	return reply.SendError(w.Out.Context(), err)
}
