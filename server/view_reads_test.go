package server_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/prose"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// turns is a server over a store on disk with chains of turns, whose client takes replies as bytes: to decode them would
// take longer than much of what is compared. A turn is a node of four messages: a question, a call, its result, a reply.
type turns struct {
	*disk
	conn *grpc.ClientConn
}

// uncached makes every read ask the database, so that what is asked of it can be counted.
var uncached = badgerstore.Options{RowCacheBytes: -1, Now: atBegun}

// openTurns serves the store in a directory. What is closed and opened again is read from tables on disk, compressed, and
// not from what the database holds in memory until it writes them.
func openTurns(tb testing.TB, dir string, o badgerstore.Options) *turns {
	tb.Helper()
	o.Now = atBegun
	store, err := badgerstore.Open(dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = store.Close() }) // closed already, where it was opened again
	return serveTurns(tb, store, store)
}

// serveTurns serves a store that reads and writes another.
func serveTurns(tb testing.TB, served chainstore.Store, store *badgerstore.Store) *turns {
	tb.Helper()
	conn := testserver.Start(tb, served)
	return &turns{&disk{tb, transcriptv1.NewTranscriptServiceClient(conn), store}, conn}
}

// in is the same for a part of a test.
func (c *turns) in(tb testing.TB) *turns {
	return &turns{&disk{tb, c.TranscriptServiceClient, c.store}, c.conn}
}

// sizes are the characters of the four texts of a turn.
type sizes struct{ question, arguments, result, reply int }

var (
	// usual is 3.5 KB a turn, of which results are about two thirds, as in coding sessions; half of the replies are longer
	// than what a condensed loop shows by default.
	usual = sizes{question: 300, arguments: 250, result: 2300, reply: 550}
	tiny  = sizes{question: 10, arguments: 10, result: 10, reply: 10}
)

// turn is a turn so many before the last one of its chain, a minute each: chains end with equal turns at an equal time.
func turn(before int, of sizes) *transcriptv1.NewNode {
	random := rand.New(rand.NewPCG(1, uint64(before)))
	id := fmt.Sprint("call_", before)
	call := calling("read_file", id)
	call.Parts[0].GetToolCall().Arguments = `{"path":"` + prose.Words(random, of.arguments) + `"}`
	n := node(
		user(prose.Words(random, of.question)), call, result(id, prose.Words(random, of.result)),
		assistant(prose.Words(random, of.reply/2+random.IntN(of.reply))),
	)
	for i := range n.Messages {
		at := begun.Add(-time.Duration(before)*time.Minute - time.Duration(30-i)*time.Second)
		n.Notes = append(n.Notes, &transcriptv1.MessageNote{SentAt: timestamppb.New(at)})
	}
	n.Metadata = variables("turn", fmt.Sprint(before))
	return n
}

// grow puts turns behind a chain, the last of which are so many before its end, or begins one with a system prompt.
func (c *turns) grow(alias string, n, before int, of sizes) {
	c.Helper()
	var nodes []*transcriptv1.NewNode
	if _, err := c.ResolveAlias(c.Context(), &transcriptv1.ResolveAliasRequest{Name: alias}); err != nil {
		nodes = append(nodes, node(system("The prompt of "+alias+".")))
	}
	for i := range n {
		nodes = append(nodes, turn(before+n-1-i, of))
	}
	c.put(alias, nodes...)
}

// growCompacted makes a chain of 410 turns that was compacted so many times, evenly, the last time ten turns before its end.
func (c *turns) growCompacted(alias string, times int, of sizes) {
	c.Helper()
	for i := range times {
		c.grow(alias, 400/times, 410-400/times*(i+1), of)
		at, err := c.ResolveAlias(c.Context(), &transcriptv1.ResolveAliasRequest{Name: alias})
		if err != nil {
			c.Fatal(err)
		}
		reply, err := c.Compact(c.Context(), &Compact{
			Head: byAlias(alias), ThroughId: at.Alias.NodeId, Summary: prose.Words(rand.New(rand.NewPCG(3, 3)), 2*of.reply),
		})
		if err != nil || !reply.Written {
			c.Fatalf("compact %s: %v, %v", alias, reply, err)
		}
	}
	c.grow(alias, 10, 0, of)
}

// head is the node that an alias points to.
func (c *turns) head(alias string) string {
	c.Helper()
	reply, err := c.ResolveAlias(c.Context(), &transcriptv1.ResolveAliasRequest{Name: alias})
	if err != nil {
		c.Fatal(err)
	}
	return reply.Alias.NodeId
}

// unary makes a call that returns the bytes of its reply.
func (c *turns) unary(method string, req proto.Message) func() []byte {
	return func() (reply []byte) {
		if err := c.conn.Invoke(context.Background(), method, req, &reply, grpc.ForceCodecV2(raw{})); err != nil {
			c.Fatal(err)
		}
		return reply
	}
}

func (c *turns) view(alias string, view transcriptv1.View, policy *Policy) func() []byte {
	return c.unary(transcriptv1.TranscriptService_Assemble_FullMethodName, &Assemble{Head: byAlias(alias), View: view, Policy: policy})
}

func (c *turns) describe(alias string, mode transcriptv1.DescribeMode) func() []byte {
	return c.unary(transcriptv1.TranscriptService_Describe_FullMethodName, &Describe{
		Head: byAlias(alias), Mode: mode, Now: timestamppb.New(begun),
	})
}

// streamed makes a call whose reply comes frame by frame, and returns the last one.
func (c *turns) streamed(req *transcriptv1.StreamAssembleRequest) func() []byte {
	desc := &transcriptv1.TranscriptService_ServiceDesc.Streams[0]
	return func() (frame []byte) {
		s, err := c.conn.NewStream(context.Background(), desc, transcriptv1.TranscriptService_StreamAssemble_FullMethodName, grpc.ForceCodecV2(raw{}))
		if err == nil {
			err = s.SendMsg(req)
		}
		if err == nil {
			err = s.CloseSend()
		}
		for err == nil {
			err = s.RecvMsg(&frame)
		}
		if !errors.Is(err, io.EOF) {
			c.Fatal(err)
		}
		return frame
	}
}

// compacting compacts a whole chain each time anew, beside what was made before, and leaves its alias where it is.
func (c *turns) compacting(alias string, policy *Policy) func() []byte {
	c.Helper()
	head := c.head(alias)
	salt := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 4))
	return func() []byte {
		return c.unary(transcriptv1.TranscriptService_Compact_FullMethodName, &Compact{
			Head: byID(head), Policy: policy,
			Salt: binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, salt.Uint64()), salt.Uint64()),
		})()
	}
}

// reads is what a call asks of the database: gets, seeks and steps.
func (c *turns) reads(call func() []byte) cost {
	g, s, n := c.store.Reads()
	call()
	g2, s2, n2 := c.store.Reads()
	return cost{g2 - g, s2 - s, n2 - n}
}

func (c cost) sum() float64 { return float64(c.gets + c.seeks + c.nexts) }

// The policies that windows are measured with.
func byLoops(n int32) *Policy { return &Policy{MaxRunLoops: proto.Int32(n), MaxAge: durationpb.New(0)} }

func unbounded() *Policy { return &Policy{Preset: transcriptv1.Preset_PRESET_UNBOUNDED} }

// wholeWhereRecent leaves about ten loops, about half of them whole.
func wholeWhereRecent() *Policy {
	return &Policy{MaxRunLoops: proto.Int32(10), KeepWholeRunLoops: proto.Int32(10), MaxAge: durationpb.New(5 * time.Minute)}
}

func byBytes(n int64) *Policy {
	p := byLoops(0)
	p.MaxBytes = proto.Int64(n)
	return p
}

// deepTurns is the length of a long chain.
func deepTurns() int {
	if *long {
		return 10_000
	}
	return 2_000
}

// TestReadsOfViews states what windows, views of what was compacted, and descriptions ask of the database at the end of a
// short chain, or after one compaction, and that it is the same at the end of a long chain, or after 40. docs/performance.md
// tells these figures.
func TestReadsOfViews(t *testing.T) {
	c := openTurns(t, t.TempDir(), uncached)
	deep := fmt.Sprint(deepTurns())
	for _, n := range []int{10, 100, deepTurns()} {
		c.grow(fmt.Sprint(n), n, 0, tiny)
	}
	c.growCompacted("compacted once", 1, tiny)
	c.growCompacted("compacted often", 40, tiny)
	for _, x := range []struct {
		name  string
		calls [2]func() []byte
		want  cost
	}{
		{"max_run_loops", c.views("100", deep, conversation, byLoops(10)), cost{gets: 2, seeks: 10, nexts: 18}},
		{"whole where recent", c.views("100", deep, conversation, wholeWhereRecent()), cost{gets: 2, seeks: 10, nexts: 18}},
		{"compacted, effective", c.views("compacted once", "compacted often", effective, nil), cost{gets: 3, seeks: 2, nexts: 10}},
		{"compacted, conversation", c.views("compacted once", "compacted often", conversation, unbounded()), cost{gets: 3, seeks: 4, nexts: 19}},
		{"compacted, window behind", c.views("compacted once", "compacted often", conversation, byLoops(4)), cost{gets: 3, seeks: 9, nexts: 6}},
		{"compacted, window over", c.views("compacted once", "compacted often", conversation, byLoops(10)), cost{gets: 3, seeks: 8, nexts: 19}},
		{"describe, off", [2]func() []byte{c.describe("10", modeOff), c.describe(deep, modeOff)}, cost{gets: 2}},
		{"describe, metadata", [2]func() []byte{c.describe("10", modeMetadata), c.describe(deep, modeMetadata)}, cost{gets: 5, seeks: 3, nexts: 1}},
		{"describe, preview", [2]func() []byte{c.describe("10", modePreview), c.describe(deep, modePreview)}, cost{gets: 5, seeks: 3, nexts: 1}},
	} {
		for i, call := range x.calls {
			if got := c.reads(call); got != x.want {
				t.Errorf("%s costs %+v at chain %d, not %+v", x.name, got, i, x.want)
			}
		}
	}
}

func (c *turns) views(one, other string, view transcriptv1.View, policy *Policy) [2]func() []byte {
	return [2]func() []byte{c.view(one, view, policy), c.view(other, view, policy)}
}

// TestReadsOfDeltas: what came after one turn ago, and that nothing came after the head, asks the database for as much at the end
// of a short chain as at the end of a long one, as a stream and at once.
func TestReadsOfDeltas(t *testing.T) {
	c := openTurns(t, t.TempDir(), uncached)
	for _, n := range []int{10, deepTurns()} {
		alias := fmt.Sprint(n)
		c.grow(alias, n-1, 1, tiny)
		before := c.head(alias)
		c.grow(alias, 1, 0, tiny)
		for after, want := range map[string]cost{before: {gets: 3, seeks: 1}, c.head(alias): {gets: 3}} {
			once := c.unary(transcriptv1.TranscriptService_Assemble_FullMethodName, &Assemble{Head: byAlias(alias), View: full, AfterId: after})
			streamed := c.streamed(&transcriptv1.StreamAssembleRequest{Head: byAlias(alias), View: full, AfterId: after})
			for how, call := range map[string]func() []byte{"at once": once, "as a stream": streamed} {
				if got := c.reads(call); got != want {
					t.Errorf("what came after %.8s, %s, costs %+v at %d turns, not %+v", after, how, got, n, want)
				}
			}
		}
	}
}

// TestReadsOfFolds: a window by bytes, and compactions, take one step for each node of the chain, for its header, and
// beside that what does not depend on the depth: a step for each node of the window, which by bytes is of one size or of
// less, and what it takes to commit a node.
func TestReadsOfFolds(t *testing.T) {
	dir := t.TempDir()
	c := openTurns(t, dir, uncached)
	depths := []int{100, deepTurns()}
	for _, n := range depths {
		c.grow(fmt.Sprint(n), n, 0, tiny)
	}
	if err := c.store.Close(); err != nil { // what the committer remembers of chains is gone behind this
		t.Fatal(err)
	}
	c = openTurns(t, dir, uncached)
	c.put("another", node(user("the first change asks for the namespace's number")))
	for _, x := range []struct {
		name string
		call func(alias string) func() []byte
		want cost
	}{
		{"max_bytes", func(a string) func() []byte { return c.view(a, conversation, byBytes(1000)) }, cost{gets: 2, seeks: 3, nexts: 23}},
		{"compact", func(a string) func() []byte { return c.compacting(a, nil) }, cost{gets: 13, seeks: 3, nexts: 8}},
		{"compact, max_bytes", func(a string) func() []byte { return c.compacting(a, byBytes(1000)) }, cost{gets: 8, seeks: 3, nexts: 23}},
	} {
		for _, n := range depths {
			got := c.reads(x.call(fmt.Sprint(n)))
			got.nexts -= uint64(n)
			if got.gets != x.want.gets || got.seeks != x.want.seeks || got.nexts > x.want.nexts {
				t.Errorf("%s costs %+v and a step for each of %d turns, at most %+v", x.name, got, n, x.want)
			}
		}
	}
}

// TestReadsOfManyTurns: the first conversation of a chain of 1,000 turns that nobody has read asks the database for each row
// once, as the full view does: those that the plan was made from are kept until they are shown. So does the first window of as
// many turns at the end of a longer chain, beside the few headers between which its start is looked for. Where the alias points the
// puts have told.
func TestReadsOfManyTurns(t *testing.T) {
	c := openTurns(t, t.TempDir(), badgerstore.Options{})
	c.put("another", node(user("the first change asks for the namespace's number")))
	whole, uncut := byLoops(1000), byLoops(1000)
	whole.KeepWholeRunLoops = proto.Int32(1000)
	uncut.MaxUserChars, uncut.MaxReplyChars = proto.Int32(0), proto.Int32(0)
	for _, x := range []struct {
		name   string
		turns  int
		view   transcriptv1.View
		policy *Policy
		want   cost
	}{
		{"full", 1000, full, nil, cost{gets: 1, seeks: 1, nexts: 1000}},
		{"unbounded", 1000, conversation, unbounded(), cost{gets: 1, seeks: 2, nexts: 999}},
		{"window of all", 1000, conversation, byLoops(1000), cost{gets: 1, seeks: 2, nexts: 999}},
		{"window of the last", deepTurns(), conversation, byLoops(1000), cost{gets: 1, seeks: 21, nexts: 999}},
		{"window of the last, uncut", deepTurns(), conversation, uncut, cost{gets: 1, seeks: 21, nexts: 999}},
		{"window of the last, whole", deepTurns(), conversation, whole, cost{gets: 1, seeks: 22, nexts: 999}}, // begun again, since it is large
	} {
		c.grow(x.name, x.turns, 0, tiny)
		if got := c.reads(c.view(x.name, x.view, x.policy)); got != x.want {
			t.Errorf("%s costs %+v, not %+v", x.name, got, x.want)
		}
	}
}

// watched is a store that tells of each row it yields.
type watched struct {
	chainstore.Store
	row func()
}

type watchedChain struct {
	chainstore.Chain
	row func()
}

func (w *watched) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c, err := w.Store.Chain(ctx, namespace, head, after)
	return &watchedChain{c, w.row}, err
}

func (c *watchedChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	return c.Chain.Rows(ctx, spans, func(r *chainstore.Row) error {
		c.row()
		return yield(r)
	})
}

// TestCompactTakesMemoryForWhatItWrites: while a compaction reads a long chain, the memory in use grows by a few times what
// is written, and not with the chain.
func TestCompactTakesMemoryForWhatItWrites(t *testing.T) {
	store, err := badgerstore.Open(t.TempDir(), uncached)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w := &watched{store, func() {}}
	c := serveTurns(t, w, store)
	c.grow("chat", deepTurns(), 0, sizes{question: 20, arguments: 20, result: 200, reply: 20})
	whole := byLoops(250)
	whole.KeepWholeRunLoops, whole.OmitLeftOutLine = proto.Int32(250), true // as many messages as a node may have
	for name, policy := range map[string]*Policy{
		"default": nil, "max_bytes": byBytes(20_000), "250 whole loops": whole,
	} {
		heap() // what pools hold goes with the second
		idle, most, rows := heap(), uint64(0), 0
		w.row = func() {
			if rows++; rows%(deepTurns()/8) == 0 {
				most = max(most, heap())
			}
		}
		reply, err := c.Compact(t.Context(), &Compact{Head: byAlias("chat"), Policy: policy, DryRun: true})
		most, w.row = max(most, heap()), func() {}
		if err != nil || reply.Report.BytesAfter == 0 || rows < deepTurns() {
			t.Fatalf("%s: %v, %v, after %d rows", name, reply, err, rows)
		}
		grown, written := int64(most)-int64(idle), reply.Report.BytesAfter
		t.Logf("%s: %d of %d KB are written, the memory in use grows by %d KB", name, written/1000, reply.Report.BytesBefore/1000, grown/1000)
		if grown > 512<<10+4*written {
			t.Errorf("%s: memory grows by %d KB where %d KB are written", name, grown/1000, written/1000)
		}
	}
}
