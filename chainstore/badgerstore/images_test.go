package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

var fileImages = flag.Int("images.files", 100, "badgerstore: how many images of its files TestUnsyncedPages opens")

const (
	imagesOfAStore  = 200 // then another store is begun, so that images stay small
	imagesOfACommit = 3
	pageBytes       = 4 << 10
)

// imageOptions make logs so small that they are full, and written as tables, two or three times in a store's images.
var imageOptions = Options{MemtableBytes: 256 << 10, CacheBytes: 2 << 20}

// TestUnsyncedPages opens what a power loss may leave of a store's files while a commit is being synced. Whatever was
// acknowledged is there, the commit under way is there whole or not at all, and Verify finds nothing.
//
// An image is made of the files as they were synced before the commit and as they are after it: each page of the log that
// the commit wrote is there or not, in any order; a new log is there or not; a log that was dropped is gone or still
// there; tables and MANIFEST are as they are on disk, and a table that MANIFEST names has its name (decision 0042).
func TestUnsyncedPages(t *testing.T) {
	if testing.Short() {
		t.Skip("opens hundreds of stores")
	}
	var seen imageCounts
	for made := 0; made < *fileImages; made += imagesOfAStore {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			imagesOfOneStore(t, rand.New(rand.NewPCG(seed, 0)), min(imagesOfAStore, *fileImages-made), &seen)
		})
	}
	t.Logf("%+v", seen)
	if seen.with == 0 || seen.without == 0 || seen.torn == 0 || seen.newLog == 0 || seen.droppedLog == 0 {
		t.Errorf("the images show nothing: %+v", seen)
	}
}

// imageCounts counts images: of a store that has the commit under way and of one that has not; with a part of what it wrote;
// with a new log; with a log that was dropped.
type imageCounts struct{ with, without, torn, newLog, droppedLog int }

func imagesOfOneStore(t *testing.T, r *rand.Rand, images int, seen *imageCounts) {
	dir := t.TempDir()
	w := &imageWriter{r: r, heads: map[string]chainstore.ID{}, synced: files{}}
	o := imageOptions
	if r.IntN(2) == 0 {
		o.EncryptionKey, o.DataKeyRotation = testKey(1), time.Nanosecond
	}
	reopen := o
	o.syncLog = w.sync
	w.store = openAt(t, dir, o)
	w.commit(t)
	was, before := maps.Clone(w.heads), w.durable(copyFiles(t, dir))
	for ; images > 0; images -= imagesOfACommit {
		w.commit(t)
		after := copyFiles(t, dir)
		made := make([]*image, min(images, imagesOfACommit))
		for i := range made {
			made[i] = powerLoss(r, before, after)
		}
		openImages(t, reopen, made)
		for _, m := range made {
			m.judge(t, was, w.heads, seen)
		}
		was, before = maps.Clone(w.heads), w.durable(after)
	}
}

// imageWriter commits changes to a few chats, one after the other.
type imageWriter struct {
	r     *rand.Rand
	store *Store
	heads map[string]chainstore.ID
	// synced are the logs as they were when they were last synced.
	synced files
}

func (w *imageWriter) sync(log *os.File) (err error) {
	w.synced[filepath.Base(log.Name())], err = os.ReadFile(log.Name())
	return err
}

// durable is what of the files between two commits is synced: of logs, what the store has synced, where that is the store's to do.
func (w *imageWriter) durable(all files) files {
	durable := maps.Clone(all)
	for name, content := range w.synced {
		if _, there := all[name]; there {
			durable[name] = content
		}
	}
	return durable
}

// commit appends one to eight nodes to a chat, in one transaction of one to ten pages.
func (w *imageWriter) commit(t *testing.T) {
	t.Helper()
	alias := fmt.Sprintf("chat/%d", w.r.IntN(5))
	change := &chainstore.Change{Aliases: []chainstore.AliasChange{{Name: alias}}}
	for i := range 1 + w.r.IntN(8) {
		n := node(nil, w.text())
		if head, ok := w.heads[alias]; i == 0 && ok {
			n = node(&head, w.text())
		} else if i > 0 {
			n.Parent = chainstore.Parent{Kind: chainstore.ParentPrevious}
		}
		change.Nodes = append(change.Nodes, n)
	}
	change.Aliases[0].Target.Node = len(change.Nodes) - 1
	out, err := w.store.Commit(context.Background(), testNamespace, change)
	if err != nil {
		t.Fatal(err)
	}
	w.heads[alias] = out.Nodes[len(out.Nodes)-1].ID
}

func (w *imageWriter) text() string {
	b := make([]byte, 100+w.r.IntN(4_000))
	for i := range b {
		b[i] = byte('a' + w.r.IntN(26))
	}
	return string(b)
}

// files are those of a store, by name.
type files map[string][]byte

// copyFiles takes a copy between two commits. Meanwhile the engine may write tables and drop logs, so it is taken until
// two in a row are the same, and no log is half dropped, without content and still with its name.
func copyFiles(t *testing.T, dir string) (copied files) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		again, err := readFiles(dir)
		switch {
		case err == nil && maps.EqualFunc(copied, again, bytes.Equal):
			return again
		case err != nil && !errors.Is(err, os.ErrNotExist), time.Now().After(deadline):
			t.Fatalf("the files do not stand still: %v", err)
		}
		copied = again
	}
}

func readFiles(dir string) (files, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	read := files{}
	for _, e := range entries {
		if e.Name() == "LOCK" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil && isLog(e.Name()) && len(content) == 0 {
			err = fmt.Errorf("%s is being dropped: %w", e.Name(), os.ErrNotExist)
		}
		if err != nil {
			return nil, err
		}
		read[e.Name()] = content
	}
	return read, nil
}

// image is what a power loss may leave while a commit is being synced.
type image struct {
	files              files
	newLog, droppedLog bool
	// written and kept count the pages of logs that the commit wrote and those of them that are in the image.
	written, kept int
	// heads are where the aliases of the store in the image point.
	heads map[string]chainstore.ID
}

// powerLoss makes an image of the files as they were synced before a commit and as they are after it.
func powerLoss(r *rand.Rand, before, after files) *image {
	i, tables := &image{files: files{}}, after
	if r.IntN(2) == 0 {
		tables = before
	}
	for name, content := range tables {
		if !isLog(name) {
			i.files[name] = content
		}
	}
	i.files[keyRegistry] = after[keyRegistry] // each key is synced before it is used
	keep := []float64{0.1, 0.5, 0.9, 1}[r.IntN(4)]
	for name, content := range after {
		old, there := before[name]
		switch {
		case !isLog(name):
		case there:
			i.files[name] = i.mix(r, keep, old, content)
		default:
			i.newLog = true
			if mixed := i.mix(r, keep, nil, content); i.kept > 0 || r.IntN(2) == 0 {
				i.files[name] = mixed
			}
		}
	}
	for name, content := range before {
		// A log is dropped once MANIFEST has its table.
		if _, there := after[name]; isLog(name) && !there && (r.IntN(2) == 0 || bytes.Equal(tables["MANIFEST"], before["MANIFEST"])) {
			i.files[name], i.droppedLog = content, true
		}
	}
	return i
}

const keyRegistry = "KEYREGISTRY"

func isLog(name string) bool { return strings.HasSuffix(name, ".mem") }

// mix takes each page that was written in between as it was or as it is.
func (i *image) mix(r *rand.Rand, keep float64, old, written []byte) []byte {
	mixed := bytes.Clone(written)
	for at := 0; at < len(written); at += pageBytes {
		end := min(at+pageBytes, len(written))
		was := make([]byte, end-at)
		if at < len(old) {
			copy(was, old[at:])
		}
		if bytes.Equal(was, written[at:end]) {
			continue
		}
		i.written++
		if r.Float64() < keep {
			i.kept++
		} else {
			copy(mixed[at:end], was)
		}
	}
	return mixed
}

// openImages opens a store from each image and verifies it.
func openImages(t *testing.T, o Options, images []*image) {
	t.Run("images", func(t *testing.T) {
		for _, i := range images {
			t.Run("image", func(t *testing.T) {
				t.Parallel()
				i.open(t, o)
			})
		}
	})
}

func (i *image) open(t *testing.T, o Options) {
	dir := t.TempDir()
	for name, content := range i.files {
		if err := writeSparse(filepath.Join(dir, name), content); err != nil {
			t.Fatal(err)
		}
	}
	s := openAt(t, dir, o)
	mustBeClean(t, s)
	aliases, _, err := s.Aliases(context.Background(), testNamespace, chainstore.AliasQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	i.files, i.heads = nil, map[string]chainstore.ID{}
	for _, a := range aliases {
		i.heads[a.Name] = a.Node
	}
}

// writeSparse leaves the zeros at the end of a log out.
func writeSparse(path string, content []byte) error {
	if err := os.WriteFile(path, bytes.TrimRight(content, "\x00"), 0o600); err != nil {
		return err
	}
	return os.Truncate(path, int64(len(content)))
}

// judge finds the aliases as they were before the commit or, all of them, as they are after it.
func (i *image) judge(t *testing.T, was, is map[string]chainstore.ID, seen *imageCounts) {
	t.Helper()
	switch {
	case maps.Equal(i.heads, is):
		seen.with++
	case i.kept < i.written && maps.Equal(i.heads, was):
		seen.without++
	default:
		t.Fatalf("with %d of %d pages aliases point to %v; before the commit to %v, after it to %v", i.kept, i.written, i.heads, was, is)
	}
	if i.kept > 0 && i.kept < i.written {
		seen.torn++
	}
	if i.newLog {
		seen.newLog++
	}
	if i.droppedLog {
		seen.droppedLog++
	}
}
