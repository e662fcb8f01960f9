package badgerstore

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
	"github.com/transcriptd/transcriptd/chainstore/internal/cache"
)

// Find scans the ids with a prefix; see chainstore.TreeReader.
func (s *Store) Find(ctx context.Context, namespace, prefix string, limit int) (ids []chainstore.ID, err error) {
	even := len(prefix) / 2 * 2
	head, bad := hex.DecodeString(prefix[:even])
	if bad != nil || len(prefix) > 2*len(chainstore.ID{}) {
		head, limit = nil, 0
	}
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		if limit <= 0 {
			return nil
		}
		from := append(layout.TableKey(v.Namespace, layout.TableIDs), head...)
		return v.Scan(ctx, from, seekHalf(from, prefix[even:]), func(key, _ []byte) error {
			id, err := layout.ParseIDKey(key)
			switch {
			case err != nil:
				return err
			case !strings.HasPrefix(id.String(), prefix):
				return snapshot.ErrStop
			}
			if ids = append(ids, id); len(ids) == limit {
				return snapshot.ErrStop
			}
			return nil
		})
	})
	return ids, err
}

// seekHalf appends the first byte that begins with the last, odd digit of a prefix.
func seekHalf(from []byte, digit string) []byte {
	if half, err := hex.DecodeString(digit + "0"); digit != "" && err == nil {
		return append(bytes.Clone(from), half...)
	}
	return from
}

// Nodes reads each, and those that it names; see chainstore.TreeReader.
func (s *Store) Nodes(ctx context.Context, namespace string, ids []chainstore.ID, yield func(*chainstore.FoundNode) error) error {
	reader := s.source.Caches.Rows.Begin()
	return s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		for _, id := range ids {
			n, err := v.Head(chainstore.Ref{ID: id})
			if errors.Is(err, chainstore.ErrNodeNotFound) {
				continue
			}
			if err == nil {
				err = found(ctx, v, n, reader, yield)
			}
			if err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

// found yields a node that was found.
func found(ctx context.Context, v *snapshot.Snapshot, n *cache.Node, reader int64, yield func(*chainstore.FoundNode) error) error {
	one := chainstore.FoundNode{Header: n.Header}
	own := chainstore.Span{From: n.Header.Seq, Through: n.Header.Seq}
	return v.Rows(ctx, n.Lineage, reader, append(n.Header.LinkSpans(), own), func(row *chainstore.Row) error {
		if row.Seq < n.Header.Seq {
			one.Link(row)
			return nil
		}
		one.Row = *row
		one.Shared, one.SharedFrom = nil, 0
		return yield(&one)
	})
}

// Children reads the child behind the node, then those that began segments; see chainstore.TreeReader.
func (s *Store) Children(ctx context.Context, namespace string, node chainstore.Ref, after *chainstore.ID, limit int) (children []*chainstore.Header, err error) {
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		parent, err := v.Resolve(node)
		if err != nil {
			return err
		}
		p := childPage{Snapshot: v, parent: parent, limit: limit}
		if after != nil {
			if err := p.skipTo(*after); err != nil {
				return err
			}
		}
		children, err = p.read(ctx)
		return err
	})
	return children, err
}

// childPage is a page of a node's children under way.
type childPage struct {
	*snapshot.Snapshot
	parent chainstore.Place
	limit  int
	// begun says that the child behind the node is not on the page; segment, that neither is that one nor those below.
	begun   bool
	segment uint64
}

// skipTo begins the page behind a child: ErrNodeNotFound where it is none.
func (p *childPage) skipTo(id chainstore.ID) error {
	at, found, err := p.PlaceOf(id)
	if err != nil {
		return err
	}
	if p.begun = true; found && at == p.parent.Next() {
		return nil
	}
	if found {
		_, found, err = p.Get(layout.ForkKey(p.Namespace, p.parent, at.Segment))
	}
	if err == nil && (!found || at.Seq != p.parent.Seq+1) {
		err = chainstore.ErrNodeNotFound
	}
	p.segment = at.Segment
	return err
}

func (p *childPage) read(ctx context.Context) (children []*chainstore.Header, err error) {
	if p.limit <= 0 {
		return nil, nil
	}
	if !p.begun {
		h, err := p.firstChild()
		if err != nil {
			return nil, err
		}
		if h != nil {
			children = append(children, h)
		}
	}
	if len(children) == p.limit {
		return children, nil
	}
	prefix, from := layout.PlaceKey(p.Namespace, layout.TableForks, p.parent), []byte(nil)
	if p.segment > 0 {
		from = layout.ForkKey(p.Namespace, p.parent, p.segment+1)
	}
	err = p.Scan(ctx, prefix, from, func(key, _ []byte) error {
		_, segment, err := layout.ParseForkKey(key)
		if err != nil {
			return err
		}
		h, err := p.HeaderAt(chainstore.Place{Segment: segment, Seq: p.parent.Seq + 1})
		if err != nil {
			return err
		}
		if children = append(children, h); len(children) == p.limit {
			return snapshot.ErrStop
		}
		return nil
	})
	return children, err
}

// firstChild reads the node behind the parent; nil if there is none.
func (p *childPage) firstChild() (h *chainstore.Header, err error) {
	at := p.parent.Next()
	_, err = p.Borrow(layout.PlaceKey(p.Namespace, layout.TableNodes, at), func(value []byte) error {
		r, present, err := layout.ParseRow(value)
		if err != nil || !present {
			return err
		}
		h, err = r.Header.Decode(at.Seq)
		return err
	})
	return h, err
}
