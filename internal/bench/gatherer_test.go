package bench

import (
	"context"
	"errors"
	"testing"
)

// Everything that came while the function was at work is handed to it at once, and each caller gets the outcome of its own.
func TestGatherer(t *testing.T) {
	refused := errors.New("refused")
	entered, proceed := make(chan int), make(chan error)
	g := gather(func(_ context.Context, nodes []*bareNode) error {
		entered <- len(nodes)
		return <-proceed
	}, nil)
	defer g.stop()
	outcomes := make(chan error, 4)
	hand := func() { outcomes <- g.hand(&bareNode{}) }
	go hand()
	if n := <-entered; n != 1 {
		t.Fatalf("%d nodes of a lone caller", n)
	}
	for range 3 {
		go hand()
	}
	for waiting := 0; waiting < 3; {
		g.mu.Lock()
		waiting = len(g.nodes)
		g.mu.Unlock()
	}
	proceed <- nil
	if err := <-outcomes; err != nil {
		t.Errorf("the first: %v", err)
	}
	if n := <-entered; n != 3 {
		t.Errorf("%d nodes at once, not 3", n)
	}
	proceed <- refused
	for range 3 {
		if err := <-outcomes; !errors.Is(err, refused) {
			t.Errorf("one of the others: %v", err)
		}
	}
}
