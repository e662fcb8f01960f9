package identity

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Times of a directory: a change of its file counts within lookEvery, what cannot be used is waited for as long as patience.
// lookEvery + patience is the longest that a file counts which is not there any more. What the file said counts for stuckAfter at most where
// looking does not come to an end, as on a file system that hangs.
const (
	lookEvery  = 250 * time.Millisecond
	patience   = time.Second
	stuckAfter = 10 * time.Second
)

// Options of a directory. The zero value is good for use.
type Options struct {
	// Log is told of each change of the file, and when it cannot be used; nil: nobody is. It never has a secret.
	Log *slog.Logger
	// Now is the time by which tokens and certificates expire; nil: time.Now.
	Now func() time.Time
}

// Directory is an Authenticator by a file of principals. It looks at the file every 250 ms. While the file cannot be used, what it said
// before counts for another second; then nobody is known, until it can be used again: a revocation that cannot be read is not passed over.
// So it is with a file of keys that the file names.
type Directory struct {
	log *slog.Logger
	now func() time.Time
	// table is what counts; nil: nobody can be told apart.
	table atomic.Pointer[table]
	// looked is when the files were looked at last, since the start; stuck says that the log was told that this was too long ago.
	start  time.Time
	looked atomic.Int64
	stuck  atomic.Bool

	// The goroutine that looks has these alone. file is the text of principals as it was read last, keys the file of keys that it names and
	// remote the keys of the URL that it names; nil: none. taken says that the table is of what was read last, badSince is when the files could
	// first not be used, zero while they can be.
	file     watched
	parsed   *File // nil: the text is no file of principals
	taken    bool
	keys     *watched
	remote   *remoteKeys
	badSince time.Time

	stop  context.CancelFunc
	ended chan struct{}
}

// Open reads a file of principals, and looks at it until Close. A file that cannot be used now is an ErrFile. Keys at a URL that cannot be got
// now are none: until they are, tokens that they verify are refused with ErrUnavailable.
func Open(path string, o Options) (*Directory, error) {
	d := &Directory{file: watched{path: path, mode: private}, log: o.Log, now: o.Now, start: time.Now(), ended: make(chan struct{})}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.now == nil {
		d.now = time.Now
	}
	if err := d.read(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	if d.remote != nil {
		<-d.remote.tried
	}
	d.looked.Store(int64(time.Since(d.start)))
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	go d.watch(ctx)
	return d, nil
}

// Close ends looking at the file. What counts then, counts on.
func (d *Directory) Close() error {
	d.stop()
	<-d.ended
	return nil
}

// Authenticate names who shows credentials, as Authenticator says.
func (d *Directory) Authenticate(c Credentials) (*Principal, error) {
	t := d.table.Load()
	if t == nil || d.isStuck() {
		return nil, ErrUnavailable
	}
	who, err := t.whose(c, d.now())
	if err != nil && d.log.Enabled(context.Background(), slog.LevelDebug) {
		d.log.Debug("credentials are refused", "why", err)
	}
	return who, err
}

// isStuck tells whether looking at the files takes so long that what they said may not be true any more.
func (d *Directory) isStuck() bool {
	if int64(time.Since(d.start))-d.looked.Load() < int64(stuckAfter) {
		return false
	}
	if d.stuck.CompareAndSwap(false, true) {
		go d.log.Error("looking at the file of principals does not come to an end; every caller is refused until it does", "file", d.file.path)
	}
	return true
}

// watch looks at the files until ctx ends.
func (d *Directory) watch(ctx context.Context) {
	defer close(d.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			d.looked.Store(math.MaxInt64)
			if d.remote != nil {
				d.remote.close()
			}
			return
		case <-tick.C:
			d.look()
			d.looked.Store(int64(time.Since(d.start)))
			d.stuck.Store(false)
		}
	}
}

// look takes up the files where they changed, and gives up what they said where they cannot be used for too long.
func (d *Directory) look() {
	err := d.read()
	switch {
	case err == nil:
		d.badSince = time.Time{}
	case d.badSince.IsZero():
		d.badSince = time.Now()
	case time.Since(d.badSince) >= patience && d.table.Load() != nil:
		d.table.Store(nil)
		d.log.Error("the file of principals cannot be used; every caller is refused until it can", "error", err)
	}
}

// read makes a table of the files, unless they are as they were. An error leaves the table as it was.
func (d *Directory) read() error {
	changed, err := d.file.read()
	if err != nil {
		return err
	}
	if changed || d.parsed == nil {
		d.taken, d.parsed = false, nil
		f, _, err := parse(d.file.text)
		if err != nil {
			return fmt.Errorf("%s: %w", d.file.path, err)
		}
		d.parsed = f
	}
	if err := d.readKeys(); err != nil {
		return err
	}
	if d.taken && d.table.Load() != nil {
		return nil
	}
	return d.take()
}

// readKeys reads the file of keys that the file of principals names, if any.
func (d *Directory) readKeys() error {
	if d.parsed.JWT == nil || d.parsed.JWT.JWKSFile == "" {
		d.keys = nil
		return nil
	}
	path := d.parsed.JWT.JWKSFile
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(d.file.path), path)
	}
	if d.keys == nil || d.keys.path != path {
		d.keys = &watched{path: path, mode: writable}
	}
	changed, err := d.keys.read()
	if changed {
		d.taken = false
	}
	if err != nil {
		return fmt.Errorf("jwt.jwks_file: %w", err)
	}
	return nil
}

// take makes the table of what was read the one that counts.
func (d *Directory) take() error {
	t, err := d.parsed.table()
	if err != nil {
		return fmt.Errorf("%s: %w", d.file.path, err)
	}
	if d.keys != nil {
		set, err := parseKeys(d.keys.text)
		if err != nil {
			return fmt.Errorf("%s: %w", d.keys.path, err)
		}
		t.jwt.keys = keysOfFile{set}
	}
	d.followURL()
	if d.remote != nil {
		t.jwt.keys = d.remote
	}
	d.table.Store(t)
	d.taken = true
	d.log.Info("the file of principals was read", "principals", len(t.principals), "tokens", len(t.tokens))
	return nil
}

// followURL makes remote the keys of the URL that the file names.
func (d *Directory) followURL() {
	url := ""
	if d.parsed.JWT != nil {
		url = d.parsed.JWT.JWKSURL
	}
	if d.remote != nil && d.remote.url != url {
		d.remote.close()
		d.remote = nil
	}
	if d.remote == nil && url != "" {
		d.remote = newRemoteKeys(url, d.log)
		d.remote.start()
	}
}
