// Package hold lets those who read in several calls keep a collection from deleting between them.
package hold

import (
	"context"
	"sync"
)

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
	if err := g.await(ctx, func() bool { return !g.deleting }, func() { g.holds++ }); err != nil {
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

// Delete waits until nobody holds the gate, and runs f. Meanwhile nobody can hold it.
func (g *Gate) Delete(ctx context.Context, f func() error) error {
	if err := g.await(ctx, func() bool { return g.holds == 0 && !g.deleting }, func() { g.deleting = true }); err != nil {
		return err
	}
	defer g.change(func() { g.deleting = false })
	return f()
}

// await waits until the gate is as wanted, and changes it then.
func (g *Gate) await(ctx context.Context, is func() bool, then func()) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		g.mu.Lock()
		if is() {
			then()
			g.mu.Unlock()
			return nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
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
