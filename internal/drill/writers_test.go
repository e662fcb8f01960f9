package drill

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// writer appends to a chain of its own, and does with aliases what people do.
type writer struct {
	*client.Client
	namespace, name string
	rand            *rand.Rand
	mu              sync.Mutex
	// heads are the nodes that the alias was acknowledged to point to, in order.
	heads []string
}

// namespaces are those of the writers.
func namespaces() []string { return []string{"default", "drill-a", "drill-b"} }

// writers are so many, over all namespaces.
func writers(t *testing.T, d *daemon, count int) (all []*writer) {
	t.Helper()
	for i := range count {
		all = append(all, &writer{
			namespace: namespaces()[i%len(namespaces())], name: fmt.Sprintf("writer/%d", i), rand: rand.New(rand.NewPCG(uint64(i), 1)),
		})
	}
	over(t, d, all)
	return all
}

// over has the writers speak to a server.
func over(t *testing.T, d *daemon, all []*writer) {
	t.Helper()
	for _, w := range all {
		w.Client = d.client(t, w.namespace)
	}
}

// head is where the alias is; "" at the beginning.
func (w *writer) head() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.heads) == 0 {
		return ""
	}
	return w.heads[len(w.heads)-1]
}

// acknowledged is how many heads there were.
func (w *writer) acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.heads)
}

func (w *writer) moved(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heads = append(w.heads, id)
}

// step is the i-th of a writer: a message, each some steps a side alias that comes, moves, is labelled or goes, and a compaction.
func (w *writer) step(ctx context.Context, i int, bytes int) error {
	head := w.head()
	node := client.Node{Aliases: []client.AliasUpdate{{Name: w.name}}}
	if head != "" {
		node.Parent = client.ByID(head)
		node.Aliases[0].If = client.HeadIs(head)
	}
	var said strings.Builder
	fmt.Fprintf(&said, "%s %d", w.name, i)
	for said.Len() < bytes { // words that do not pack well
		fmt.Fprintf(&said, " %x", w.rand.Uint64())
	}
	text := said.String()
	if i%2 == 0 {
		node.Messages = []*transcriptv1.Message{client.User(text)}
	} else {
		node.Messages = []*transcriptv1.Message{client.Assistant(text)}
	}
	if i%5 == 0 {
		node.Metadata = map[string]string{"step": fmt.Sprint(i)}
	}
	put, err := w.Put(ctx, node)
	if err != nil {
		return err
	}
	w.moved(put.GetNodeId())
	return w.aside(ctx, i, put.GetNodeId())
}

// aside does what is done beside appending.
func (w *writer) aside(ctx context.Context, i int, head string) error {
	side := fmt.Sprintf("%s/side/%d", w.name, w.rand.IntN(4))
	switch {
	case i%7 == 3:
		_, err := w.SetAliases(ctx, client.AliasMove{Name: side, Target: client.ByID(head), Labels: map[string]string{"step": fmt.Sprint(i)}})
		return err
	case i%11 == 5:
		_, err := w.DeleteAlias(ctx, side, client.Condition{})
		if errors.Is(err, client.ErrAliasNotFound) {
			err = nil
		}
		return err
	case i%40 == 39:
		done, err := w.Compact(ctx, client.ByAlias(w.name), client.Compaction{})
		if err != nil {
			return err
		}
		w.moved(done.GetNodeId())
	}
	return nil
}

// write has all writers take steps until the context ends, or each has taken so many.
func write(ctx context.Context, all []*writer, steps, bytes int) error {
	var running sync.WaitGroup
	failed := make([]error, len(all))
	for n, w := range all {
		running.Go(func() {
			for i := 0; i < steps && ctx.Err() == nil; i++ {
				if err := w.step(context.WithoutCancel(ctx), w.acknowledged(), bytes); err != nil {
					failed[n] = fmt.Errorf("%s: %w", w.name, err)
					return
				}
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}

// state is all that a server shows: of each namespace the settings, counts, and aliases with labels, revisions, history and views.
func state(t *testing.T, d *daemon) string {
	t.Helper()
	var out strings.Builder
	ctx := t.Context()
	for _, namespace := range namespaces() {
		c := d.client(t, namespace)
		stats, err := c.Stats(ctx)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s nodes=%d messages=%d bytes=%d aliases=%d roots=%d forks=%d settings=%v revision=%d\n", namespace, stats.GetNodes(), stats.GetMessages(),
			stats.GetMessageBytes(), stats.GetAliases(), stats.GetRoots(), stats.GetForks(), stats.GetSettings(), stats.GetSettingsRevision())
		for a, err := range c.Aliases(ctx, client.AliasScope{}) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s %s %s %v %d %v\n", namespace, a.GetName(), a.GetNodeId(), labels(a.GetLabels()), a.GetRevision(), a.GetMovedAt().AsTime())
			history(t, c, &out, a.GetName())
			for _, view := range []transcriptv1.View{transcriptv1.View_VIEW_FULL, transcriptv1.View_VIEW_CONVERSATION} {
				fmt.Fprintf(&out, "  %v %s\n", view, viewOf(t, c, client.ByAlias(a.GetName()), view))
			}
		}
		for i := range 100 { // the deleted ones, too
			for side := range 4 {
				history(t, c, &out, fmt.Sprintf("writer/%d/side/%d", i, side))
			}
		}
	}
	return out.String()
}

func labels(of map[string]string) (out []string) {
	for k, v := range of {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

func history(t *testing.T, c *client.Client, out *strings.Builder, name string) {
	t.Helper()
	for h, err := range c.History(t.Context(), name) {
		if errors.Is(err, client.ErrAliasNotFound) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "  %s %v\n", name, h)
	}
}

// viewOf is a digest of the messages of a view, verified.
func viewOf(t *testing.T, c *client.Client, head client.Ref, view transcriptv1.View) string {
	t.Helper()
	a, err := c.Assemble(t.Context(), head, client.Query{View: view, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := a.Encoded()
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, m := range messages {
		fmt.Fprintf(h, "%d:", len(m))
		h.Write(m)
	}
	return fmt.Sprintf("%d messages %x", len(messages), h.Sum(nil)[:8])
}

// same compares two states.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s: line %d is\n%s\nand was\n%s", what, i, g[i], w[i])
		}
	}
	t.Fatalf("%s: %d lines, and there were %d", what, len(g), len(w))
}

// sameHeads compares the chains of aliases, and nothing of how the aliases came there.
func sameHeads(t *testing.T, from, to *client.Client) {
	t.Helper()
	for a, err := range from.Aliases(t.Context(), client.AliasesWithPrefix("writer/")) {
		if err != nil {
			t.Fatal(err)
		}
		reply, err := to.Resolve(t.Context(), a.GetName())
		if err != nil {
			t.Fatal(err)
		}
		if reply.GetAlias().GetNodeId() != a.GetNodeId() {
			t.Errorf("%s points to %s, and pointed to %s", a.GetName(), reply.GetAlias().GetNodeId(), a.GetNodeId())
		}
		for _, view := range []transcriptv1.View{transcriptv1.View_VIEW_FULL, transcriptv1.View_VIEW_CONVERSATION} {
			same(t, a.GetName(), viewOf(t, to, client.ByAlias(a.GetName()), view), viewOf(t, from, client.ByAlias(a.GetName()), view))
		}
	}
}
