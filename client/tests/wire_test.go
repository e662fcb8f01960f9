package client_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// link is a connection to a real server on which a test can lose, count and change what passes.
type link struct {
	*grpc.ClientConn
	mu sync.Mutex
	// lost calls of a method fail as UNAVAILABLE after the server did them, refused ones before.
	lost, refused map[string]int
	// between is called between a lost call and the report of its loss.
	between func()
	// sent counts calls by method; asked are the requests of StreamAssemble.
	sent  map[string]int
	asked []*transcriptv1.StreamAssembleRequest
	// ask changes a request of StreamAssemble before it is sent; change a raw reply, or drops it by returning false.
	ask    func(*transcriptv1.StreamAssembleRequest)
	change func(*[]byte) bool
	// answer changes the reply of a put.
	answer func(reply any)
	// bytes counts what raw replies hold.
	bytes int
}

const (
	putNode  = transcriptv1.TranscriptService_PutNode_FullMethodName
	putNodes = transcriptv1.TranscriptService_PutNodes_FullMethodName
	setAlias = transcriptv1.TranscriptService_Alias_FullMethodName
	delAlias = transcriptv1.TranscriptService_DeleteAlias_FullMethodName
	getNode  = transcriptv1.TranscriptService_GetNode_FullMethodName
	resolve  = transcriptv1.TranscriptService_ResolveAlias_FullMethodName
	assemble = transcriptv1.TranscriptService_StreamAssemble_FullMethodName
)

var errGone = status.Error(codes.Unavailable, "the connection broke")

// overBadger is the test whose subtests run over the engine that keeps transcripts on disk; all others run in memory.
const overBadger = "TestOverBadger"

// newLink is a link to a server of its own.
func newLink(t *testing.T) *link {
	t.Helper()
	if !strings.HasPrefix(t.Name(), overBadger+"/") {
		return linkTo(testserver.StartMemory(t))
	}
	store, err := badgerstore.Open(t.TempDir(), badgerstore.Options{})
	ok(t, err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return linkTo(testserver.Start(t, store))
}

// TestOverBadger runs what depends on the engine once more.
func TestOverBadger(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"turn":        TestATurn,
		"guard":       TestStreamCancelStaleGuard,
		"guard races": TestOfGuardAndWorkerOneWins,
		"again":       TestStartAgain,
		"unknown":     TestAnUnknownReplyToBeginsAConversation,
		"branches":    TestTwoRepliesAreTwoBranches,
		"writers":     TestOfTwoWritersOneIsFirst,
		"same":        TestOfTwoWritersOfTheSameOneIsFirst,
		"many":        TestManyWritersNeverInterleave,
		"crash":       TestResumeAfterACrash,
		"lost":        TestLostRepliesInAThread,
		"moved":       TestLostReplyOfAReplyToWhatMoved,
		"tail":        TestOnlyTheTailIsAskedFor,
		"repaired":    TestRepairedViewsGrowToo,
		"true":        TestWhatIsTrueVerifies,
		"long":        TestLongChains,
		"largest":     TestTheLargestNode,
		"aliases":     TestAliasStates,
		"admin":       TestAdmin,
		"collect":     TestCollectGarbage,
		"erase":       TestErase,
		"anew":        TestErasuresOfANamespaceThatBeginsAgain,
		"not found":   TestRefusalsAreTyped,
		"all at once": TestPutAll,
		"compacted":   TestAThreadGoesOnPastCompactions,
		"compactors":  TestWritersAndCompactorsAtOnce,
		"lost behind": TestALostAppendThatWasCompacted,
	} {
		t.Run(name, test)
	}
}

func linkTo(conn *grpc.ClientConn) *link {
	return &link{ClientConn: conn, lost: map[string]int{}, refused: map[string]int{}, sent: map[string]int{}}
}

// client makes a client that repeats quickly, at most 4 attempts.
func (l *link) client(opts ...client.Option) *client.Client {
	retry := client.Retry{Attempts: 4, First: time.Microsecond, Max: time.Microsecond}
	return client.New(l, append([]client.Option{client.WithRetry(retry)}, opts...)...)
}

// take counts a call and tells whether it is one of those that m counts down.
func (l *link) take(m map[string]int, method string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m[method] == 0 {
		return false
	}
	m[method]--
	return true
}

func (l *link) Invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	l.mu.Lock()
	l.sent[method]++
	l.mu.Unlock()
	if l.take(l.refused, method) {
		return errGone
	}
	opts, _ = l.received(opts)
	if err := l.ClientConn.Invoke(ctx, method, req, reply, opts...); err != nil {
		return err
	}
	if l.take(l.lost, method) {
		if l.between != nil {
			l.between()
		}
		proto.Reset(reply.(proto.Message))
		return errGone
	}
	if l.answer != nil {
		l.answer(reply)
	}
	return nil
}

// received puts a codec around the one that a call asks for: those that do get replies as they were received.
func (l *link) received(opts []grpc.CallOption) ([]grpc.CallOption, *linkCodec) {
	for _, opt := range opts {
		if forced, ok := opt.(grpc.ForceCodecV2CallOption); ok {
			codec := &linkCodec{CodecV2: forced.CodecV2, link: l}
			return append(slices.Clone(opts), grpc.ForceCodecV2(codec)), codec
		}
	}
	return opts, new(linkCodec)
}

// linkCodec counts and changes raw replies before they are read.
type linkCodec struct {
	encoding.CodecV2
	link *link
	// dropped tells of the last reply that it is not to be delivered.
	dropped bool
}

func (c *linkCodec) Unmarshal(data mem.BufferSlice, v any) error {
	raw := data.Materialize()
	c.link.mu.Lock()
	c.link.bytes += len(raw)
	c.link.mu.Unlock()
	if c.dropped = c.link.change != nil && !c.link.change(&raw); c.dropped {
		return nil
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{mem.SliceBuffer(raw)}, v)
}

func (l *link) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	l.mu.Lock()
	l.sent[method]++
	l.mu.Unlock()
	if l.take(l.refused, method) {
		return nil, errGone
	}
	opts, codec := l.received(opts)
	stream, err := l.ClientConn.NewStream(ctx, desc, method, opts...)
	return &linkStream{stream, l, codec}, err
}

type linkStream struct {
	grpc.ClientStream
	link  *link
	codec *linkCodec
}

func (s *linkStream) SendMsg(m any) error {
	if req, ok := m.(*transcriptv1.StreamAssembleRequest); ok {
		s.link.mu.Lock()
		s.link.asked = append(s.link.asked, req)
		s.link.mu.Unlock()
		if s.link.ask != nil {
			req = proto.CloneOf(req)
			s.link.ask(req)
			m = req
		}
	}
	return s.ClientStream.SendMsg(m)
}

func (s *linkStream) RecvMsg(m any) error {
	for {
		if err := s.ClientStream.RecvMsg(m); err != nil {
			return err
		}
		if !s.codec.dropped {
			return nil
		}
	}
}

// reset forgets what was counted.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent, l.asked, l.bytes = map[string]int{}, nil, 0
}

// must is the value of a call that has to succeed.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fails holds an error to a sentinel and gives it as an *Error, if it is one.
func fails(t *testing.T, err, want error) *client.Error {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
	e, _ := errors.AsType[*client.Error](err)
	return e
}

// same holds messages to others.
func same(t *testing.T, got []*transcriptv1.Message, want ...*transcriptv1.Message) {
	t.Helper()
	equal := func(a, b *transcriptv1.Message) bool { return proto.Equal(a, b) }
	if !slices.EqualFunc(got, want, equal) {
		t.Fatalf("got %d messages %v\nwant %d %v", len(got), got, len(want), want)
	}
}

// shows holds what a thread would send to a model to messages.
func shows(t *testing.T, thread *client.Thread, want ...*transcriptv1.Message) {
	t.Helper()
	same(t, must(thread.Messages(t.Context(), nil))(t), want...)
}

// collect gathers a sequence that must not fail.
func collect[T any](t *testing.T, seq func(func(T, error) bool)) []T {
	t.Helper()
	var all []T
	seq(func(one T, err error) bool {
		ok(t, err)
		all = append(all, one)
		return true
	})
	return all
}
