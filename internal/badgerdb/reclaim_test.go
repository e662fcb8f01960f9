package badgerdb

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/badgerdb/canary"
)

// tableBytesOf is what the tables take.
func tableBytesOf(d *committer) (bytes int64) {
	for _, l := range d.Levels() {
		bytes += l.Size
	}
	return bytes
}

// deleteRows deletes all rows but each so many.
func (d *committer) deleteRows(t testing.TB, but int) {
	t.Helper()
	for from := 0; from < testRows; from += 50 {
		fatal(t, d.write(func(b *Batch) (err error) {
			for n := from; n < from+50; n++ {
				if n%but != 0 {
					err = errors.Join(err, b.Delete(rowKey(n)))
				}
			}
			return err
		}))
	}
}

// fresh is what the tables take of a store that has never had anything but each so many of the rows.
func fresh(t testing.TB, every int) int64 {
	t.Helper()
	d := openCommitter(t, t.TempDir(), levelled())
	defer d.Close()
	for n := 0; n < testRows; n += every {
		fatal(t, d.write(func(b *Batch) error { return b.Set(rowKey(n), rowValue(n, 1)) }))
	}
	d.turn(t)
	fatal(t, d.Reclaim(t.Context()))
	return tableBytesOf(d)
}

// deadShare is which part of the bytes of all keys and values in tables is dead, but for the rows that Turn writes, which take nothing on disk.
func deadShare(t testing.TB, d *committer) float64 {
	t.Helper()
	type version struct {
		of      uint64
		deleted bool
	}
	newest := map[string]version{}
	dir, key := d.Opts().Dir, d.Opts().EncryptionKey
	each := func(f func(e canary.Entry, bytes int)) {
		t.Helper()
		fatal(t, canary.Entries(dir, key, func(e canary.Entry) error {
			if strings.HasSuffix(e.File, tableSuffix) && !e.Expired {
				f(e, len(e.Key)+len(e.Value)+15)
			}
			return nil
		}))
	}
	each(func(e canary.Entry, _ int) {
		if v := newest[string(e.Key)]; e.Version >= v.of {
			newest[string(e.Key)] = version{e.Version, e.Deleted}
		}
	})
	all, dead := 0, 0
	each(func(e canary.Entry, bytes int) {
		all += bytes
		if v := newest[string(e.Key)]; v.deleted || e.Version != v.of {
			dead += bytes
		}
	})
	return float64(dead) / float64(all)
}

// mustTell holds what the gauge tells of the tables against all that is in them.
func (d *committer) mustTell(t *testing.T) Space {
	t.Helper()
	untilQuiet(t, d.DB)
	s, err := d.Space(t.Context(), DefaultSpaceSamples)
	fatal(t, err)
	told, is := float64(s.Dead)/float64(s.Tables), deadShare(t, d)
	t.Logf("dead: told %.3f, is %.3f", told, is)
	if told < is-.05 || told > is+.05 {
		t.Errorf("dead: told %.3f, is %.3f", told, is)
	}
	return s
}

// What was deleted or written over gives its space back, in a store with several levels, to what one takes that has never had it; and the gauge
// tells before how much.
func TestReclaim(t *testing.T) {
	encrypted := levelled()
	encrypted.EncryptionKey = testKey(1)
	for name, o := range map[string]Options{"plain": levelled(), "encrypted": encrypted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openCommitter(t, t.TempDir(), o)
			defer d.Close()
			d.fillRows(t, 4)
			d.turn(t)
			d.mustTell(t)
			d.deleteRows(t, 3)
			d.turn(t)
			if s := d.mustTell(t); s.Dead < s.Tables/2 {
				t.Errorf("%d of %d are dead", s.Dead, s.Tables)
			}
			levels := 0
			for _, l := range d.Levels() {
				if l.NumTables > 0 {
					levels++
				}
			}
			if levels < 3 {
				t.Errorf("%d levels: it shows little", levels)
			}
			before := tableBytesOf(d)
			fatal(t, d.Reclaim(t.Context()))
			after, want := tableBytesOf(d), fresh(t, 3)
			t.Logf("%d bytes in %d levels, then %d; fresh %d", before, levels, after, want)
			if after > want+want/10 {
				t.Errorf("%d bytes of %d are left; a fresh store takes %d", after, before, want)
			}
			if s := d.mustTell(t); s.Dead > s.Tables/50 {
				t.Errorf("%d of %d are dead behind it", s.Dead, s.Tables)
			}
			s := d.Snapshot(d.last)
			defer s.Close()
			for n := range testRows {
				if found, err := s.Get(rowKey(n), func([]byte) error { return nil }); err != nil || found != (n%3 == 0) {
					t.Fatalf("row %d: found %v, %v", n, found, err)
				}
			}
		})
	}
}

// It ends while others write as fast as they can, and has given back what was dead when it began.
func TestReclaimBeside(t *testing.T) {
	d := openCommitter(t, t.TempDir(), levelled())
	defer d.Close()
	d.fillRows(t, 3)
	d.deleteRows(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	beside.Go(func() { d.writeOthers(ctx, t) })
	d.turn(t)
	fatal(t, d.Reclaim(t.Context()))
	cancel()
	beside.Wait()
	dead := 0
	fatal(t, canary.Entries(d.Opts().Dir, nil, func(e canary.Entry) error {
		if n := len("row"); len(e.Key) == n+4 && string(e.Key[:n]) == "row" && len(e.Value) == testValue && (int(e.Key[n+2])<<8+int(e.Key[n+3]))%3 != 0 {
			dead++
		}
		return nil
	}))
	if dead > testRows/20 {
		t.Errorf("%d deleted rows are left", dead)
	}
}

// The context, and closing, end it between two steps, and what was merged stays.
func TestReclaimStops(t *testing.T) {
	dir := t.TempDir()
	d := openCommitter(t, dir, levelled())
	d.fillRows(t, 3)
	d.turn(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Reclaim(ctx) }()
	waitUntil(t, func() bool { return d.explicit.running.Load() })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended: %v", err)
	}
	go func() { ended <- d.Reclaim(t.Context()) }()
	waitUntil(t, func() bool { return d.explicit.running.Load() })
	fatal(t, d.Close())
	if err := <-ended; err != nil && !errors.Is(err, chainstore.ErrClosed) {
		t.Errorf("the database was closed: %v", err)
	}
	d = openCommitter(t, dir, levelled())
	defer d.Close()
	s := d.Snapshot(d.last)
	defer s.Close()
	for n := range testRows {
		if found, err := s.Get(rowKey(n), func([]byte) error { return nil }); err != nil || !found {
			t.Fatalf("row %d: found %v, %v", n, found, err)
		}
	}
}

// Neither begins where the disk does not have what merges take, and both tell so, nor where the process has few descriptors left, nor in a store
// that is to be read alone.
func TestMergesNeedRoom(t *testing.T) {
	free := diskSpace{bytes: 1 << 40, inodes: 1 << 30}
	var mu sync.Mutex
	o := levelled()
	o.lookAtDisk = func(string) (diskSpace, error) {
		mu.Lock()
		defer mu.Unlock()
		return free, nil
	}
	dir := t.TempDir()
	d := openCommitter(t, dir, o)
	d.fillRows(t, 1)
	log := d.turn(t)
	tables := len(d.Tables())
	mu.Lock()
	free.bytes = tableBytesOf(d) / 2
	mu.Unlock()
	for name, err := range map[string]error{
		"reclaim": d.Reclaim(t.Context()),
		"drop":    d.DropVersions(t.Context(), log, d.last, []byte("row")),
	} {
		if !errors.Is(err, chainstore.ErrDiskFull) || len(d.Tables()) != tables {
			t.Errorf("%s on a full disk: %v", name, err)
		}
	}
	last := d.last
	if _, err := d.Turn([]byte("turn"), d.write); !errors.Is(err, chainstore.ErrDiskFull) || d.last != last {
		t.Errorf("turn on a full disk: %v", err)
	}
	mu.Lock()
	free.bytes = 1 << 40
	mu.Unlock()
	measure := d.handles.descriptors.measure
	d.handles.descriptors.tally = newTally(func() (Usage, bool) { return Usage{Used: 990, Limit: 1000}, true }, 0)
	if err := d.Reclaim(t.Context()); !errors.Is(err, chainstore.ErrTooManyFiles) {
		t.Errorf("without descriptors: %v", err)
	}
	d.handles.descriptors.tally = newTally(measure, 0)
	fatal(t, d.Close())
	r, err := OpenReadOnly(dir, o)
	fatal(t, err)
	defer r.Close()
	if err := errors.Join(r.Reclaim(t.Context())); !errors.Is(err, errReadOnly) {
		t.Errorf("read alone: %v", err)
	}
	if err := r.DropVersions(t.Context(), log, 1, []byte("row")); !errors.Is(err, errReadOnly) {
		t.Errorf("read alone: %v", err)
	}
	if s, err := r.Space(t.Context(), 100); err != nil || s.Tables == 0 {
		t.Errorf("read alone, the gauge tells %v, %v", s, err)
	}
}

// While a merge that was asked for is under way, the brink is watched.
func TestBrinkWatchesWhatWasAsked(t *testing.T) {
	d := openCommitter(t, t.TempDir(), smallStore())
	defer d.Close()
	b := newBrink(d.DB.DB, &d.options, d.explicit.running.Load)
	if b.merges() {
		t.Error("it merges")
	}
	_, end, err := d.explicit.begin(t.Context())
	fatal(t, err)
	if !b.merges() {
		t.Error("nobody tells the brink of a merge")
	}
	end()
	if b.merges() {
		t.Error("it still merges")
	}
}

// A step of a level of which Badger has merged the last table meanwhile ends, and does not wait for another one.
func TestReclaimOfNothing(t *testing.T) {
	d := openCommitter(t, t.TempDir(), levelled())
	defer d.Close()
	for level := range d.Opts().MaxLevels - 1 {
		if err := d.private.mergeNext(level); err == nil || !isTaken(err) {
			t.Errorf("level %d: %v", level, err)
		}
		fatal(t, d.mergeStep(t.Context(), level))
	}
}
