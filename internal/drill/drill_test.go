package drill

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	loadWriters = 9
	loadSteps   = 150
	loadBytes   = 2 << 10
)

// TestDrill: a full backup under load, more load, an incremental one, the folder destroyed, everything restored. The full backup alone has each
// writer somewhere between what was acknowledged before it began and what was begun when it ended; with the incremental one all is as it was.
func TestDrill(t *testing.T) {
	p := build(t)
	for range *drills {
		drill(t, p)
	}
}

func drill(t *testing.T, p programs) {
	dir, files := t.TempDir(), t.TempDir()
	full, more := filepath.Join(files, "full.archive"), filepath.Join(files, "more.archive")
	store := filepath.Join(dir, "store")
	d := p.start(t, store)
	all := writers(t, d, loadWriters)
	if err := write(t.Context(), all, loadSteps, loadBytes); err != nil {
		t.Fatal(err)
	}
	settings(t, d)
	ctx, enough := context.WithCancel(t.Context())
	loaded := make(chan error, 1)
	go func() { loaded <- write(ctx, all, 1<<30, loadBytes) }()
	before := acknowledged(all)
	must(t, p.console, "backup", "create", full, "--all", d.address())
	behind := acknowledged(all)
	enough()
	if err := <-loaded; err != nil {
		t.Fatal(err)
	}
	if err := write(t.Context(), all, loadSteps/10, loadBytes); err != nil {
		t.Fatal(err)
	}
	must(t, p.console, "backup", "create", more, "--all", "--since", full, d.address())
	was := state(t, d)
	d.kill()
	if err := os.RemoveAll(store); err != nil {
		t.Fatal(err)
	}
	must(t, p.console, "backup", "verify", full, more)
	fullAlone(t, p, filepath.Join(dir, "full"), full, all, before, behind)
	restored := filepath.Join(dir, "restored")
	must(t, p.console, "restore", p.storeFlag(restored), full, more)
	must(t, p.daemon, "verify", p.storeFlag(restored))
	d = p.start(t, restored)
	same(t, "what was restored", state(t, d), was)
	goOn(t, d, all)
	d.stop(t)
}

// settings sets some, of one namespace.
func settings(t *testing.T, d *daemon) {
	t.Helper()
	most := int64(1_000_000)
	if _, err := d.client(t, "drill-a").SetNamespace(t.Context(), &transcriptv1.NamespaceSettings{MaxNodes: most}, nil); err != nil {
		t.Fatal(err)
	}
}

// acknowledged is how many heads each writer had.
func acknowledged(all []*writer) (counts []int) {
	for _, w := range all {
		counts = append(counts, w.acknowledged())
	}
	return counts
}

// fullAlone restores the backup that was made under load, and holds it to what was acknowledged before it and behind it.
func fullAlone(t *testing.T, p programs, dir, full string, all []*writer, before, behind []int) {
	t.Helper()
	must(t, p.console, "restore", p.storeFlag(dir), full)
	d := p.start(t, dir)
	defer d.stop(t)
	for i, w := range all {
		c := d.client(t, w.namespace)
		reply, err := c.Resolve(t.Context(), w.name)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(w.heads, reply.GetAlias().GetNodeId()) + 1
		if at < before[i] || at > behind[i]+1 { // one could be under way
			t.Errorf("%s is where it was after %d steps; %d were acknowledged before, %d behind", w.name, at, before[i], behind[i])
		}
		viewOf(t, c, client.ByAlias(w.name), transcriptv1.View_VIEW_FULL)
	}
}

// goOn has the writers go on over another server.
func goOn(t *testing.T, d *daemon, all []*writer) {
	t.Helper()
	over(t, d, all)
	if err := write(t.Context(), all, 10, loadBytes); err != nil {
		t.Fatal(err)
	}
}
