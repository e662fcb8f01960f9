package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/archive"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server/internal/backup"
)

// cutPoint is a place where an archive can go on.
type cutPoint struct {
	cursor []byte
	digest archive.Digest
}

// points are those of an archive.
func points(t *testing.T, file []byte) (all []cutPoint) {
	t.Helper()
	r, err := archive.NewReader(bytes.NewReader(file))
	for err == nil {
		var record *transcriptv1.ArchiveRecord
		if record, err = r.Next(); err == nil && record.GetPoint() != nil {
			all = append(all, cutPoint{record.GetPoint().GetCursor(), r.Digest()})
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return all
}

// chained reads archives as one.
func chained(t *testing.T, files ...[]byte) *saved {
	t.Helper()
	var readers []archive.File
	for i, f := range files {
		r, err := archive.NewReader(bytes.NewReader(f))
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, archive.File{Name: fmt.Sprint("file ", i), Reader: r})
	}
	c, err := archive.NewChain(readers...)
	if err != nil {
		t.Fatal(err)
	}
	s := &saved{nodes: map[string]*transcriptv1.ArchiveRecord{}, aliases: map[string]*transcriptv1.ArchiveRecord{}}
	namespace := ""
	for {
		record, n, err := c.Next()
		switch {
		case errors.Is(err, io.EOF):
			last := readers[len(readers)-1]
			s.end, s.digest = last.Ended(), last.Digest()
			return s
		case err != nil:
			t.Fatal(err)
		case n != nil:
			s.nodes[fmt.Sprintf("%s %x", namespace, n.ID)] = record
		case record.GetAlias() != nil:
			s.aliases[namespace+" "+record.GetAlias().GetName()] = record
		case record.GetNamespace() != nil:
			namespace = record.GetNamespace().GetName()
		}
	}
}

func writeTo(t *testing.T, b *backup.Backup) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, _, err := b.Write(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (s *saved) same(t *testing.T, what string, want *saved) {
	t.Helper()
	for kind, pair := range map[string][2]map[string]*transcriptv1.ArchiveRecord{"nodes": {s.nodes, want.nodes}, "aliases": {s.aliases, want.aliases}} {
		if got, want := slices.Sorted(maps.Keys(pair[0])), slices.Sorted(maps.Keys(pair[1])); !slices.Equal(got, want) {
			t.Fatalf("%s: %d %s, want %d", what, len(got), kind, len(want))
		}
		for key, record := range pair[0] {
			if !proto.Equal(record, pair[1][key]) {
				t.Errorf("%s: %s differs", what, key)
			}
		}
	}
}

// TestCut: from each point of an archive another one goes on, after others have written; both together have what a full one has, and what
// changed since goes on from them.
func TestCut(t *testing.T) {
	for name, store := range engines(t) {
		t.Run(name, func(t *testing.T) {
			rpc := transcriptv1.NewTranscriptServiceClient(testserver.Start(t, store))
			for round := range 3 {
				write(t, rpc, round)
			}
			slow := onePage{store}
			cut := writeTo(t, &backup.Backup{Store: slow, PointBytes: 1})
			all := points(t, cut)
			if len(all) < 10 {
				t.Fatalf("%d points: nothing is shown", len(all))
			}
			for i, p := range all {
				rest := writeTo(t, &backup.Backup{Store: slow, Continue: p.cursor, ContinueDigest: p.digest, PointBytes: 1})
				whole := chained(t, cut, rest)
				whole.same(t, fmt.Sprint("point ", i), take(t, &backup.Backup{Store: store}))
				if again := points(t, rest); len(again) > 0 { // a rest that is cut, too
					third := writeTo(t, &backup.Backup{Store: slow, Continue: again[0].cursor, ContinueDigest: again[0].digest})
					chained(t, cut, rest, third).same(t, fmt.Sprint("twice, point ", i), whole)
				}
				if i%5 == 0 {
					write(t, rpc, i%7)
					since := writeTo(t, &backup.Backup{Store: store, Since: whole.end.GetCursor(), SinceDigest: whole.digest})
					chained(t, cut, rest, since).same(t, fmt.Sprint("and since, point ", i), take(t, &backup.Backup{Store: store}))
				}
			}
		})
	}
}

// onePage reads few nodes at a time.
type onePage struct{ chainstore.Store }

func (s onePage) ExportNodes(
	ctx context.Context, namespace string, span chainstore.ExportSpan, cursor []byte, _ int,
) ([]chainstore.ExportedNode, []byte, error) {
	return s.Store.ExportNodes(ctx, namespace, span, cursor, 5000)
}

// TestCutOverARestart: a store that was opened again goes on, and so does what changed since an archive that was cut.
func TestCutOverARestart(t *testing.T) {
	dir := t.TempDir()
	open := func() chainstore.Store {
		s, err := badgerstore.Open(dir, badgerstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	store := open()
	write(t, transcriptv1.NewTranscriptServiceClient(testserver.Start(t, store)), 0)
	first := writeTo(t, &backup.Backup{Store: store})
	before := chained(t, first)
	write(t, transcriptv1.NewTranscriptServiceClient(testserver.Start(t, store)), 1)
	cut := writeTo(t, &backup.Backup{Store: onePage{store}, Since: before.end.GetCursor(), SinceDigest: before.digest, PointBytes: 1})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store = open()
	defer func() { _ = store.Close() }()
	p := points(t, cut)[3]
	rest := writeTo(t, &backup.Backup{Store: store, Continue: p.cursor, ContinueDigest: p.digest})
	chained(t, first, cut, rest).same(t, "after a restart", take(t, &backup.Backup{Store: store}))
}

// TestBadCursors: what is no cursor of the store and scope is refused, whatever it is.
func TestBadCursors(t *testing.T) {
	for name, store := range engines(t) {
		t.Run(name, func(t *testing.T) {
			write(t, transcriptv1.NewTranscriptServiceClient(testserver.Start(t, store)), 0)
			file := writeTo(t, &backup.Backup{Store: onePage{store}, PointBytes: 1})
			end, point := chained(t, file).end.GetCursor(), points(t, file)[2].cursor
			later := bytes.Clone(end)
			later = append(later[:len(later)-1], 0xff, 0xff, 0x7f)
			for what, b := range map[string]*backup.Backup{
				"another scope": {Since: end, Scope: "other"}, "a point as since": {Since: point}, "an end as continue": {Continue: end},
				"nothing": {Since: []byte{0}}, "a later state": {Since: later}, "another scope of a point": {Continue: point, Scope: "other"},
			} {
				b.Store = store
				if _, _, err := b.Write(t.Context(), io.Discard); !errors.Is(err, canonical.ErrInvalid) {
					t.Errorf("%s: %v", what, err)
				}
			}
			for _, good := range [][]byte{end, point} {
				for i := range len(good) * 9 {
					bad := bytes.Clone(good)
					if i < len(good) {
						bad = bad[:i]
					} else {
						bad[i%len(good)] ^= 1 << (i / len(good) % 8)
					}
					for _, b := range []*backup.Backup{{Store: store, Since: bad}, {Store: store, Continue: bad}} {
						if len(bad) == 0 {
							continue
						}
						if _, _, err := b.Write(t.Context(), io.Discard); err != nil && !errors.Is(err, canonical.ErrInvalid) {
							t.Errorf("%x: %v", bad, err)
						}
					}
				}
			}
		})
	}
}
