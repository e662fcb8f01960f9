package chainstore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
)

// rowsOf is a chain of rows, of which the last is the head.
type rowsOf struct {
	headers []*chainstore.Header
	// err, if not nil, is what reading fails with; reads counts the spans read.
	err   error
	reads []chainstore.Span
}

func (c *rowsOf) Head() *chainstore.Header      { return c.headers[len(c.headers)-1] }
func (c *rowsOf) After() uint32                 { return 0 }
func (c *rowsOf) Runs(int) []chainstore.Run     { return nil }
func (c *rowsOf) row(seq uint32) chainstore.Row { return chainstore.Row{Seq: seq, Raw: c.raw(seq)} }
func (c *rowsOf) raw(seq uint32) []byte         { return chainstore.AppendHeader(nil, c.headers[seq]) }

func (c *rowsOf) Spawned(context.Context, int) ([]*chainstore.Header, bool, error) {
	return nil, false, nil
}

func (c *rowsOf) Rows(_ context.Context, span chainstore.Span, yield func(*chainstore.Row) error) error {
	c.reads = append(c.reads, span)
	for seq := span.From; seq <= span.Through && int(seq) < len(c.headers); seq++ {
		row := c.row(seq)
		if err := yield(&row); err != nil {
			return err
		}
	}
	return c.err
}

func TestHeaderAt(t *testing.T) {
	c := &rowsOf{}
	for i := range byte(4) {
		c.headers = append(c.headers, &chainstore.Header{ID: chainstore.ID{i}, Seq: uint32(i), FirstPut: int64(i)})
	}
	for i, want := range c.headers {
		h, err := chainstore.HeaderAt(t.Context(), c, uint32(i))
		if err != nil || h.ID != want.ID || h.Seq != uint32(i) {
			t.Errorf("the header at %d is %+v, error %v", i, h, err)
		}
	}
	if len(c.reads) != 3 {
		t.Errorf("%d reads, want one for each but the head", len(c.reads))
	}
	for _, span := range c.reads {
		if span.From != span.Through || !span.HeadersOnly {
			t.Errorf("a header was read as %+v", span)
		}
	}
	if h, err := chainstore.HeaderAt(t.Context(), c, 4); !errors.Is(err, chainstore.ErrCorrupt) || h != nil {
		t.Errorf("behind the head: %+v, error %v", h, err)
	}
	c.err = errors.New("failed")
	if _, err := chainstore.HeaderAt(t.Context(), c, 1); !errors.Is(err, c.err) {
		t.Errorf("error is %v, want %v", err, c.err)
	}
	if _, err := chainstore.HeaderAt(t.Context(), c, 4); !errors.Is(err, c.err) {
		t.Errorf("error is %v, want %v", err, c.err)
	}
}
