// Package hold lets those who read in several calls keep a collection from deleting between them.
package hold

import (
	"context"
	"sync"
	"time"
)

// Interval is how often who waits to delete is told so.
const Interval = time.Second

// Gate is held by any number of readers at once, or passed by one who deletes. The zero Gate is open.
type Gate struct {
	mu sync.Mutex
	// holds counts the readers; deleting says that somebody deletes.
	holds    int
	deleting bool
	// changed is closed when either changes; nil while nobody waits.
	changed chan struct{}
}

// Hold waits until nobody deletes, and keeps it so until release is called, of which only the first call counts.
func (g *Gate) Hold(ctx context.Context) (release func(), err error) {
	free := func() bool { return !g.deleting }
	if err := g.await(ctx, nil, free, func() { g.holds++ }); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { g.change(func() { g.holds-- }) }), nil
}

// Held tells whether anybody holds the gate.
func (g *Gate) Held() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holds > 0
}

// Delete waits until nobody holds the gate, nor deletes, and runs f. Meanwhile nobody can hold it. Where it has to wait, it calls waiting at once
// and at each Interval; an error of waiting ends it.
func (g *Gate) Delete(ctx context.Context, waiting, f func() error) error {
	free := func() bool { return g.holds == 0 && !g.deleting }
	if err := g.await(ctx, waiting, free, func() { g.deleting = true }); err != nil {
		return err
	}
	defer g.change(func() { g.deleting = false })
	return f()
}

// await waits until the gate is as wanted, and changes it then. waiting may be nil.
func (g *Gate) await(ctx context.Context, waiting func() error, is func() bool, then func()) error {
	var tick <-chan time.Time
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		changed := g.try(is, then)
		if changed == nil {
			return nil
		}
		if waiting != nil && tick == nil {
			ticker := time.NewTicker(Interval)
			defer ticker.Stop()
			tick = ticker.C
			if err := waiting(); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		case <-tick:
			if err := waiting(); err != nil {
				return err
			}
		}
	}
}

// try changes the gate where it is as wanted: nil; else it returns what is closed when the gate changes.
func (g *Gate) try(is func() bool, then func()) (changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if is() {
		then()
		return nil
	}
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	return g.changed
}

func (g *Gate) change(how func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	how()
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}
