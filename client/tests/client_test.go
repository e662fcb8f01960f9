package client_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func TestPutAll(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client(client.WithVerification())
	nodes := []client.Node{
		{Messages: messages{system}, Aliases: []client.AliasUpdate{{Name: "root"}}},
		{Previous: true, Messages: messages{hello}},
		{Previous: true, Messages: messages{answer}, Aliases: []client.AliasUpdate{{Name: "head"}}},
	}
	res := must(c.PutAll(ctx, nodes...))(t)
	if len(res) != 3 || !res[0].Created || res[2].Retried || res[2].Counters.Full.Messages != 3 {
		t.Fatalf("got %v", res)
	}
	a := must(c.Assemble(ctx, client.ByAlias("head"), client.Query{Detail: transcriptv1.NodeDetail_NODE_DETAIL_IDS}))(t)
	same(t, must(a.Messages())(t), system, hello, answer)
	if a.HeadID != res[2].NodeId || len(a.Nodes) != 3 || a.Report.Messages != 3 || a.Bytes() != a.Report.Bytes {
		t.Errorf("got %+v", a)
	}
	if again := must(c.PutAll(ctx, nodes...))(t); again[0].Created || again[2].NodeId != res[2].NodeId {
		t.Errorf("again: %v", again)
	}
}

func TestNamespacesAreApart(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	begun(t, l.client(client.WithNamespace("one")))
	_, err := l.client(client.WithNamespace("two")).Resume(ctx, "m1")
	fails(t, err, client.ErrAliasNotFound)
	must(l.client(client.WithNamespace("one")).Resume(ctx, "m1"))(t)
}

func TestAliases(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	head := begun(t, c).Head()
	const n = 1500
	var moves []client.AliasMove
	for i := range n {
		moves = append(moves, client.AliasMove{Name: fmt.Sprintf("chat/%04d", i), Target: client.ByID(head)})
	}
	must(c.SetAliases(ctx, moves[:1000]...))(t)
	changed := must(c.SetAliases(ctx, moves[999:]...))(t)
	if changed[0].Changed || !changed[1].Changed {
		t.Errorf("changed %v, %v", changed[0].Changed, changed[1].Changed)
	}
	all := collect(t, c.Aliases(ctx, client.AliasScope{}))
	byPrefix := collect(t, c.Aliases(ctx, client.AliasesWithPrefix("chat/000")))
	inFolder := collect(t, c.Aliases(ctx, client.AliasesUnder("chat")))
	if len(all) != n+1 || len(byPrefix) != 10 || len(inFolder) != n {
		t.Errorf("%d, %d with the prefix, %d in the folder", len(all), len(byPrefix), len(inFolder))
	}
	if byName := func(a, b *transcriptv1.AliasInfo) int { return strings.Compare(a.Name, b.Name) }; !slices.IsSortedFunc(all, byName) {
		t.Error("not in the order of names")
	}
	for range c.Aliases(ctx, client.AliasScope{}) {
		break
	}
}

func TestAliasStates(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	thread := begun(t, c)
	first := thread.Head()
	ok(t, thread.Append(ctx, answer))
	labelled := client.AliasMove{
		Name: "msg/m1", Target: client.ByID(thread.Head()), If: client.MustExist(), Labels: map[string]string{"title": "x"},
	}
	must(c.SetAliases(ctx, labelled))(t)
	if found := must(c.Resolve(ctx, "msg/m1"))(t); found.Alias.Labels["title"] != "x" || found.Counters.Full.Messages != 3 {
		t.Errorf("got %v", found)
	}
	_, err := c.DeleteAlias(ctx, "msg/m1", client.HeadIs(first))
	if e := fails(t, err, client.ErrAliasMoved); e.Head() != thread.Head() {
		t.Errorf("the error names %q", e.Head())
	}
	if previous := must(c.DeleteAlias(ctx, "msg/m1", client.MustExist()))(t); previous != thread.Head() {
		t.Errorf("deleted %s", previous)
	}
	if previous := must(c.DeleteAlias(ctx, "msg/m1", client.Condition{}))(t); previous != "" {
		t.Errorf("deleted %s again", previous)
	}
	_, err = c.DeleteAlias(ctx, "msg/m1", client.MustExist())
	fails(t, err, client.ErrAliasNotFound)
	var heads []string
	for _, state := range collect(t, c.History(ctx, "msg/m1")) {
		heads = append(heads, state.NodeId)
	}
	if want := []string{"", thread.Head(), first}; !slices.Equal(heads, want) {
		t.Errorf("history %v, want %v", heads, want)
	}
	for _, err := range c.History(ctx, "never") {
		fails(t, err, client.ErrAliasNotFound)
	}
}

func TestNodes(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	parent := begun(t, c).Head()
	for i := range 3 {
		must(c.Put(ctx, client.Node{Parent: client.ByID(parent), Messages: messages{client.User(fmt.Sprint(i))}}))(t)
	}
	children := collect(t, c.Children(ctx, client.ByID(parent)))
	if len(children) != 3 {
		t.Fatalf("%d children", len(children))
	}
	node := must(c.Node(ctx, client.ByID(children[1].NodeId[:16])))(t)
	same(t, node.Messages, client.User("1"))
	if node.Info.Envelope.ParentId != parent || node.Ancestors != 2 {
		t.Errorf("got %v", node)
	}
	if info := must(c.NodeInfo(ctx, client.ByAlias("msg/m1")))(t); len(info.Messages) != 0 || len(info.Roles) != 1 {
		t.Errorf("got %v", info)
	}
}

func TestRefusalsAreTyped(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	head := begun(t, c).Head()
	nowhere := strings.Repeat("ab", 32)
	errOf := func(_ any, err error) error { return err }
	for name, call := range map[string]struct {
		err  error
		want client.Reason
		code codes.Code
	}{
		"parent":    {errOf(c.Put(ctx, client.Node{Parent: client.ByID(nowhere), Messages: messages{hello}})), client.ErrParentNotFound, codes.NotFound},
		"no role":   {errOf(c.Put(ctx, client.Node{Messages: messages{{}}})), client.ErrInvalidField, codes.InvalidArgument},
		"salt":      {errOf(c.Put(ctx, client.Node{Messages: messages{hello}, Salt: []byte("short")})), client.ErrInvalidField, codes.InvalidArgument},
		"node":      {errOf(c.Node(ctx, client.ByID(nowhere))), client.ErrNodeNotFound, codes.NotFound},
		"no node":   {errOf(c.Node(ctx, client.Ref{})), client.ErrInvalidField, codes.InvalidArgument},
		"alias":     {errOf(c.Node(ctx, client.ByAlias("none"))), client.ErrAliasNotFound, codes.NotFound},
		"target":    {errOf(c.SetAliases(ctx, client.AliasMove{Name: "a", Target: client.ByID(nowhere)})), client.ErrNodeNotFound, codes.NotFound},
		"exists":    {errOf(c.SetAliases(ctx, client.AliasMove{Name: "a", Target: client.ByID(head), If: client.MustExist()})), client.ErrAliasNotFound, codes.NotFound},
		"assemble":  {errOf(c.Assemble(ctx, client.ByID(nowhere), client.Query{})), client.ErrNodeNotFound, codes.NotFound},
		"malformed": {errOf(c.Assemble(ctx, client.ByID("x"), client.Query{})), client.ErrInvalidField, codes.InvalidArgument},
		"too many":  {errOf(c.Put(ctx, client.Node{Messages: slices.Repeat(messages{hello}, 1001)})), client.ErrLimitExceeded, codes.InvalidArgument},
	} {
		e := fails(t, call.err, call.want)
		if e.Code != call.code || e.RequestID == "" {
			t.Errorf("%s: %#v", name, e)
		}
		if call.code == codes.InvalidArgument && (len(e.Violations) == 0 || e.Violations[0].Field == "" || e.Violations[0].Rule == "") {
			t.Errorf("%s: violations %v", name, e.Violations)
		}
	}
	other := must(c.Put(ctx, client.Node{Messages: messages{client.User("other")}}))(t)
	_, err := c.Assemble(ctx, client.ByID(head), client.Query{After: other.NodeId})
	fails(t, err, client.ErrNotAnAncestor)
}

func TestAdmin(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client()
	begun(t, c)
	if stats := must(c.Stats(ctx))(t); stats.Nodes != 2 || stats.Aliases != 1 {
		t.Errorf("got %v", stats)
	}
	info := must(c.ServerInfo(ctx))(t)
	if info.ServerVersion == "" || len(info.StoreId) != 32 || info.Limits.GetAliasBytes() != 512 || !must(c.Supports(ctx, "presets"))(t) {
		t.Errorf("got %v", info)
	}
	// The SDK names each that an older server lacks: client/internal/features.
	known := []string{
		"alias_deletes", "alias_order", "alias_revisions", "archived_nodes", "backup", "collection", "delete_aliases", "delete_namespace", "erase", "get_nodes", "last_messages", "namespaces", "note_costs",
		"opaque_parts", "presets", "retention", "verify_cursor",
	}
	if !slices.Equal(slices.Sorted(slices.Values(info.Features)), known) {
		t.Errorf("features %v, the SDK knows %v", info.Features, known)
	}
	reports := collect(t, c.Verify(ctx, client.Check{MaxBytesPerSecond: 1 << 30}))
	last := reports[len(reports)-1]
	if !last.Done || last.NodesChecked != 2 || last.ProblemsFound != 0 {
		t.Errorf("got %v", last)
	}
	reports = collect(t, c.Verify(ctx, client.Check{WholeStore: true}))
	last = reports[len(reports)-1]
	if !last.Done || last.NamespacesChecked != 1 || last.NodesChecked != 2 || last.ProblemsFound != 0 {
		t.Errorf("got %v", last)
	}
}

// A chain of more than one reply could hold assembles, and in frames.
func TestLongChains(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client(client.WithVerification())
	thread := begun(t, c)
	big := client.User(strings.Repeat("x", 1<<20))
	for range 6 {
		ok(t, thread.Append(ctx, big))
	}
	shows(t, thread, append(messages{system, hello}, slices.Repeat(messages{big}, 6)...)...)
	n := 0
	for frame := range c.Frames(ctx, client.ByID(thread.Head()), client.Query{}) {
		n += len(must(frame.Messages())(t))
	}
	if n != 8 {
		t.Errorf("%d messages in frames", n)
	}
}

// The largest node that can be put can be read.
func TestTheLargestNode(t *testing.T) {
	ctx, c := t.Context(), newLink(t).client(client.WithVerification())
	part := client.User(strings.Repeat("x", 15<<17))
	metadata := map[string]string{}
	for i := range 20 {
		metadata[fmt.Sprint(i, strings.Repeat("k", 250))] = strings.Repeat("v", 4<<10)
	}
	node := must(c.Put(ctx, client.Node{Messages: messages{part, part}, Metadata: metadata}))(t)
	got := must(c.Node(ctx, client.ByID(node.NodeId)))(t)
	same(t, got.Messages, part, part)
	if len(got.Metadata.Entries) != 20 {
		t.Errorf("%d entries", len(got.Metadata.Entries))
	}
}

func TestStreamsThatAreLeftLeaveNothingRunning(t *testing.T) {
	ctx, l := t.Context(), newLink(t)
	c := l.client()
	thread := long(t, c, 500)
	head := client.ByID(thread.Head())
	visit := func() {
		for range c.Frames(ctx, head, client.Query{}) {
			break
		}
		for range c.Verify(ctx, client.Check{}) {
			break
		}
		l.change = func(raw *[]byte) bool { *raw = []byte{0xff}; return true }
		_, err := c.Assemble(ctx, head, client.Query{})
		fails(t, err, client.ErrBadReply)
		l.change = nil
		ended, cancel := context.WithCancel(ctx)
		for _, err := range c.Frames(ended, head, client.Query{}) {
			cancel()
			if err != nil {
				fails(t, err, context.Canceled)
			}
		}
		cancel()
	}
	visit()
	before := runtime.NumGoroutine()
	for range 20 {
		visit()
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before+2; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}

func TestDialedClients(t *testing.T) {
	ctx, address := t.Context(), serve(t)
	seen := 0
	count := func(
		ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		seen++
		return next(ctx, method, req, reply, conn, opts...)
	}
	c := must(client.Dial(address, client.WithDialOptions(grpc.WithUnaryInterceptor(count))))(t)
	thread := begun(t, c)
	shows(t, thread, system, hello)
	ok(t, c.Close())
	if err := thread.Append(ctx, answer); err == nil || seen == 0 {
		t.Errorf("after Close: %v; %d calls were seen", err, seen)
	}
	ok(t, client.New(nil).Close())

	nobody := must(client.Dial("127.0.0.1:1", client.WithRetry(client.Retry{Attempts: 2, First: 1, Max: 1})))(t)
	_, err := nobody.Stats(ctx)
	ok(t, nobody.Close())
	if e, ok := errors.AsType[*client.Error](err); !ok || e.Code != codes.Unavailable || e.Reason != 0 {
		t.Errorf("where nobody listens: %v", err)
	}
}
