package promises

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// stack is a running server over an engine, whose clock the test sets.
type stack struct {
	conn   *grpc.ClientConn
	api    transcriptv1.TranscriptServiceClient
	clock  atomic.Int64 // milliseconds
	worlds int          // namespaces used
	// outcomes count what became of compactions.
	outcomes map[string]int
}

// engines are what the promises are held over.
var engines = map[string]func(*testing.T, func() time.Time) (chainstore.Store, error){
	"memstore": func(_ *testing.T, now func() time.Time) (chainstore.Store, error) {
		return memstore.New(memstore.Options{Now: now}), nil
	},
	"badgerstore": func(t *testing.T, now func() time.Time) (chainstore.Store, error) {
		return badgerstore.Open(t.TempDir(), badgerstore.Options{Now: now})
	},
}

func start(t *testing.T, engine string) *stack {
	t.Helper()
	s := &stack{outcomes: map[string]int{}}
	now := func() time.Time { return time.UnixMilli(s.clock.Load()) }
	store, err := engines[engine](t, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	s.conn = testserver.StartWith(t, store, server.Config{Version: "test", Now: now}).Conn
	s.api = transcriptv1.NewTranscriptServiceClient(s.conn)
	return s
}

// rawReply is a reply with the messages as they came, laid end to end.
type rawReply struct {
	*transcriptv1.AssembleResponse
	messages []byte
}

// rawCodec leaves the messages of a *rawReply undecoded.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	raw, ok := v.(*rawReply)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	var rest []byte
	for b := data.Materialize(); len(b) > 0; {
		number, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number == 1 {
			raw.messages = append(raw.messages, b[:n]...)
		} else {
			rest = append(rest, b[:n]...)
		}
		b = b[n:]
	}
	raw.AssembleResponse = &transcriptv1.AssembleResponse{}
	return proto.Unmarshal(rest, raw.AssembleResponse)
}

// assemble asks for a view. The reply's messages stay bytes.
func (s *stack) assemble(ctx context.Context, req *transcriptv1.AssembleRequest) (*rawReply, error) {
	reply := &rawReply{}
	return reply, s.conn.Invoke(ctx, transcriptv1.TranscriptService_Assemble_FullMethodName, req, reply,
		grpc.ForceCodecV2(rawCodec{encoding.GetCodecV2(grpcproto.Name)}))
}

// reasonOf is the reason of an error, without its prefix.
func reasonOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return fmt.Sprint(status.Code(err))
}

func ref(n *node) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: n.id}}
}
