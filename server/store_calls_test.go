package server_test

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// callStore is a store that writes down what it is asked: each method of the contract that a networked engine pays a round trip for,
// those of chains too.
type callStore struct {
	chainstore.Store
	mu    sync.Mutex
	asked []string
	// nested is what was asked from within a yield of Rows, where the engine holds a read.
	nested []string
}

type callChain struct {
	chainstore.Chain
	store *callStore
}

func (s *callStore) ask(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, what)
	if yields() {
		s.nested = append(s.nested, what)
	}
}

// yields tells whether the caller runs within a yield that callChain passes on.
func yields() bool {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		frame, more := frames.Next()
		if strings.Contains(frame.Function, "callChain).Rows.func") {
			return true
		}
		if !more {
			return false
		}
	}
}

// during is what is asked while a call runs.
func (s *callStore) during(call func()) []string {
	s.mu.Lock()
	s.asked, s.nested = nil, nil
	s.mu.Unlock()
	call()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// countedCalls are the methods that callStore and callChain count; freeCalls those that ask nothing of an
// engine's database, TokenKeys, of which a server asks once an hour, and SigningKey, of which it asks once.
var (
	countedCalls = []string{
		"Alias", "AliasHistory", "Aliases", "Calls", "Chain", "ChainNamed", "Children", "Collect", "Commit", "Compactions", "DeleteNamespace", "DeletedAliases", "Descendants", "Erase", "EraseLabels", "Erasures", "ExportAliases", "ExportNamespaces", "ExportNodes", "ExportReceipts", "Find", "FirstWhere",
		"Headers", "Namespaces", "Nodes", "NoteEras", "Point", "Purging", "Receipt", "Reclaim", "Restore", "Rows", "SetSettings", "Settings", "Space", "SpawnDepth", "Spawned", "Stats", "Tables", "Verify", "WithCalls",
	}
	freeCalls = []string{"After", "Close", "Compaction", "Era", "Head", "Hold", "Info", "Runs", "SigningKey", "TokenKeys"}
)

func (s *callStore) Reclaim(ctx context.Context) error {
	s.ask("Reclaim")
	return s.Store.Reclaim(ctx)
}

func (s *callStore) Space(ctx context.Context) (chainstore.Space, error) {
	s.ask("Space")
	return s.Store.Space(ctx)
}

func (s *callStore) Commit(ctx context.Context, ns string, change *chainstore.Change) (*chainstore.Committed, error) {
	s.ask("Commit")
	return s.Store.Commit(ctx, ns, change)
}

func (s *callStore) Chain(ctx context.Context, ns string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	s.ask("Chain")
	c, err := s.Store.Chain(ctx, ns, head, after)
	if err != nil {
		return nil, err
	}
	return &callChain{c, s}, nil
}

func (s *callStore) Find(ctx context.Context, ns, prefix string, limit int) ([]chainstore.ID, error) {
	s.ask("Find")
	return s.Store.Find(ctx, ns, prefix, limit)
}

func (s *callStore) Nodes(ctx context.Context, ns string, ids []chainstore.ID, yield func(*chainstore.FoundNode) error) error {
	s.ask("Nodes")
	return s.Store.Nodes(ctx, ns, ids, yield)
}

func (s *callStore) Children(ctx context.Context, ns string, node chainstore.Ref, after *chainstore.ID, limit int) ([]*chainstore.Header, error) {
	s.ask("Children")
	return s.Store.Children(ctx, ns, node, after, limit)
}

func (s *callStore) Alias(ctx context.Context, ns, name string) (*chainstore.Alias, error) {
	s.ask("Alias")
	return s.Store.Alias(ctx, ns, name)
}

func (s *callStore) Aliases(ctx context.Context, ns string, q chainstore.AliasQuery) ([]chainstore.Alias, *chainstore.AliasCursor, error) {
	s.ask("Aliases")
	return s.Store.Aliases(ctx, ns, q)
}

func (s *callStore) ChainNamed(ctx context.Context, ns string, head chainstore.Ref, limit int) (chainstore.Chain, []string, bool, error) {
	s.ask("ChainNamed")
	c, names, more, err := s.Store.ChainNamed(ctx, ns, head, limit)
	if err != nil {
		return nil, nil, false, err
	}
	return &callChain{c, s}, names, more, nil
}

func (s *callStore) AliasHistory(ctx context.Context, ns, name string) ([]chainstore.AliasState, error) {
	s.ask("AliasHistory")
	return s.Store.AliasHistory(ctx, ns, name)
}

func (s *callStore) Stats(ctx context.Context, ns string) (chainstore.Stats, error) {
	s.ask("Stats")
	return s.Store.Stats(ctx, ns)
}

func (s *callStore) Namespaces(ctx context.Context, q chainstore.NamespaceQuery) ([]string, error) {
	s.ask("Namespaces")
	return s.Store.Namespaces(ctx, q)
}

func (s *callStore) Settings(ctx context.Context, ns string) (chainstore.SettingsNow, error) {
	s.ask("Settings")
	return s.Store.Settings(ctx, ns)
}

func (s *callStore) Restore(ctx context.Context, ns string, r *chainstore.Restored) (int, error) {
	s.ask("Restore")
	return s.Store.Restore(ctx, ns, r)
}

func (s *callStore) SetSettings(ctx context.Context, ns string, change chainstore.SettingsChange) (chainstore.SettingsNow, error) {
	s.ask("SetSettings")
	return s.Store.SetSettings(ctx, ns, change)
}

func (s *callStore) DeleteNamespace(ctx context.Context, ns string, may func(context.Context) error) (bool, error) {
	s.ask("DeleteNamespace")
	return s.Store.DeleteNamespace(ctx, ns, may)
}

func (s *callStore) DeletedAliases(ctx context.Context, ns, prefix, after string, limit int) ([]chainstore.DeletedAlias, string, error) {
	s.ask("DeletedAliases")
	return s.Store.DeletedAliases(ctx, ns, prefix, after, limit)
}

func (s *callStore) Collect(ctx context.Context, ns string, c chainstore.Collection, report func(chainstore.Collected) error) error {
	s.ask("Collect")
	return s.Store.Collect(ctx, ns, c, report)
}

func (s *callStore) Erase(ctx context.Context, ns string, nodes []chainstore.ErasedNode) (int, error) {
	s.ask("Erase")
	return s.Store.Erase(ctx, ns, nodes)
}

func (s *callStore) Receipt(ctx context.Context, ns string, id chainstore.ID) (chainstore.Receipt, error) {
	s.ask("Receipt")
	return s.Store.Receipt(ctx, ns, id)
}

func (s *callStore) EraseLabels(ctx context.Context, ns string, names []string) (int, error) {
	s.ask("EraseLabels")
	return s.Store.EraseLabels(ctx, ns, names)
}

func (s *callStore) Erasures(ctx context.Context, ns string) (uint64, error) {
	s.ask("Erasures")
	return s.Store.Erasures(ctx, ns)
}

func (s *callStore) Purging(ctx context.Context) (chainstore.Purging, error) {
	s.ask("Purging")
	return s.Store.Purging(ctx)
}

func (s *callStore) Descendants(ctx context.Context, ns string, id chainstore.ID, yield func(*chainstore.Header) error) error {
	s.ask("Descendants")
	return s.Store.Descendants(ctx, ns, id, yield)
}

func (s *callStore) NoteEras(ctx context.Context) error {
	s.ask("NoteEras")
	return s.Store.NoteEras(ctx)
}

func (s *callStore) Point(ctx context.Context) (chainstore.Point, error) {
	s.ask("Point")
	return s.Store.Point(ctx)
}

func (s *callStore) ExportReceipts(ctx context.Context, ns string, span chainstore.ExportSpan, cursor []byte, bytes int) ([]chainstore.KeptReceipt, []byte, error) {
	s.ask("ExportReceipts")
	return s.Store.ExportReceipts(ctx, ns, span, cursor, bytes)
}

func (s *callStore) ExportNamespaces(ctx context.Context, wanted func(string) bool) ([]chainstore.NumberedNamespace, int64, error) {
	s.ask("ExportNamespaces")
	return s.Store.ExportNamespaces(ctx, wanted)
}

func (s *callStore) ExportNodes(ctx context.Context, ns string, span chainstore.ExportSpan, cursor []byte, bytes int) ([]chainstore.ExportedNode, []byte, error) {
	s.ask("ExportNodes")
	return s.Store.ExportNodes(ctx, ns, span, cursor, bytes)
}

func (s *callStore) ExportAliases(ctx context.Context, after chainstore.Point, wanted func(string) bool, yield chainstore.ExportYield) (chainstore.Point, error) {
	s.ask("ExportAliases")
	return s.Store.ExportAliases(ctx, after, wanted, yield)
}

func (s *callStore) Verify(ctx context.Context, check chainstore.Check, j chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	s.ask("Verify")
	return s.Store.Verify(ctx, check, j, report)
}

func (c *callChain) Compactions(ctx context.Context, limit int) ([]*chainstore.Header, bool, error) {
	c.store.ask("Compactions")
	return c.Chain.Compactions(ctx, limit)
}

func (c *callChain) Headers(ctx context.Context, seqs ...uint32) ([]*chainstore.Header, error) {
	c.store.ask("Headers")
	return c.Chain.Headers(ctx, seqs...)
}

func (c *callChain) FirstWhere(ctx context.Context, from uint32, b chainstore.Bounds) (before, first *chainstore.Header, err error) {
	c.store.ask("FirstWhere")
	return c.Chain.FirstWhere(ctx, from, b)
}

func (c *callChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	c.store.ask("Rows")
	return c.Chain.Rows(ctx, spans, func(row *chainstore.Row) error { return yield(row) })
}

func (c *callChain) Calls(ctx context.Context, id runloop.Optional, through uint32, limit int) ([]chainstore.CallPlace, error) {
	c.store.ask("Calls")
	return c.Chain.Calls(ctx, id, through, limit)
}

func (c *callChain) WithCalls(ctx context.Context, through uint32, limit int) ([]chainstore.CallNode, error) {
	c.store.ask("WithCalls")
	return c.Chain.WithCalls(ctx, through, limit)
}

func (c *callChain) Tables(ctx context.Context) (chainstore.Tables, error) {
	c.store.ask("Tables")
	return c.Chain.Tables(ctx)
}

func (c *callChain) Spawned(ctx context.Context, limit int) ([]*chainstore.Header, bool, error) {
	c.store.ask("Spawned")
	return c.Chain.Spawned(ctx, limit)
}

func (c *callChain) SpawnDepth(ctx context.Context, limit int) (int, bool, error) {
	c.store.ask("SpawnDepth")
	return c.Chain.SpawnDepth(ctx, limit)
}

// TestEveryCallIsCounted: a method that is added to the contract is counted, or said to be free.
func TestEveryCallIsCounted(t *testing.T) {
	var methods []string
	for _, of := range []reflect.Type{reflect.TypeFor[chainstore.Store](), reflect.TypeFor[chainstore.Chain]()} {
		for i := range of.NumMethod() {
			methods = append(methods, of.Method(i).Name)
		}
	}
	known := slices.Concat(countedCalls, freeCalls)
	slices.Sort(methods)
	slices.Sort(known)
	if !slices.Equal(methods, known) {
		t.Errorf("the contract has the methods %q, known are %q", methods, known)
	}
}

// storeCalls is how often a form of a call asks the store, at most and in these very tests exactly; why says what it is for where that is
// more than issue 27 asked for.
type storeCalls struct {
	rpc, form string
	most      int
	why       string
	call      func() error
}

// TestStoreCalls names every rpc of TranscriptService, with usual requests and with the worst, and how often each asks the store. To an
// engine behind a network each is a round trip. None asks while rows are read: that would take two connections at once.
func TestStoreCalls(t *testing.T) {
	store, err := badgerstore.Open(t.TempDir(), badgerstore.Options{Now: atBegun})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	counter := &callStore{Store: store}
	c := serveTurns(t, counter, store)
	w := c.askable()
	named := map[string]bool{}
	for _, x := range w.table() {
		named[x.rpc] = true
		asked := counter.during(func() {
			if err := x.call(); err != nil {
				t.Errorf("%s, %s: %v", x.rpc, x.form, err)
			}
		})
		t.Logf("%-16s %-50s %3d  %s", x.rpc, x.form, len(asked), inRuns(asked))
		if len(asked) != x.most {
			t.Errorf("%s, %s: %d calls of the store, %d in the table: %s", x.rpc, x.form, len(asked), x.most, inRuns(asked))
		}
		if len(counter.nested) > 0 {
			t.Errorf("%s, %s: calls of the store from within a yield of Rows: %s", x.rpc, x.form, inRuns(counter.nested))
		}
	}
	desc := &transcriptv1.TranscriptService_ServiceDesc
	for _, m := range desc.Methods {
		if !named[m.MethodName] {
			t.Errorf("the table has no row for %s", m.MethodName)
		}
	}
	for _, s := range desc.Streams {
		if !named[s.StreamName] {
			t.Errorf("the table has no row for %s", s.StreamName)
		}
	}
}

// inRuns writes calls down, equal ones that follow each other once.
func inRuns(asked []string) string {
	var b strings.Builder
	for i := 0; i < len(asked); {
		n := 1
		for i+n < len(asked) && asked[i+n] == asked[i] {
			n++
		}
		fmt.Fprintf(&b, "%s ", asked[i])
		if n > 1 {
			fmt.Fprintf(&b, "(%d) ", n)
		}
		i += n
	}
	return b.String()
}

// asking is a server over a store that counts, and what is stored there.
type asking struct {
	*turns
	// root and call are nodes of chat, sub was spawned by call; before lies before the compaction of lines.
	// bulky is a node of 100 KiB.
	root, call, sub, before, bulky string
	// deep is how many chains were spawned below sub, each by the one before.
	deep int
}

// askable stores a chain of turns whose messages are nodes of their own; one that was compacted four times, and keeps results; a subagent;
// a chain with an open loop, forks, tools, variables and compactions; and aliases.
func (c *turns) askable() *asking {
	c.Helper()
	w := &asking{turns: c}
	nodes := []*transcriptv1.NewNode{node(system("Be brief."))}
	for i := range 40 {
		id := fmt.Sprint("call_", i)
		nodes = append(nodes, node(user(fmt.Sprint("question ", i))), node(calling("read", id)), node(result(id, strings.Repeat("line ", 100))), node(assistant(fmt.Sprint("answer ", i))))
	}
	ids := c.put("chat", nodes...)
	for i := range 2 { // two children more
		if _, err := c.PutNode(c.Context(), &PutNode{Parent: byID(ids[0]), Messages: []*Message{user(fmt.Sprint("otherwise ", i))}}); err != nil {
			c.Fatal(err)
		}
	}
	w.root, w.call = ids[0], ids[len(ids)-3]
	w.bulky = c.put("bulky", node(user(strings.Repeat("x", 100<<10))))[0]
	repeated := []*transcriptv1.NewNode{node(user("again and again"))}
	for range 30 {
		repeated = append(repeated, node(calling("read", "same")), node(result("same", "r")))
	}
	c.put("repeated", repeated...)
	c.growCompacted("compacted", 4, tiny)
	c.describable("rich", 5)
	c.grow("traced", 30, 0, usual)
	if _, err := c.Compact(c.Context(), &Compact{Head: byAlias("traced"), ThroughId: c.head("traced"), Policy: tracing(), Summary: "so far"}); err != nil {
		c.Fatal(err)
	}
	c.put("traced", node(user("and now?")), node(assistant("so")))
	c.grow("lines", 10, 2, usual)
	w.before = c.head("lines")
	once, err := c.Compact(c.Context(), &Compact{Head: byAlias("lines"), ThroughId: w.before, Policy: &Policy{KeepWholeRunLoops: proto.Int32(5)}, Summary: "so far"})
	if err != nil || !once.Written {
		c.Fatalf("%v, %v", once, err)
	}
	c.grow("lines", 2, 0, usual)
	if _, err := c.Alias(c.Context(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: "compacted once", Target: byID(once.NodeId)}}}); err != nil {
		c.Fatal(err)
	}
	sub := node(user("The task: line up everything that is here."), assistant("done"))
	sub.SpawnedFrom = spawnedBy(w.call, "call_39")
	w.sub = c.put("chat/sub", sub)[0]
	on := node(user("Go on from here."))
	on.SpawnedFrom, on.Parent = sub.SpawnedFrom, byID(w.call)
	c.put("chat/on", on)
	for at := w.sub; w.deep < 70; w.deep++ {
		deeper := node(user(fmt.Sprint("deeper ", w.deep)))
		deeper.SpawnedFrom = spawnedBy(at, "")
		at = c.put(fmt.Sprint("deep/", w.deep), deeper)[0]
	}
	for i := range 3 {
		c.put(fmt.Sprint("many/", i), node(user("needle "+fmt.Sprint(i))), node(assistant("hay")))
	}
	c.grow("large", 300, 0, sizes{question: 100, arguments: 100, result: 4000, reply: 300})
	return w
}

// lines shows the results of all condensed loops as lines.
func lines() *Policy {
	p := byLoops(0)
	p.ToolTrace = transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS
	return p
}

// tracing keeps the results of condensed loops as lines.
func tracing() *Policy {
	return &Policy{ToolTrace: transcriptv1.ToolTrace_TOOL_TRACE_REQUESTS, ClearToolResults: clears(proto.Int32(1)), KeepWholeRunLoops: proto.Int32(3)}
}

func (w *asking) table() (all []storeCalls) {
	for _, part := range [][]storeCalls{w.writes(), w.lists(), w.views(), w.tree(), w.finds()} {
		all = append(all, part...)
	}
	return all
}

// asks makes a call.
func asks[Request, Reply any](w *asking, call func(context.Context, Request, ...grpc.CallOption) (Reply, error), req Request) func() error {
	return func() error {
		_, err := call(w.Context(), req)
		return err
	}
}

// refused makes a call that is to be refused.
func refused(call func() error) func() error {
	return func() error {
		if call() == nil {
			return fmt.Errorf("the call was not refused")
		}
		return nil
	}
}

// then makes a call with the page token that another gave.
func then[Request, Reply any, P interface{ GetNextPageToken() string }](
	w *asking, call func(context.Context, Request, ...grpc.CallOption) (Reply, error), first Request, next func(token string) Request, page func(Reply) P,
) func() error {
	w.Helper()
	reply, err := call(w.Context(), first)
	if err != nil {
		w.Fatal(err)
	}
	token := page(reply).GetNextPageToken()
	if token == "" {
		w.Fatal("there is no further page")
	}
	return asks(w, call, next(token))
}

func same[T any](v T) T { return v }

func (w *asking) writes() []storeCalls {
	put := func(alias string, head string) *PutNode {
		return &PutNode{Parent: byAlias(alias), Messages: []*Message{user("more")}, Aliases: []*Update{{Name: alias, Precondition: &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: head}}}}}
	}
	before := w.head("rich")
	compacted := w.head("compacted")
	if _, err := w.Compact(w.Context(), &Compact{Head: byAlias("compacted"), ThroughId: compacted, SummaryOnly: true, Summary: "short"}); err != nil {
		w.Fatal(err)
	}
	plan := &Compact{Head: byAlias("traced"), ThroughId: w.head("traced"), Policy: tracing(), Summary: "again"}
	dry := proto.CloneOf(plan)
	dry.DryRun = true
	behind := w.put("open", node(system("s")), node(user("u")), node(calling("read", "1")))[1]
	return []storeCalls{
		{"PutNode", "a root", 1, "", asks(w, w.PutNode, &PutNode{Messages: []*Message{system("another")}})},
		{"PutNode", "behind an alias that it moves", 1, "", asks(w, w.PutNode, put("rich", before))},
		{"PutNode", "behind an alias that others moved", 1, "", refused(asks(w, w.PutNode, put("rich", w.root)))},
		{"PutNode", "behind an alias that a compaction moved", 3, "a chain, and its rows: only compactions moved it", refused(asks(w, w.PutNode, put("compacted", compacted)))},
		{"PutNodes", "a hundred", 1, "", asks(w, w.PutNodes, &transcriptv1.PutNodesRequest{Nodes: hundred()})},
		{"PutArchivedNodes", "two", 1, "", asks(w, w.PutArchivedNodes, &transcriptv1.PutArchivedNodesRequest{Nodes: []*transcriptv1.ArchivedNode{
			archived("", user("archived")), archived(w.root, user("archived")),
		}})},
		{"Alias", "two", 1, "", asks(w, w.Alias, &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{
			{Name: "a", Target: byAlias("chat")}, {Name: "b", Target: byID(w.root)},
		}})},
		{"DeleteAlias", "one", 1, "", asks(w, w.DeleteAlias, &transcriptv1.DeleteAliasRequest{Name: "b"})},
		{"DeleteAliases", "those of a prefix", 2, "a list and the commit", asks(w, w.DeleteAliases, &transcriptv1.DeleteAliasesRequest{
			Scope: &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: "a"}})},
		{"Compact", "a dry run, lines of copies", 4, "the chain; headers to plan with; rows that are kept; where what becomes lines was put", asks(w, w.Compact, dry)},
		{"Compact", "through a node", 5, "the erasures; the node's header; the rows, as above; nothing shrinks", asks(w, w.Compact, &Compact{Head: byAlias("open"), ThroughId: behind})},
		{"Compact", "with a call open at the head", 5, "the erasures, and the last node at which none is; nothing shrinks", asks(w, w.Compact, &Compact{Head: byAlias("open")})},
		{"Compact", "of what has lines, of copies too", 6, "the erasures, the dry run and the commit", asks(w, w.Compact, plan)},
	}
}

func hundred() (nodes []*transcriptv1.NewNode) {
	for i := range 100 {
		nodes = append(nodes, &transcriptv1.NewNode{Previous: i > 0, Messages: []*Message{user(fmt.Sprint("one of a hundred: ", i))}})
	}
	return nodes
}

func (w *asking) lists() []storeCalls {
	list := func(token string) *transcriptv1.ListAliasesRequest {
		return &transcriptv1.ListAliasesRequest{Scope: &transcriptv1.ListAliasesRequest_Prefix{Prefix: "many/"}, PageSize: 2, PageToken: token}
	}
	return []storeCalls{
		{"ResolveAlias", "one", 1, "", asks(w, w.ResolveAlias, &transcriptv1.ResolveAliasRequest{Name: "chat"})},
		{"ListAliases", "a page", 1, "", asks(w, w.ListAliases, list(""))},
		{"ListAliases", "the next page", 1, "", then(w, w.ListAliases, list(""), list, same[*transcriptv1.ListAliasesResponse])},
		{"ListAliases", "a page with loops", 1, "", asks(w, w.ListAliases, &transcriptv1.ListAliasesRequest{IncludeLoops: true})},
		{"ListAliases", "a page of open loops", 1, "", asks(w, w.ListAliases, &transcriptv1.ListAliasesRequest{IncludeLoops: true, OpenOnly: true})},
		{"ListNamespaces", "a page", 1, "", asks(w, w.ListNamespaces, &transcriptv1.ListNamespacesRequest{PageSize: 1})},
		{"ListAliasHistory", "a page", 1, "", asks(w, w.ListAliasHistory, &transcriptv1.ListAliasHistoryRequest{Name: "chat"})},
	}
}

func (w *asking) views() []storeCalls {
	before := w.head("chat")
	w.put("chat", node(user("what came after")))
	after := w.head("chat")
	etag := func() string {
		reply, err := w.Assemble(w.Context(), &Assemble{Head: byAlias("chat"), View: full})
		if err != nil {
			w.Fatal(err)
		}
		return reply.Etag
	}()
	assemble := func(req *Assemble) func() error { return asks(w, w.Assemble, req) }
	stream := func(req *transcriptv1.StreamAssembleRequest) func() error {
		return func() error {
			w.streamed(req)()
			return nil
		}
	}
	const (
		planned = "what is shown is planned on headers before it is read"
		started = "and where the window starts"
		linked  = "links to nodes that are not shown before"

		envelopes = transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES
	)
	return []storeCalls{
		{"Assemble", "not modified", 2, "", assemble(&Assemble{Head: byAlias("chat"), View: full, IfNoneMatch: etag})},
		{"Assemble", "full", 3, "", assemble(&Assemble{Head: byAlias("chat"), View: full})},
		{"Assemble", "full, what came after", 3, "", assemble(&Assemble{Head: byAlias("chat"), View: full, AfterId: before})},
		{"Assemble", "full, nothing came after", 3, "", assemble(&Assemble{Head: byAlias("chat"), View: full, AfterId: after})},
		{"Assemble", "effective", 3, "", assemble(&Assemble{Head: byAlias("chat")})},
		{"Assemble", "effective, facts of nodes", 3, "", assemble(&Assemble{
			Head: byAlias("chat"), NodeDetail: ids, NodeFacts: &NodeFacts{MetadataKeys: []string{"message_id"}},
		})},
		{"Assemble", "the last 20 messages", 4, "where they begin is found by headers", assemble(&Assemble{Head: byAlias("chat"), LastMessages: 20})},
		{"Assemble", "the last 20 before a place, in full", 4, "where they begin is found by headers", assemble(&Assemble{
			Head: byAlias("chat"), View: full, LastMessages: 20, Before: &transcriptv1.MessagePlace{NodeId: w.call},
		})},
		{"Assemble", "effective, compacted", 3, "", assemble(&Assemble{Head: byAlias("compacted")})},
		{"Assemble", "effective, compacted since", 3, "", assemble(&Assemble{Head: byAlias("lines"), AfterId: w.before})},
		{"Assemble", "conversation, everything", 4, planned, assemble(&Assemble{Head: byAlias("chat"), View: conversation, Policy: byLoops(0)})},
		{"Assemble", "conversation, a window by bytes", 4, planned, assemble(&Assemble{Head: byAlias("chat"), View: conversation, Policy: byBytes(1000)})},
		{"Assemble", "conversation, a window by loops", 5, planned + ", " + started, assemble(&Assemble{Head: byAlias("chat"), View: conversation, Policy: byLoops(10)})},
		{"Assemble", "conversation, lines of copies", 5, planned + "; where what became lines was put", assemble(&Assemble{Head: byAlias("lines"), View: conversation, Policy: lines()})},
		{"Assemble", "full, envelopes, five compactions", 4, linked, assemble(&Assemble{
			Head: byAlias("compacted"), View: full, NodeDetail: envelopes,
		})},
		{"Assemble", "effective, envelopes, compacted", 4, linked, assemble(&Assemble{Head: byAlias("compacted"), NodeDetail: envelopes})},
		{"Assemble", "conversation, a window by loops, envelopes", 6, planned + ", " + started + "; " + linked, assemble(&Assemble{
			Head: byAlias("chat"), View: conversation, Policy: byLoops(10), NodeDetail: envelopes,
		})},
		{"StreamAssemble", "effective, envelopes, compacted", 5, "one for each span; " + linked, stream(&transcriptv1.StreamAssembleRequest{
			Head: byAlias("compacted"), NodeDetail: envelopes,
		})},
		{"StreamAssemble", "one batch", 3, "", stream(&transcriptv1.StreamAssembleRequest{Head: byAlias("chat"), View: full})},
		{"StreamAssemble", "1.4 MB in parts of 256 KiB", 9, "one for each batch", stream(&transcriptv1.StreamAssembleRequest{Head: byAlias("large"), View: full})},
	}
}

func (w *asking) tree() []storeCalls {
	children := func(node *NodeRef) func(token string) *transcriptv1.ListChildrenRequest {
		return func(token string) *transcriptv1.ListChildrenRequest {
			return &transcriptv1.ListChildrenRequest{Node: node, PageSize: 1, PageToken: token}
		}
	}
	loops := func(token string) *transcriptv1.ListRunLoopsRequest {
		return &transcriptv1.ListRunLoopsRequest{Head: byAlias("chat"), PreviewChars: 100, PageToken: token}
	}
	byRoot, byName := children(byID(w.root)), children(byAlias("root"))
	if _, err := w.Alias(w.Context(), &transcriptv1.AliasRequest{Aliases: []*transcriptv1.AliasMove{{Name: "root", Target: byID(w.root)}}}); err != nil {
		w.Fatal(err)
	}
	page := same[*transcriptv1.ListChildrenResponse]
	return []storeCalls{
		{"GetNode", "a root", 2, "", asks(w, w.GetNode, &transcriptv1.GetNodeRequest{Node: byID(w.root)})},
		{"GetNode", "a node by its alias", 2, "", asks(w, w.GetNode, &transcriptv1.GetNodeRequest{Node: byAlias("chat")})},
		{"GetNode", "a compaction node", 2, "", asks(w, w.GetNode, &transcriptv1.GetNodeRequest{Node: byAlias("compacted once")})},
		{"GetNodes", "three, and one that is not there", 1, "", asks(w, w.GetNodes, &transcriptv1.GetNodesRequest{NodeIds: []string{w.root, absent, w.call, w.sub}})},
		{"GetNodes", "one that is no small reply", 2, "read again once there is room", asks(w, w.GetNodes, &transcriptv1.GetNodesRequest{NodeIds: []string{w.root, w.bulky}})},
		{"GetNode", "by the digits of its id", 3, "several ids may begin with the digits", asks(w, w.GetNode, &transcriptv1.GetNodeRequest{Node: byID(w.root[:20])})},
		{"ListChildren", "a page", 1, "", asks(w, w.ListChildren, byRoot(""))},
		{"ListChildren", "the next page", 1, "", then(w, w.ListChildren, byRoot(""), byRoot, page)},
		{"ListChildren", "a page of an alias", 2, "the id, which the next page is bound to", asks(w, w.ListChildren, byName(""))},
		{"ListChildren", "the next page of an alias", 1, "", then(w, w.ListChildren, byName(""), byName, page)},
		{"ListRunLoops", "a page of 20 with previews", 4, "where the page begins; headers; the payloads that these tell are needed", asks(w, w.ListRunLoops, loops(""))},
		{"ListRunLoops", "all 41 with previews", 3, "headers of the whole path; payloads", asks(w, w.ListRunLoops, &transcriptv1.ListRunLoopsRequest{Head: byAlias("chat"), PreviewChars: 100, PageSize: 100})},
		{"ListRunLoops", "the next page", 5, "and how the loop ended that it goes on with", then(w, w.ListRunLoops, loops(""), loops, same[*transcriptv1.ListRunLoopsResponse])},
	}
}

func (w *asking) finds() []storeCalls {
	const depth = "how many spawns lie above, in one call"
	id := func(s string) *string { return &s }
	search := func(token string) *SearchRequest {
		req := inChain(byAlias("chat"), "answer")
		req.PageSize, req.PageToken = 5, token
		return req
	}
	const replayed = "the nodes with calls; headers for where their results lie; payloads; the ids of the nodes in which their loops begin"
	return []storeCalls{
		{"RecallToolCall", "by its id", 3, "", asks(w, w.RecallToolCall, &Recall{Head: byAlias("chat"), ToolCallId: id("call_7")})},
		{"RecallToolCall", "by its id, redacted", 3, "", asks(w, w.RecallToolCall, &Recall{Head: byAlias("chat"), ToolCallId: id("call_7"), Redact: true})},
		{"RecallToolCall", "by its place", 6, "ids that begin with the digits, and whether they are on the path; the message with where its group ends", asks(w, w.RecallToolCall, &Recall{Head: byAlias("chat"), Place: w.call[:12] + ".0"})},
		{"RecallToolCall", "the latest of thirty", 6, "one more for each 32 earlier ones that are counted", asks(w, w.RecallToolCall, &Recall{Head: byAlias("repeated"), ToolCallId: id("same")})},
		{"Search", "a chain, no hit", 2, "", asks(w, w.Search, inChain(byAlias("chat"), "nowhere"))},
		{"Search", "a chain, a page of hits", 3, "as large a span as usual would have many more hits than the page takes, so a smaller one is planned", asks(w, w.Search, search(""))},
		{"Search", "the next page", 3, "the same", then(w, w.Search, search(""), search, same[*transcriptv1.SearchResponse])},
		{"Search", "three aliases, no hit", 7, "", asks(w, w.Search, underPrefix("many/", "nowhere"))},
		{"Search", "three aliases, three hits", 7, "", asks(w, w.Search, underPrefix("many/", "needle"))},
		{"ReplayTools", "the last 20 calls", 5, replayed, asks(w, w.ReplayTools, &Replay{Head: byAlias("chat")})},
		{"ReplayTools", "of past loops alone", 5, replayed, asks(w, w.ReplayTools, &Replay{Head: byAlias("chat"), PastLoopsOnly: true})},
		{"ReplayTools", "all 40 calls of a tool", 5, replayed, asks(w, w.ReplayTools, &Replay{Head: byAlias("chat"), MaxCalls: 200, ToolNames: []string{"read"}})},
		{"ServerInfo", "of any caller", 0, "", asks(w, w.ServerInfo, &transcriptv1.ServerInfoRequest{})},
		{"Describe", "off", 1, "", asks(w, w.Describe, &Describe{Head: byAlias("rich"), Mode: modeOff})},
		{"Describe", "a plain chain", 4, "", asks(w, w.Describe, &Describe{Head: byAlias("chat"), Mode: modePreview})},
		{"Describe", "compactions, forks, variables", 5, "", asks(w, w.Describe, &Describe{Head: byAlias("rich"), Mode: modePreview})},
		{"Describe", "a subagent that has its spawner's past", 5, depth, asks(w, w.Describe, &Describe{Head: byAlias("chat/on"), Mode: modePreview})},
		{"Describe", "a subagent with a chain of its own", 4, depth, asks(w, w.Describe, &Describe{Head: byAlias("chat/sub"), Mode: modePreview})},
		{"Describe", "a subagent 70 deep", 4, depth, asks(w, w.Describe, &Describe{Head: byAlias(fmt.Sprint("deep/", w.deep-1)), Mode: modePreview})},
		{"Describe", "some of the variables", 5, "", asks(w, w.Describe, &Describe{Head: byAlias("rich"), VariableNames: &transcriptv1.VariableNames{Exact: []string{"c0"}, Prefix: id("t")}})},
	}
}
