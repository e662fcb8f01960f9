package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
)

// chatLine is a line with a conversation of user messages.
func chatLine(t testing.TB, id string, texts ...string) string {
	t.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	messages := make([]message, len(texts))
	for i, text := range texts {
		messages[i] = message{"user", text}
	}
	line, err := json.Marshal(map[string]any{"id": id, "messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	return string(line) + "\n"
}

// importText imports standard input.
func (s *stack) importText(text string, args ...string) result {
	s.tb.Helper()
	return s.runWith(context.Background(), text, append([]string{"import", "--output", "json"}, args...)...)
}

func (r result) sums(t *testing.T) (sums importSummary) {
	t.Helper()
	if r.code != exitOK {
		t.Fatalf("exit code %d: %s", r.code, r.notes)
	}
	if err := json.Unmarshal([]byte(r.out), &sums); err != nil {
		t.Fatal(err)
	}
	return sums
}

// head is where the alias of a chat points.
func (s *stack) head(id string) string {
	s.tb.Helper()
	var reply struct {
		Alias struct{ NodeID string }
	}
	if err := json.Unmarshal([]byte(s.must("alias", "resolve", "chat/"+id, "--output", "json")), &reply); err != nil {
		s.tb.Fatal(err)
	}
	return reply.Alias.NodeID
}

// TestImportAgain: what becomes of a conversation that is stored in some form already.
func TestImportAgain(t *testing.T) {
	tests := []struct {
		name          string
		stored, again []string
		args          []string
		code          int
		want          importSummary
		export        []string
	}{
		{"unchanged", []string{"a", "b"}, []string{"a", "b"}, nil, exitOK,
			importSummary{Unchanged: 1, NodesThere: 2}, []string{"a", "b"}},
		{"grown", []string{"a", "b"}, []string{"a", "b", "c", "d"}, nil, exitOK,
			importSummary{Grown: 1, NodesCreated: 2, NodesThere: 2}, []string{"a", "b", "c", "d"}},
		{"behind", []string{"a", "b", "c"}, []string{"a", "b"}, nil, exitOK,
			importSummary{Behind: 1, NodesThere: 2}, []string{"a", "b", "c"}},
		{"diverged", []string{"a", "b", "c"}, []string{"a", "x"}, nil, exitConflict,
			importSummary{}, []string{"a", "b", "c"}},
		{"diverged, skipped", []string{"a", "b", "c"}, []string{"a", "x"}, []string{"--skip-bad"}, exitOK,
			importSummary{BadLines: 1}, []string{"a", "b", "c"}},
		{"diverged, moved", []string{"a", "b", "c"}, []string{"a", "x"}, []string{"--move"}, exitOK,
			importSummary{Moved: 1, NodesCreated: 1, NodesThere: 1}, []string{"a", "x"}},
		{"grown, with move", []string{"a"}, []string{"a", "x"}, []string{"--move"}, exitOK,
			importSummary{Grown: 1, NodesCreated: 1, NodesThere: 1}, []string{"a", "x"}},
		{"behind, with move", []string{"a", "x"}, []string{"a"}, []string{"--move"}, exitOK,
			importSummary{Behind: 1, NodesThere: 1}, []string{"a", "x"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newStack(t)
			s.importText(chatLine(t, "1", test.stored...)).sums(t)
			old := s.head("1")
			r := s.importText(chatLine(t, "1", test.again...), test.args...)
			if r.code != test.code {
				t.Fatalf("exit code %d, %s", r.code, r.notes)
			}
			if test.code == exitOK {
				got := r.sums(t)
				test.want.Bytes, test.want.Seconds = got.Bytes, got.Seconds
				test.want.Conversations = 1 - test.want.BadLines
				if !reflect.DeepEqual(got, test.want) {
					t.Errorf("got %+v, want %+v", got, test.want)
				}
			}
			checkExport(t, s, chatLine(t, "1", test.export...))
			if !strings.Contains(s.must("alias", "history", "chat/1"), old[:shortDigits]) {
				t.Error("the history does not hold the old head")
			}
		})
	}
}

// checkExport compares an export with lines, as JSON.
func checkExport(t *testing.T, s *stack, want string) {
	t.Helper()
	got := s.must("export")
	a, b := decodeLines(t, got), decodeLines(t, want)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("got %.300q, want %.300q", got, want)
	}
}

// decodeLines reads lines of JSON, by id.
func decodeLines(t *testing.T, text string) map[string]any {
	t.Helper()
	chats := map[string]any{}
	for line := range strings.Lines(text) {
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		var chat struct {
			ID       string
			Messages any
		}
		if err := d.Decode(&chat); err != nil {
			t.Fatal(err)
		}
		chats[chat.ID] = chat.Messages
	}
	return chats
}

// TestImportSameID: of lines with one id in one import, the later continue or repeat the earlier, or are refused.
func TestImportSameID(t *testing.T) {
	for range 20 {
		s := newStack(t)
		text := chatLine(t, "1", "a") + chatLine(t, "1", "a", "b") + chatLine(t, "1", "a") + chatLine(t, "1", "a", "b")
		got := s.importText(text, "--workers", "8").sums(t)
		if got.New != 1 || got.Grown != 1 || got.Behind != 1 || got.Unchanged != 1 || got.NodesCreated != 2 {
			t.Fatalf("%+v", got)
		}
		r := s.importText(chatLine(t, "1", "a", "c"))
		if r.code != exitConflict || !strings.Contains(r.notes, "standard input:1:") {
			t.Fatalf("exit code %d, %s", r.code, r.notes)
		}
	}
}

// TestImportForms: a file may be gzipped whatever its name, end its lines in CR LF, hold blank lines and a byte order
// of members of any kind, and lack the last line end; a line may be long.
func TestImportForms(t *testing.T) {
	s := newStack(t)
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pack := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, text); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	long := make([]string, 4)
	for i := range long {
		long[i] = strings.Repeat(fmt.Sprint(i%10), 1<<20)
	}
	plain := chatLine(t, "plain", "a")
	files := []string{
		write("plain.jsonl", []byte("\n"+strings.ReplaceAll(plain, "\n", "\r\n")+"\n \n")),
		write("packed", pack(chatLine(t, "packed", "b"))),
		write("last.jsonl", []byte(`{"messages":[{"content":"c","role":"user"}],"x":{},"id":"last"}`)),
		write("long.jsonl.gz", pack(chatLine(t, "long", long...))),
		write("empty.jsonl", nil),
	}
	if got := s.importAs(t, files...); got.New != 4 || got.NodesCreated != 7 {
		t.Errorf("%+v", got)
	}
	checkExport(t, s, plain+chatLine(t, "packed", "b")+chatLine(t, "last", "c")+chatLine(t, "long", long...))
	cut := pack(chatLine(t, "packed", "b"))
	if r := s.run("import", write("cut.gz", cut[:len(cut)-9]), "--skip-bad"); r.code != exitFailed || !strings.Contains(r.notes, "cut.gz:") {
		t.Errorf("a file that is cut off: exit code %d, %s", r.code, r.notes)
	}
	if r := s.importText("\xff\n"); r.code != exitUsage || !strings.Contains(r.notes, "not UTF-8") {
		t.Errorf("no UTF-8: exit code %d, %s", r.code, r.notes)
	}
}

// TestImportTools: consecutive results are one node, as far as a node holds them.
func TestImportTools(t *testing.T) {
	s := newStack(t)
	var b strings.Builder
	b.WriteString(`{"id":"1","messages":[{"role":"user","content":"go"}`)
	const results = 2*canonical.MaxMessages + 1
	for i := range results {
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"%d","content":"r"}`, i)
	}
	b.WriteString(`,{"role":"assistant","content":"x"},{"role":"tool","tool_call_id":"y","content":"z"}]}` + "\n")
	if got := s.importText(b.String()).sums(t); got.NodesCreated != 1+3+2 {
		t.Errorf("%+v", got)
	}
	checkExport(t, s, b.String())
}

// TestImportLarge: messages of the largest size are stored one by one; one larger is a bad line.
func TestImportLarge(t *testing.T) {
	s := newStack(t)
	large := strings.Repeat("x", canonical.MaxMessageBytes-64)
	text := chatLine(t, "1", "a", large, "b")
	if got := s.importText(text).sums(t); got.NodesCreated != 3 {
		t.Errorf("%+v", got)
	}
	checkExport(t, s, text)
	r := s.importText(chatLine(t, "2", "a", large+strings.Repeat("x", 64)))
	if r.code != exitUsage || !strings.Contains(r.notes, "standard input:1: messages[1]") {
		t.Errorf("exit code %d, %s", r.code, r.notes)
	}
}

// hookedStore calls a function before the nth commit; where that cuts off the caller, the commit is answered once it has.
type hookedStore struct {
	chainstore.Store
	commits atomic.Int64
	nth     int64
	hook    func()
	cuts    bool
}

func (s *hookedStore) Commit(ctx context.Context, namespace string, c *chainstore.Change) (*chainstore.Committed, error) {
	if s.commits.Add(1) != s.nth {
		return s.Store.Commit(ctx, namespace, c)
	}
	s.hook()
	done, err := s.Store.Commit(context.WithoutCancel(ctx), namespace, c)
	if s.cuts {
		<-ctx.Done()
	}
	return done, err
}

func (s *hookedStore) Close() error { return nil }

// manyChats are lines with shared prefixes, some longer than a batch.
func manyChats(t testing.TB) string {
	var b strings.Builder
	for i := range 12 {
		texts := []string{"shared", fmt.Sprint("half ", i%2)}
		for n := range 1 + (i%3)*batchNodes*3/4 {
			texts = append(texts, fmt.Sprint(i%6, " ", n))
		}
		b.WriteString(chatLine(t, fmt.Sprint(i), texts...))
	}
	return b.String()
}

// TestImportInterrupted: an import that was cut off, by its user or by the server's end, goes on when it is run again,
// and leaves what an import in one go leaves.
func TestImportInterrupted(t *testing.T) {
	text := manyChats(t)
	whole := newStack(t)
	want := whole.importText(text).sums(t)
	export := whole.must("export")
	for _, cut := range []string{"user", "server"} {
		for _, nth := range []int64{1, 4, 12} {
			t.Run(fmt.Sprint(cut, nth), func(t *testing.T) {
				t.Parallel()
				store := memstore.New(memstore.Options{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				hooked := &hookedStore{Store: store, nth: nth, cuts: true}
				s := serveStore(t, hooked)
				code := exitInterrupted
				hooked.hook = cancel
				if cut == "server" {
					code = exitUnavailable
					hooked.hook = func() { go s.stop() }
				}
				r := s.runWith(ctx, text, "import", "--timeout", "2s")
				if r.code != code {
					t.Fatalf("exit code %d, %s", r.code, r.notes)
				}
				s.stop()
				s = serveStore(t, store)
				before := s.nodes()
				got := s.importText(text).sums(t)
				if before+got.NodesCreated != want.NodesCreated || got.Conversations != want.Conversations {
					t.Errorf("there were %d nodes, then %+v; want %+v", before, got, want)
				}
				if s.must("export") != export {
					t.Error("the export is another")
				}
				s.must("verify")
			})
		}
	}
}

// nodes is how many nodes there are.
func (s *stack) nodes() (n int64) {
	s.tb.Helper()
	var reply struct {
		Nodes int64 `json:",string"`
	}
	if err := json.Unmarshal([]byte(s.must("stats", "--output", "json")), &reply); err != nil {
		s.tb.Fatal(err)
	}
	return reply.Nodes
}

// TestImportWorkers: how many workers there are makes no difference.
func TestImportWorkers(t *testing.T) {
	text := manyChats(t)
	one := newStack(t)
	want := one.importText(text, "--workers", "1").sums(t)
	for _, workers := range []string{"2", "64"} {
		s := newStack(t)
		got := s.importText(text, "--workers", workers).sums(t)
		got.Seconds = want.Seconds
		if !reflect.DeepEqual(got, want) || s.nodes() != want.NodesCreated {
			t.Errorf("%s workers: %+v and %d nodes, want %+v", workers, got, s.nodes(), want)
		}
		if s.must("export") != one.must("export") {
			t.Errorf("%s workers: the export is another", workers)
		}
	}
}

// TestImportAliasMoves: where somebody moves the alias while the conversation is stored, it is looked at again.
func TestImportAliasMoves(t *testing.T) {
	store := memstore.New(memstore.Options{})
	direct := serveStore(t, &hookedStore{Store: store})
	hooked := &hookedStore{Store: store, nth: 1}
	hooked.hook = func() { direct.importText(chatLine(t, "1", "a", "b")).sums(t) }
	s := serveStore(t, hooked)
	if got := s.importText(chatLine(t, "1", "a", "b", "c")).sums(t); got.Grown != 1 || got.NodesCreated != 1 {
		t.Errorf("%+v", got)
	}
	checkExport(t, s, chatLine(t, "1", "a", "b", "c"))
}
