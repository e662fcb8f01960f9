package badgerstore

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// How many headers a read of Descendants takes at most, and how many forks.
const (
	descendantsAtOnce = 256
	forksAtOnce       = 4096
)

// Descendants reads the rows of the node's segment behind it, then those of the segments that fork there, each with its own forks; see
// chainstore.TreeReader. It yields between two reads.
func (s *Store) Descendants(ctx context.Context, namespace string, id chainstore.ID, yield func(*chainstore.Header) error) error {
	var b *below
	for {
		var headers []*chainstore.Header
		err := s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) (err error) {
			if b == nil {
				at, found, err := v.PlaceOf(id)
				if err == nil && !found {
					err = chainstore.ErrNodeNotFound
				}
				if err != nil {
					return err
				}
				b = &below{segments: []chainstore.Place{at.Next()}}
			}
			headers, err = b.page(ctx, v)
			return err
		})
		if err != nil {
			return err
		}
		for _, h := range headers {
			if err := yield(h); err != nil {
				return err
			}
		}
		if len(b.segments) == 0 {
			return nil
		}
	}
}

// below is what lies below a node, as far as it is to be read yet.
type below struct {
	// segments has the first place of each segment that is to be read; the last is being read.
	segments []chainstore.Place
	// next is the next row of that one, where some were read, and forks the key behind which its forks go on, where its rows are read.
	next  *chainstore.Place
	forks []byte
}

// page reads rows, or else forks.
func (b *below) page(ctx context.Context, v *snapshot.Snapshot) (headers []*chainstore.Header, err error) {
	if b.forks == nil {
		if headers, err = b.rows(ctx, v); err != nil || b.forks == nil {
			return headers, err
		}
	}
	return headers, b.forksOf(ctx, v)
}

// rows reads rows of the last segment; forks is where its forks begin, once there are no more.
func (b *below) rows(ctx context.Context, v *snapshot.Snapshot) (headers []*chainstore.Header, err error) {
	first := b.segments[len(b.segments)-1]
	at := first
	if b.next != nil {
		at = *b.next
	}
	c := v.Iterate(layout.SegmentKey(v.Namespace, first.Segment))
	defer c.Close()
	for c.Seek(layout.PlaceKey(v.Namespace, layout.TableNodes, at)); c.Valid(); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(headers) == descendantsAtOnce {
			b.next = &at
			return headers, nil
		}
		found, chunk, err := layout.ParseNodeKey(c.Key())
		if err != nil {
			return nil, err
		}
		at = found.Next()
		if chunk > 0 { // of a row that was passed
			c.Seek(layout.PlaceKey(v.Namespace, layout.TableNodes, at))
			continue
		}
		err = c.Value(func(value []byte) error {
			row, present, err := layout.ParseRow(value)
			if err != nil || !present {
				return err
			}
			h, err := row.Header.Decode(found.Seq)
			headers = append(headers, h)
			return err
		})
		if err != nil {
			return nil, err
		}
		c.Next()
	}
	b.next, b.forks = nil, layout.PlaceKey(v.Namespace, layout.TableForks, chainstore.Place{Segment: first.Segment, Seq: first.Seq - 1})
	return headers, nil
}

// forksOf reads forks of the last segment, and puts what begins there in its place.
func (b *below) forksOf(ctx context.Context, v *snapshot.Snapshot) error {
	last := len(b.segments) - 1
	begun := b.segments[last+1:]
	prefix, more := layout.ForksOf(v.Namespace, b.segments[last].Segment), false
	err := v.Scan(ctx, prefix, b.forks, func(key, _ []byte) error {
		if more = len(begun) == forksAtOnce; more {
			b.forks = append(b.forks[:0], key...)
			return snapshot.ErrStop
		}
		parent, segment, err := layout.ParseForkKey(key)
		begun = append(begun, chainstore.Place{Segment: segment, Seq: parent.Seq + 1})
		return err
	})
	if err != nil {
		return err
	}
	if more { // what begins there lies below it until its other forks are read
		b.segments = append(append(b.segments[:last:last], begun...), b.segments[last])
		return nil
	}
	b.segments, b.forks = append(b.segments[:last:last], begun...), nil
	return nil
}
