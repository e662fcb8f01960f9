package bench

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/client"
)

func TestTranscripts(t *testing.T) {
	full, empty := t.TempDir(), t.TempDir()
	for _, name := range []string{"b.jsonl.gz", "a.jsonl.gz", "README.md"} {
		if err := os.WriteFile(filepath.Join(full, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		o     Options
		files int
	}{
		{"named", Options{Transcripts: full}, 2},
		{"not named", Options{}, 0},
		{"nothing there", Options{Transcripts: empty}, 0},
		{"a server elsewhere", Options{Transcripts: full, Remote: "elsewhere:7420"}, 0},
	} {
		files, why := (&env{Options: c.o}).transcripts()
		if len(files) != c.files || (why == "") != (c.files > 0) {
			t.Errorf("%s: %q, %q", c.name, files, why)
		}
	}
}

// The import is judged against the same import, and against payloads that are at hand.
func TestImportFigures(t *testing.T) {
	took := func(name string, seconds time.Duration) *outcome {
		rounds := []*sample{{took: []time.Duration{seconds * time.Second}, while: seconds * time.Second}}
		return &outcome{side: &side{name: name}, rounds: rounds}
	}
	f := importFigures(took("ours", 10), took("like", 8), took("batched", 2), took("single", 9), 100)
	if f[0].Figure != 0.8 || !f[0].Met || f[1].Figure != 0.2 || f[1].Met || f[0].Void || f[1].Void {
		t.Errorf("%+v", f)
	}
	if m := f[1].Measured; len(m) != 3 || m[0].Value != 10 || m[1].Value != 50 || m[2].Name != "single" {
		t.Errorf("made of %+v", m)
	}
}

func TestPutChain(t *testing.T) {
	for _, c := range []struct {
		name   string
		sizes  []int
		atOnce int
		want   []int
	}{
		{"one at a time", []int{1, 1, 1}, 1, []int{1, 1, 1}},
		{"two at a time", []int{1, 1, 1}, 2, []int{2, 1}},
		{"a MiB at a time", []int{importBatchBytes - 1, 1, 1}, 250, []int{2, 1}},
		{"more than a MiB alone", []int{1, importBatchBytes + 1, 1}, 250, []int{1, 1, 1}},
	} {
		var got []int
		b := &bareCommitter{&bareDatabase{}, gather(func(_ context.Context, nodes []*bareNode) error {
			got = append(got, len(nodes))
			return nil
		}, nil)}
		var chain [][]byte
		for _, n := range c.sizes {
			chain = append(chain, make([]byte, n))
		}
		err := b.putChain(chain, c.atOnce)
		b.stop()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestPutChainTellsWhatFails(t *testing.T) {
	fault := errors.New("fault")
	b := &bareCommitter{&bareDatabase{}, gather(func(context.Context, []*bareNode) error { return fault }, nil)}
	defer b.stop()
	if err := b.putChain([][]byte{{1}}, 1); !errors.Is(err, fault) {
		t.Errorf("%v", err)
	}
}

// What the import asks of a server, the limit answers so that the client takes it; each node is written once.
func TestImportLimit(t *testing.T) {
	l, err := openImportLimit(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	c := verifyingClient(t, l)
	ctx := t.Context()
	if _, err := c.Resolve(ctx, "chat/1"); !errors.Is(err, client.ErrAliasNotFound) {
		t.Errorf("an alias: %v", err)
	}
	chain := []client.Node{
		{Messages: small(1)}, {Messages: small(2), Previous: true}, {Messages: small(3), Previous: true},
	}
	first, err := c.PutAll(ctx, chain...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.PutAll(ctx, chain...); err != nil {
		t.Fatal(err)
	}
	next := client.Node{
		Parent: client.ByID(first[2].NodeId), Messages: small(1),
		Aliases: []client.AliasUpdate{{Name: "chat/1", If: client.MustNotExist()}},
	}
	if _, err := c.PutAll(ctx, next); err != nil {
		t.Fatal(err)
	}
	if n := l.(*importLimit).last.Load(); n != 4 {
		t.Errorf("of 4 nodes %d were written", n)
	}
}

// verifyingClient talks to a limit over TCP, as the import does.
func verifyingClient(t *testing.T, l limit) *client.Client {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := limitServer(l)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(listener) }()
	c, err := client.Dial(listener.Addr().String(), client.WithVerification())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if err := errors.Join(c.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	return c
}
