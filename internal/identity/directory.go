package identity

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Times of a directory: a change of its file counts within lookEvery, what cannot be used is waited for as long as patience.
// lookEvery + patience is the longest that a file counts which is not there any more.
const (
	lookEvery = 250 * time.Millisecond
	patience  = time.Second
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
type Directory struct {
	path string
	log  *slog.Logger
	now  func() time.Time
	// table is what counts; nil: nobody can be told apart.
	table atomic.Pointer[table]
	// seen, when and text are the file as it was last read; badSince is when it could first not be used, zero while it can be.
	// Only the goroutine that looks has them.
	seen     os.FileInfo
	when     time.Time
	text     []byte
	badSince time.Time

	stop  context.CancelFunc
	ended chan struct{}
}

// Open reads a file of principals, and looks at it until Close. A file that cannot be used now is an ErrFile.
func Open(path string, o Options) (*Directory, error) {
	d := &Directory{path: path, log: o.Log, now: o.Now, ended: make(chan struct{})}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	if d.now == nil {
		d.now = time.Now
	}
	if err := d.read(); err != nil {
		return nil, err
	}
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
	if t == nil {
		return nil, ErrUnavailable
	}
	var who *Principal
	switch {
	case len(c.Authorization) == 1:
		if token, ok := bearer(c.Authorization[0]); ok {
			who = t.byToken(token, d.now())
		}
	case len(c.Authorization) == 0 && c.Certificate != nil:
		who = t.byCertificate(c.Certificate, d.now())
	}
	if who == nil {
		return nil, ErrUnauthenticated
	}
	return who, nil
}

// bearer is the token of a header "Bearer TOKEN".
func bearer(header string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(header, " ")
	return token, ok && strings.EqualFold(scheme, "bearer")
}

// watch looks at the file until ctx ends.
func (d *Directory) watch(ctx context.Context) {
	defer close(d.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.look()
		}
	}
}

// look takes up the file where it changed, and gives up what it said where it cannot be used for too long.
func (d *Directory) look() {
	err := d.read()
	switch {
	case err == nil && !d.badSince.IsZero():
		if d.table.Load() == nil {
			d.log.Info("the file of principals can be used again")
		}
		d.badSince = time.Time{}
	case err == nil:
	case d.badSince.IsZero():
		d.badSince = time.Now()
	case time.Since(d.badSince) >= patience && d.table.Load() != nil:
		d.table.Store(nil)
		d.log.Error("the file of principals cannot be used; every caller is refused until it can", "error", err)
	}
}

// read makes a table of the file, unless it is as it was. An error leaves all as it was.
func (d *Directory) read() error {
	if d.unchanged() {
		return nil
	}
	text, info, err := readFile(d.path, private)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	if d.table.Load() == nil || !bytes.Equal(text, d.text) {
		if err := d.take(text); err != nil {
			return err
		}
	}
	d.seen, d.when, d.text = info, time.Now(), text
	return nil
}

func (d *Directory) take(text []byte) error {
	_, t, err := parse(text)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrFile, d.path, err)
	}
	d.table.Store(t)
	d.log.Info("the file of principals was read", "principals", len(t.principals), "tokens", len(t.tokens))
	return nil
}

// unchanged tells whether the file is the one that was read, and was not written to since. One written to just before it was read
// could have been written to again within the same tick of the file system's clock, and counts as changed.
func (d *Directory) unchanged() bool {
	const tick = 2 * time.Second
	if d.seen == nil || !d.badSince.IsZero() || d.table.Load() == nil {
		return false
	}
	info, err := os.Stat(d.path)
	return err == nil && os.SameFile(info, d.seen) && info.ModTime().Equal(d.seen.ModTime()) && info.Size() == d.seen.Size() &&
		info.Mode() == d.seen.Mode() && info.ModTime().Before(d.when.Add(-tick))
}
