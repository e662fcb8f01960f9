package badgerstore

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

var update = flag.Bool("update", false, "badgerstore: make the golden store again; only before a format is released")

// goldenArchive is a store's directory as a format wrote it. Every later version must open it.
func goldenArchive(format int) string { return fmt.Sprintf("testdata/golden-%d.tar.gz", format) }

// eachFormat runs a test on each format that this version opens.
func eachFormat(t *testing.T, test func(t *testing.T, format int)) {
	for format := layout.FirstFormatVersion; format <= layout.FormatVersion; format++ {
		t.Run(fmt.Sprint("format ", format), func(t *testing.T) { test(t, format) })
	}
}

// TestGoldenStore opens what an earlier version wrote, and finds in it what the model says of the same changes.
func TestGoldenStore(t *testing.T) {
	if *update {
		makeGolden(t)
	}
	eachFormat(t, checkGolden)
}

func checkGolden(t *testing.T, format int) {
	dir := t.TempDir()
	unpack(t, goldenArchive(format), dir)
	clock := &goldenClock{}
	s := openAt(t, dir, Options{Now: clock.now})
	model := memstore.New(memstore.Options{Now: clock.now})
	ids := goldenProgram(t, model, clock)
	checkVersion(t, s, ids[0], format)
	for _, namespace := range []string{"default", "other", "never written"} {
		if found := problems(t, s, namespace, goldenJudge); found != nil {
			t.Errorf("verify found %q in %s", found, namespace)
		}
		if got, want := everything(t, s, namespace, ids, format), everything(t, model, namespace, ids, format); got != want {
			t.Errorf("%s differs: %s", namespace, firstDifference(got, want))
		}
		if got, want := lastMoved(t, s, namespace), lastMoved(t, model, namespace); !slices.Equal(got, want) {
			t.Errorf("last moved in %s are %q, want %q", namespace, got, want)
		}
	}
	checkKeys(t, s, format)
	tables := map[byte]bool{}
	for key, value := range allRows(t, s) {
		table := key[layout.KeyPrefix-1]
		tables[table] = true
		ofTools := table == layout.TableTools || table == layout.TableVariables
		if versioned := bytes.HasPrefix(value, []byte{0, 2}); ofTools && versioned != (format > 1) {
			t.Errorf("a row of table %c is %x", table, value)
		}
		ofAliases := table == layout.TableAliases || table == layout.TableHistory
		if versioned := bytes.HasPrefix(value, []byte{0x12}); ofAliases && versioned != (format > 1) {
			t.Errorf("a row of table %c is %x", table, value)
		}
	}
	if all := "ACDFHIKLNPRSTUVWXYZ"; string(slices.Sorted(maps.Keys(tables))) != all {
		t.Errorf("the tables are %s, want %s", string(slices.Sorted(maps.Keys(tables))), all)
	}
	goldenGoesOn(t, s, model, format)
}

// lastMoved are all names, last moved first.
func lastMoved(tb testing.TB, s chainstore.Store, namespace string) (names []string) {
	tb.Helper()
	page, next, err := s.Aliases(context.Background(), namespace, chainstore.AliasQuery{ByFolder: true, Limit: 100})
	if err != nil || next != nil {
		tb.Fatal(next, err)
	}
	for i := range page {
		names = append(names, page[i].Name)
	}
	return names
}

// checkKeys: a store of format 1 had no keys of page tokens, and has one once it is asked for; the golden store of this format has two.
func checkKeys(t *testing.T, s chainstore.Store, format int) {
	keys, err := s.TokenKeys(context.Background())
	if err != nil || int(keys.Current.Version) != format || int(keys.Previous.Version) != format-1 {
		t.Errorf("the keys of page tokens are %v, %v", keys, err)
	}
	if apart := keys.Current.MadeAt - keys.Previous.MadeAt; format > 1 && apart != chainstore.TokenKeyLife {
		t.Errorf("the keys of page tokens were made %d ms apart", apart)
	}
}

// checkVersion: a node keeps the version of its header, which is that of the format that it was written with.
func checkVersion(t *testing.T, s chainstore.Store, id chainstore.ID, version int) {
	c, err := s.Chain(context.Background(), "default", chainstore.Ref{ID: id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if raw := chainstore.AppendHeader(nil, c.Head()); int(raw[0]) != version || c.Head().Version1 != (version == 1) {
		t.Errorf("a header of version %d, want %d", raw[0], version)
	}
}

// goldenGoesOn: the store takes the same changes again, and further ones, as the model does.
func goldenGoesOn(t *testing.T, s, model chainstore.Store, format int) {
	var ids [2][]chainstore.ID
	for i, store := range []chainstore.Store{s, model} {
		clock := &goldenClock{start: 100 * 24 * time.Hour}
		ids[i] = goldenProgram(t, store, clock)
		next := goldenNode(&ids[i][0], goldenMessage{Role: runloop.User, Text: "and then"})
		ids[i] = append(ids[i], goldenPut(t, store, "default", next)...)
		// Its tables go on from those of the format that it was written in.
		called := goldenNode(&ids[i][6], goldenMessage{Role: runloop.Assistant, Calls: []runloop.Call{{Name: runloop.Some("time")}}})
		ids[i] = append(ids[i], goldenPut(t, store, "default", setting(called, "-model", "plan"))...)
		none := setting(goldenNode(&ids[i][len(ids[i])-1]), "-mood", "-plan")
		ids[i] = append(ids[i], goldenPut(t, store, "default", none)...)
	}
	if !slices.Equal(ids[0], ids[1]) {
		t.Fatal("the same changes gave other ids")
	}
	if got, want := everything(t, s, "default", ids[0], format), everything(t, model, "default", ids[0], format); got != want {
		t.Errorf("it goes on otherwise: %s", firstDifference(got, want))
	}
	if found := problems(t, s, "default", goldenJudge); found != nil {
		t.Errorf("verify found %q later", found)
	}
}

func makeGolden(t *testing.T) {
	dir, clock := t.TempDir(), &goldenClock{}
	s, err := Open(dir, Options{Now: clock.now})
	if err != nil {
		t.Fatal(err)
	}
	goldenProgram(t, s, clock)
	for range 2 {
		clock.passed += chainstore.TokenKeyLife * time.Millisecond
		if _, err := s.TokenKeys(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	pack(t, dir, goldenArchive(layout.FormatVersion))
}

// allRows are the rows of the store.
func allRows(tb testing.TB, s *Store) map[string][]byte {
	tb.Helper()
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		tb.Fatal(err)
	}
	defer v.Close()
	rows := map[string][]byte{}
	err = v.Scan(context.Background(), nil, nil, func(key, value []byte) error {
		rows[string(key)] = bytes.Clone(value)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

// goldenPlace is a chainstore.CallPlace as the golden dump writes it down.
type goldenPlace struct {
	Node     chainstore.ID
	Seq      uint32
	Messages []chainstore.CallMessage
}

func goldenPlaces(places []chainstore.CallPlace) (out []goldenPlace) {
	for _, p := range places {
		out = append(out, goldenPlace{p.Header.ID, p.Header.Seq, p.Messages})
	}
	return out
}

// everything writes down what can be seen of the nodes and aliases of the golden program.
func everything(tb testing.TB, s chainstore.Store, namespace string, ids []chainstore.ID, format int) string {
	tb.Helper()
	var b strings.Builder
	ctx, line := context.Background(), func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, id := range ids {
		ref := chainstore.Ref{ID: id}
		_, err := s.Chain(ctx, namespace, ref, &ids[0])
		line("chain %s: %v", id.Prefix(), err)
		c, err := s.Chain(ctx, namespace, ref, nil)
		if err != nil {
			continue
		}
		line("%x %d", goldenRaw(tb, chainstore.AppendHeader(nil, c.Head()), c.Head().Seq, format), c.Head().Seq)
		err = c.Rows(ctx, []chainstore.Span{{Through: c.Head().Seq}}, func(r *chainstore.Row) error {
			line(" %d %x %x %q", r.Seq, goldenRaw(tb, r.Raw, r.Seq, format), goldenSum(r.Payload), r.Metadata)
			if format > layout.FirstFormatVersion {
				line("  details %x", r.Details)
			}
			return nil
		})
		line(" rows: %v", err)
		tables, err := c.Tables(ctx)
		line(" tables %+v %v", tables, err)
		for _, call := range []runloop.Optional{{}, runloop.Some(""), runloop.Some("c1"), runloop.Some("c2")} {
			places, err := c.Calls(ctx, call, c.Head().Seq, 100)
			line(" calls %+v %v", goldenPlaces(places), err)
		}
		children, err := s.Children(ctx, namespace, ref, nil, 100)
		for _, h := range children {
			line(" child %s", h.ID.Prefix())
		}
		spawned, more, err2 := c.Spawned(ctx, 100)
		for _, h := range spawned {
			line(" spawned %s, more %t", h.ID.Prefix(), more)
		}
		found, err3 := s.Find(ctx, namespace, id.String()[:5], 100)
		_, names, _, err4 := s.ChainNamed(ctx, namespace, chainstore.Ref{ID: id}, 100)
		line(" %v %v %v", found, names, errors.Join(err, err2, err3, err4))
	}
	for _, name := range []string{"chat/a", "chat/b", "chat/gone", "busy", "never"} {
		a, err := s.Alias(ctx, namespace, name)
		line("alias %+v %v", goldenAliasOf(a), goldenError(err))
		if format > layout.FirstFormatVersion {
			line(" %v", revisionOf(a, err))
		}
		states, err := s.AliasHistory(ctx, namespace, name)
		line(" %+v %v", goldenStates(states), err)
	}
	for _, q := range []chainstore.AliasQuery{{Limit: 100}, {Prefix: "chat/", Limit: 100}, {ByFolder: true, Folder: "chat", Limit: 100}} {
		page, next, err := s.Aliases(ctx, namespace, q)
		var shown []goldenAlias
		for i := range page {
			shown = append(shown, *goldenAliasOf(&page[i]))
		}
		line("list %+v %v %v", shown, next, err)
	}
	st, err := s.Stats(ctx, namespace)
	line("%s DiskBytes:0} %v", strings.TrimSuffix(fmt.Sprintf("%+v", st), "}"), err) // as golden 1 has it
	return b.String()
}

// goldenRaw is what a header tells of a node, without its version; of format 1, what headers of version 1 tell of its messages.
func goldenRaw(tb testing.TB, raw chainstore.RawHeader, seq uint32, format int) []byte {
	tb.Helper()
	if format > layout.FirstFormatVersion {
		return raw[1:]
	}
	h, err := raw.Decode(seq)
	if err != nil {
		tb.Fatal(err)
	}
	h.Version1 = true
	for i := range h.Messages {
		h.Messages[i] = h.Messages[i].AsVersion1()
	}
	return chainstore.AppendHeader(nil, h)[1:]
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%.2000s\nwant\n%.2000s", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(a), len(b))
}

func pack(tb testing.TB, dir, archive string) {
	tb.Helper()
	f, err := os.Create(archive)
	if err != nil {
		tb.Fatal(err)
	}
	zip := gzip.NewWriter(f)
	out := tar.NewWriter(zip)
	err = errors.Join(out.AddFS(os.DirFS(dir)), out.Close(), zip.Close(), f.Close())
	if err != nil {
		tb.Fatal(err)
	}
}

func unpack(tb testing.TB, archive, dir string) {
	tb.Helper()
	f, err := os.Open(archive)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	for in := tar.NewReader(zip); ; {
		entry, err := in.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
		if entry.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(in)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(entry.Name)), content, 0o600)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// goldenAlias is an alias as goldens of every format have it: without what was added since.
type goldenAlias struct {
	Name            string
	Node            chainstore.ID
	MovedAt         int64
	Labels          map[string]string
	Full, Effective runloop.Totals
}

func goldenAliasOf(a *chainstore.Alias) *goldenAlias {
	if a == nil {
		return nil
	}
	return &goldenAlias{a.Name, a.Node, a.MovedAt, a.Labels, a.Full, a.Effective}
}

// goldenState is a state as goldens of every format have it: its revision is that of format 1, the number of the state.
type goldenState struct {
	Number  int64
	Deleted bool
	Node    chainstore.ID
	At      int64
}

func goldenStates(states []chainstore.AliasState) []goldenState {
	var out []goldenState
	for _, s := range states {
		out = append(out, goldenState{s.Revision, s.Deleted, s.Node, s.At})
	}
	return out
}

// goldenError is an error as goldens of every format have it.
func goldenError(err error) error {
	if errors.Is(err, chainstore.ErrAliasNotFound) {
		return chainstore.ErrAliasNotFound
	}
	return err
}

// revisionOf is what is told of the revision of an alias, or of its deletion.
func revisionOf(a *chainstore.Alias, err error) string {
	var deleted *chainstore.DeletedError
	switch {
	case err == nil:
		return fmt.Sprint("revision ", a.Revision)
	case errors.As(err, &deleted):
		return fmt.Sprintf("deleted %+v", *deleted)
	default:
		return "never set"
	}
}
