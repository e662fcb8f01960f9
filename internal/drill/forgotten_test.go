package drill

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/badgerdb/canary"
)

// person is somebody whose words are to go: each of them has a canary in it.
type person struct {
	prefix string
	// canary is in all of them, and in nothing else.
	canary string
	ids    []string
}

// kinds are the places in which canaries are.
func kinds() []string {
	return []string{"system", "text", "arguments", "result", "metadata", "variable", "attribute", "reply", "summary", "label", "label of a forgotten name", "chunk"}
}

func (p *person) word(kind string) string { return p.canary + " in " + kind }

// salt is 32 bytes that have the canary.
func (p *person) salt(n int) []byte {
	return fmt.Appendf(nil, "%s%08x", p.canary, n)[:len(p.canary)+8]
}

func newPerson(n int) *person {
	return &person{prefix: fmt.Sprintf("person/%d/", n), canary: strings.ToLower(rand.Text()[:24])}
}

// said puts a chat of two branches and two compactions.
func (p *person) said(t *testing.T, c *client.Client) {
	t.Helper()
	salts := 0
	put := func(node client.Node) string {
		salts++
		node.Salt = p.salt(salts)
		res, err := c.Put(t.Context(), node)
		if err != nil {
			t.Fatal(err)
		}
		p.ids = append(p.ids, res.NodeId)
		return res.NodeId
	}
	say := func(head string, messages ...*transcriptv1.Message) string {
		return put(client.Node{Parent: client.ByID(head), Messages: messages})
	}
	head := put(client.Node{Messages: []*transcriptv1.Message{client.System(p.word("system"))}})
	fork := ""
	for i := range 4 {
		user := client.Node{
			Parent: client.ByID(head), Messages: []*transcriptv1.Message{client.User(p.word("text"))},
			Notes:    []*transcriptv1.MessageNote{{Attributes: map[string]string{"subject": p.word("attribute")}}},
			Metadata: map[string]string{"subject": p.word("metadata"), "var/name": p.word("variable")},
		}
		head = put(user)
		call := client.Call(fmt.Sprintf("call-%d", i), "look_up", fmt.Sprintf("{%q:%q}", "who", p.word("arguments")))
		head = say(head, client.Assistant("", call))
		head = say(head, client.Result(call, strings.Repeat(p.word("result")+" ", 50)))
		head = say(head, client.Assistant(p.word("reply")))
		if i == 1 {
			fork = head
		}
	}
	large := make([]byte, 1<<20) // more than a row holds
	_, _ = rand.Read(large)
	head = say(head, client.User(fmt.Sprintf("%s %x", p.word("chunk"), large)))
	head = say(head, client.Assistant(p.word("reply")))
	labels := map[string]string{"name": p.word("label")}
	if _, err := c.SetAliases(t.Context(), client.AliasMove{Name: p.prefix + "gone", Target: client.ByID(fork), Labels: map[string]string{"name": p.word("label of a forgotten name")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ForgetAlias(t.Context(), p.prefix+"gone", client.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetAliases(t.Context(),
		client.AliasMove{Name: p.prefix + "chat", Target: client.ByID(head), Labels: labels},
		client.AliasMove{Name: p.prefix + "fork", Target: client.ByID(fork), Labels: labels},
	); err != nil {
		t.Fatal(err)
	}
	for _, summary := range []string{p.word("summary") + strings.Repeat(" and more", 200), p.word("summary")} {
		res, err := c.Compact(t.Context(), client.ByAlias(p.prefix+"chat"), client.Compaction{Through: head, Summary: summary, Salt: p.salt(100 + len(summary))})
		if err != nil || !res.Written {
			t.Fatalf("compact: %v, %v", res, err)
		}
		p.ids = append(p.ids, res.NodeId)
		head = say(res.NodeId, client.User(p.word("text")))
		head = say(head, client.Assistant(p.word("reply")))
		if _, err := c.SetAliases(t.Context(), client.AliasMove{Name: p.prefix + "chat", Target: client.ByID(head)}); err != nil {
			t.Fatal(err)
		}
	}
}

// services are those of a server.
type services struct {
	transcriptv1.TranscriptServiceClient
	admin transcriptv1.AdminServiceClient
}

func (d *daemon) services(t *testing.T) services {
	t.Helper()
	conn, err := grpc.NewClient(d.addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return services{transcriptv1.NewTranscriptServiceClient(conn), transcriptv1.NewAdminServiceClient(conn)}
}

// streamed receives a stream, up to its end.
func streamed[M any](stream grpc.ServerStreamingClient[M], err error) (out []*M, _ error) {
	for err == nil {
		var m *M
		if m, err = stream.Recv(); err == nil {
			out = append(out, m)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return out, err
}

// asks calls every rpc that shows what was put, of a person, and gives the replies to a function.
func (s services) asks(ctx context.Context, t *testing.T, p *person, reply func(call string, m proto.Message)) {
	t.Helper()
	told := func(call string, m proto.Message, err error) {
		t.Helper()
		if err != nil && status.Code(err) != codes.NotFound {
			t.Fatalf("%s: %v", call, err)
		}
		reply(call, m)
		st, _ := status.FromError(err)
		reply(call, st.Proto())
	}
	heads := []*transcriptv1.NodeRef{{Ref: &transcriptv1.NodeRef_Alias{Alias: p.prefix + "chat"}}, {Ref: &transcriptv1.NodeRef_Alias{Alias: p.prefix + "fork"}}}
	for _, head := range heads {
		for _, view := range []transcriptv1.View{transcriptv1.View_VIEW_FULL, transcriptv1.View_VIEW_EFFECTIVE, transcriptv1.View_VIEW_CONVERSATION} {
			facts := &transcriptv1.NodeFacts{MetadataKeys: []string{"subject", "var/name"}}
			frames, err := streamed(s.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{
				Head: head, View: view, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_ENVELOPES, NodeFacts: facts,
			}))
			told("StreamAssemble", nil, err)
			for _, f := range frames {
				reply("StreamAssemble", f)
			}
		}
		described, err := s.Describe(ctx, &transcriptv1.DescribeRequest{Head: head, Mode: transcriptv1.DescribeMode_DESCRIBE_MODE_PREVIEW})
		told("Describe", described, err)
		loops, err := s.ListRunLoops(ctx, &transcriptv1.ListRunLoopsRequest{Head: head, PreviewChars: 100})
		told("ListRunLoops", loops, err)
		replayed, err := s.ReplayTools(ctx, &transcriptv1.ReplayToolsRequest{Head: head})
		told("ReplayTools", replayed, err)
		for _, id := range []string{"call-0", "call-3"} {
			recalled, err := s.RecallToolCall(ctx, &transcriptv1.RecallToolCallRequest{Head: head, ToolCallId: &id})
			told("RecallToolCall", recalled, err)
		}
		found, err := s.Search(ctx, &transcriptv1.SearchRequest{Scope: &transcriptv1.SearchRequest_Head{Head: head}, Pattern: &transcriptv1.SearchRequest_Text{Text: p.canary}})
		told("Search", found, err)
	}
	for ids := range slices.Chunk(p.ids, 10) {
		nodes, err := s.GetNodes(ctx, &transcriptv1.GetNodesRequest{NodeIds: ids})
		told("GetNodes", nodes, err)
	}
	for _, id := range p.ids {
		ref := &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}}
		node, err := s.GetNode(ctx, &transcriptv1.GetNodeRequest{Node: ref})
		told("GetNode", node, err)
		children, err := s.ListChildren(ctx, &transcriptv1.ListChildrenRequest{Node: ref})
		told("ListChildren", children, err)
	}
	aliases, err := s.ListAliases(ctx, &transcriptv1.ListAliasesRequest{Scope: &transcriptv1.ListAliasesRequest_Prefix{Prefix: p.prefix}})
	told("ListAliases", aliases, err)
	for _, a := range aliases.GetAliases() {
		one, err := s.ResolveAlias(ctx, &transcriptv1.ResolveAliasRequest{Name: a.GetName()})
		told("ResolveAlias", one, err)
		history, err := s.ListAliasHistory(ctx, &transcriptv1.ListAliasHistoryRequest{Name: a.GetName()})
		told("ListAliasHistory", history, err)
	}
	receipts, err := s.admin.GetReceipts(ctx, &transcriptv1.GetReceiptsRequest{NodeIds: p.ids})
	told("GetReceipts", receipts, err)
}

// erases erases what a person said, and returns when that is answered, or with wait when it has left the files.
func (p *person) erases(t *testing.T, s services, wait bool) {
	t.Helper()
	reports, err := streamed(s.admin.Erase(t.Context(), &transcriptv1.EraseRequest{
		Selector: &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: p.prefix}, Reference: "case " + p.prefix, WaitForFiles: wait,
	}))
	if err != nil || !reports[len(reports)-1].Done {
		t.Fatalf("erase: %v, %v", err, reports)
	}
}

// shown tells by which calls a person's canary is shown.
func (p *person) shown(t *testing.T, s services) (calls []string) {
	t.Helper()
	s.asks(t.Context(), t, p, func(call string, m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(p.canary)) {
			calls = append(calls, call)
		}
	})
	slices.Sort(calls)
	return slices.Compact(calls)
}

// isPurged tells whether all receipts of a person say that the files have nothing any more.
func (p *person) isPurged(t *testing.T, s services) bool {
	t.Helper()
	got, err := s.admin.GetReceipts(t.Context(), &transcriptv1.GetReceiptsRequest{NodeIds: p.ids})
	if err != nil {
		t.Fatal(err)
	}
	return len(got.Receipts) == len(p.ids) && !slices.ContainsFunc(got.Receipts, func(r *transcriptv1.NodeReceipt) bool { return r.PurgedAt == nil })
}

// beside runs what the erasure runs beside, until it is told to end or the server is gone: writers, a collection, a backup, and a check that is slow, so that
// a read is open all the time.
func beside(t *testing.T, d *daemon, s services) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, w := range writers(t, d, 4) {
		w.name = fmt.Sprintf("%s/%s", w.name, strings.ToLower(rand.Text()))
		running.Go(func() {
			for i := 0; w.step(ctx, i, 4<<10) == nil; i++ {
			}
		})
	}
	for _, again := range []func() error{
		func() error {
			_, err := streamed(s.admin.CollectGarbage(ctx, &transcriptv1.CollectGarbageRequest{Scope: transcriptv1.Scope_SCOPE_STORE}))
			return err
		},
		func() error {
			_, err := streamed(s.admin.Backup(ctx, &transcriptv1.BackupRequest{Scope: transcriptv1.Scope_SCOPE_STORE}))
			return err
		},
		func() error {
			_, err := streamed(s.admin.Verify(ctx, &transcriptv1.VerifyRequest{Scope: transcriptv1.Scope_SCOPE_STORE, MaxBytesPerSecond: 1 << 20}))
			return err
		},
	} {
		running.Go(func() {
			for code := codes.OK; code != codes.Unavailable && ctx.Err() == nil; {
				code = status.Code(again())
			}
		})
	}
	return func() {
		cancel()
		running.Wait()
	}
}

var kills = flag.Int("drill.kills", 3, "how often the server is killed in the middle of an erasure")

// TestForgotten: what is erased is shown by no call once that is answered, and when its receipts say so no table and no log has it, in any version, whatever
// ran beside and however often the server was killed on the way; nor has a later backup.
func TestForgotten(t *testing.T) {
	p := build(t)
	store := filepath.Join(t.TempDir(), "store")
	var all []*person
	for n := range *kills + 1 {
		began := time.Now()
		d := p.start(t, store)
		s := d.services(t)
		one := newPerson(n)
		one.said(t, d.client(t, ""))
		all = append(all, one)
		if n == 0 {
			isThere(t, store, one)
			want := "Describe GetNode GetNodes ListAliases ListRunLoops RecallToolCall ReplayTools ResolveAlias Search StreamAssemble"
			if calls := one.shown(t, s); strings.Join(calls, " ") != want {
				t.Fatalf("before it is erased it is shown by %q, want %q", calls, want)
			}
		}
		end := beside(t, d, s)
		one.erases(t, s, false)
		if calls := one.shown(t, s); len(calls) > 0 {
			t.Errorf("person %d: once it is erased it is shown by %q", n, calls)
		}
		if n < *kills {
			after := time.NewTimer(mathrand.N(4 * time.Second))
			<-after.C
			d.kill()
			end()
			t.Logf("killed %d of %d times, %v", n+1, *kills, time.Since(began).Round(time.Second))
			continue
		}
		one.erases(t, s, true)
		for _, one := range all {
			if !one.isPurged(t, s) {
				t.Errorf("%s is pending, and what was erased later is not", one.prefix)
			}
		}
		t.Logf("all is purged, %v", time.Since(began).Round(time.Second))
		end()
		isGone(t, store, all)
		isInNoBackup(t, s, all)
		d.stop(t)
	}
	must(t, p.daemon, "verify", p.storeFlag(store))
	d := p.start(t, store)
	for _, one := range all {
		if calls := one.shown(t, d.services(t)); len(calls) > 0 {
			t.Errorf("%s is shown by %q", one.prefix, calls)
		}
	}
	isGone(t, store, all)
}

// isThere proves the search: each canary is found.
func isThere(t *testing.T, store string, one *person) {
	t.Helper()
	needles := [][]byte{[]byte(one.canary), one.salt(1)}
	for _, kind := range kinds() {
		needles = append(needles, []byte(one.word(kind)))
	}
	hits, err := canary.Search(store, nil, needles...)
	if err != nil {
		t.Fatal(err)
	}
	for n := range needles {
		if !slices.ContainsFunc(hits, func(h canary.Hit) bool { return h.Needle == n }) {
			t.Errorf("before it is erased needle %d, %q, is not found", n, needles[n])
		}
	}
}

// isGone searches the files for all canaries.
func isGone(t *testing.T, store string, all []*person) {
	t.Helper()
	var needles [][]byte
	for _, one := range all {
		needles = append(needles, []byte(one.canary))
	}
	hits, err := canary.Search(store, nil, needles...)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits[:min(10, len(hits))] {
		t.Errorf("of %d hits: %v", len(hits), h)
	}
}

// isInNoBackup searches a backup.
func isInNoBackup(t *testing.T, s services, all []*person) {
	t.Helper()
	pieces, err := streamed(s.admin.Backup(t.Context(), &transcriptv1.BackupRequest{Scope: transcriptv1.Scope_SCOPE_STORE}))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	for _, piece := range pieces {
		file.Write(piece.Data)
	}
	r, err := archive.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	for {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			if bytes.Contains(b, []byte(one.canary)) {
				t.Errorf("a later backup has the words of %s", one.prefix)
			}
		}
	}
}
