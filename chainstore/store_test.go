package chainstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// askedChain is a chain that answers Headers alone.
type askedChain struct {
	chainstore.Chain
	headers []*chainstore.Header
	// err, if not nil, is what Headers fails with; asked are the Seqs that it was asked for.
	err   error
	asked []uint32
}

func (c *askedChain) Head() *chainstore.Header { return c.headers[len(c.headers)-1] }

func (c *askedChain) Headers(_ context.Context, seqs ...uint32) (found []*chainstore.Header, err error) {
	c.asked = append(c.asked, seqs...)
	for _, seq := range seqs {
		if c.err != nil || int(seq) >= len(c.headers) {
			return nil, errors.Join(c.err, chainstore.NoRow(seq))
		}
		found = append(found, c.headers[seq])
	}
	return found, nil
}

func TestHeaderAt(t *testing.T) {
	c := &askedChain{}
	for i := range byte(4) {
		c.headers = append(c.headers, &chainstore.Header{ID: chainstore.ID{i}, Seq: uint32(i), FirstPut: int64(i)})
	}
	for i, want := range c.headers {
		h, err := chainstore.HeaderAt(t.Context(), c, uint32(i))
		if err != nil || h != want {
			t.Errorf("the header at %d is %+v, error %v", i, h, err)
		}
	}
	if len(c.asked) != 3 {
		t.Errorf("asked for %v, want all but the head", c.asked)
	}
	if h, err := chainstore.HeaderAt(t.Context(), c, 4); !errors.Is(err, chainstore.ErrCorrupt) || h != nil {
		t.Errorf("behind the head: %+v, error %v", h, err)
	}
	c.err = errors.New("failed")
	if _, err := chainstore.HeaderAt(t.Context(), c, 1); !errors.Is(err, c.err) {
		t.Errorf("error is %v, want %v", err, c.err)
	}
}

func TestBounds(t *testing.T) {
	for _, x := range []struct {
		bounds chainstore.Bounds
		view   *runloop.View
		want   bool
	}{
		{chainstore.Bounds{}, &runloop.View{}, false},
		{chainstore.Bounds{Loops: -1}, &runloop.View{}, true},
		{chainstore.Bounds{Loops: 2}, &runloop.View{Totals: runloop.Totals{Loops: 2}}, false},
		{chainstore.Bounds{Loops: 2}, &runloop.View{Totals: runloop.Totals{Loops: 3}}, true},
		{chainstore.Bounds{Loops: -1, Bytes: 1}, &runloop.View{}, false},
		{chainstore.Bounds{Loops: -1, Bytes: 1}, &runloop.View{Totals: runloop.Totals{Bytes: 1}}, true},
		{chainstore.Bounds{Bytes: 1}, &runloop.View{Totals: runloop.Totals{Bytes: 1}}, false},
	} {
		if got := x.bounds.Met(x.view); got != x.want {
			t.Errorf("%+v is met by %+v: %t, want %t", x.bounds, x.view, got, x.want)
		}
	}
}

func TestBoundsAreOnAView(t *testing.T) {
	s := &runloop.State{}
	if b := (&chainstore.Bounds{}); b.View(s) != &s.Effective {
		t.Error("bounds are not on the effective view")
	}
	if b := (&chainstore.Bounds{Full: true}); b.View(s) != &s.Full {
		t.Error("bounds that say so are not on the full view")
	}
}
