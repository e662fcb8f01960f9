package badgerstore

import (
	"bytes"
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// Point is the newest commit; see chainstore.Exporter.
func (s *Store) Point(ctx context.Context) (chainstore.Point, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	return chainstore.Point(v.Seen), nil
}

// NoteEras writes the first of them; see chainstore.Exporter.
func (s *Store) NoteEras(ctx context.Context) error { return s.committer.NoteEras(ctx) }

// Era looks for it in memory; see chainstore.Exporter.
func (s *Store) Era(ctx context.Context, p chainstore.Point) (era chainstore.Era, err error) {
	if eras := s.source.Eras.Load(); eras != nil {
		era = eras.Of(uint64(p))
	}
	return era, ctx.Err()
}

// ExportNodes reads rows in the order of their places, in which parents come before children; see chainstore.Exporter. A row is written once,
// and so every later snapshot has it as it was at the point, or what is left of it since it was erased; a cursor is the place behind which a page begins.
func (s *Store) ExportNodes(
	ctx context.Context, namespace string, span chainstore.ExportSpan, cursor []byte, limit int,
) (nodes []chainstore.ExportedNode, next []byte, err error) {
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		p := exportPage{Snapshot: v, span: span, limit: limit, reach: s.exportReach}
		if cursor != nil {
			at, rest, err := layout.ParsePlace(append(layout.TableKey(v.Namespace, layout.TableNodes), cursor...))
			if err != nil || len(rest) > 0 {
				return chainstore.ErrBadCursor
			}
			p.behind = &at
		}
		nodes, next, err = p.read(ctx)
		return err
	})
	return nodes, next, err
}

// exportPage is a page of nodes under way.
type exportPage struct {
	*snapshot.Snapshot
	span   chainstore.ExportSpan
	behind *chainstore.Place
	limit  int
	// reach is how many rows are passed over.
	reach int
	// before is the node of the place read before, if its id is known.
	before *chainstore.ExportedNode
	at     chainstore.Place
}

func (p *exportPage) read(ctx context.Context) (nodes []chainstore.ExportedNode, next []byte, err error) {
	prefix := layout.TableKey(p.Namespace, layout.TableNodes)
	cur := p.Iterate(prefix)
	defer cur.Close()
	from := prefix
	if p.behind != nil {
		from = layout.PlaceKey(p.Namespace, layout.TableNodes, p.behind.Next())
	}
	size, passed := 0, 0
	for cur.Seek(from); cur.Valid(); {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		at, chunk, err := layout.ParseNodeKey(cur.Key())
		if err != nil {
			return nil, nil, err
		}
		wanted := false
		if chunk == 0 {
			if wanted, err = p.wants(cur); err != nil {
				return nil, nil, err
			}
		}
		if !wanted {
			if passed++; passed >= p.reach {
				return nodes, cursorOf(at, len(prefix), p.Namespace), nil
			}
			cur.Next()
			continue
		}
		if len(nodes) > 0 && size >= p.limit {
			return nodes, cursorOf(p.at, len(prefix), p.Namespace), nil
		}
		one, err := p.node(cur, at)
		if err != nil {
			return nil, nil, err
		}
		if one == nil {
			continue
		}
		nodes = append(nodes, *one)
		p.before, p.at, size = one, at, size+one.Size()
	}
	return nodes, nil, nil
}

// wants tells whether the node of the row at the cursor was put, or erased, in the span. The row of one that was erased tells neither: its id and its
// receipt do.
func (p *exportPage) wants(cur *snapshot.Cursor) (bool, error) {
	version := chainstore.Point(cur.Version())
	if version <= p.span.After {
		return false, nil
	}
	id, erased := chainstore.ID{}, false
	err := cur.Value(func(value []byte) error {
		row, present, err := layout.ParseRow(value)
		id, erased = row.Header.ID(), present && row.Header.IsErased()
		return err
	})
	if err != nil || !erased {
		return version <= p.span.Through, err
	}
	for _, key := range [][]byte{layout.IDKey(p.Namespace, id), layout.ReceiptKey(p.Namespace, id)} {
		at, found, err := p.Version(key)
		if err != nil || found && p.span.Holds(chainstore.Point(at)) {
			return true, err
		}
	}
	return false, nil
}

// cursorOf is a place without what the keys of all nodes begin with.
func cursorOf(at chainstore.Place, prefix int, namespace uint32) []byte {
	return layout.PlaceKey(namespace, layout.TableNodes, at)[prefix:]
}

// node reads the row at the cursor, which it leaves behind it; nil at a place that is only not to be used again.
func (p *exportPage) node(cur *snapshot.Cursor, at chainstore.Place) (*chainstore.ExportedNode, error) {
	row, _, present, err := cur.Whole(at, nil)
	if err != nil || !present {
		return nil, err
	}
	out := &chainstore.ExportedNode{Payload: row.Payload, Metadata: row.Metadata, Details: row.Details}
	if out.Header, err = row.Header.Decode(at.Seq); err != nil {
		return nil, err
	}
	if out.Header.Erased != nil {
		if out.Receipt, _, err = p.Get(layout.ReceiptKey(p.Namespace, out.Header.ID)); err != nil {
			return nil, err
		}
	}
	if err := p.link(out, at, &row); err != nil {
		return nil, err
	}
	return out, nil
}

// link finds the nodes that a node names.
func (p *exportPage) link(n *chainstore.ExportedNode, at chainstore.Place, row *layout.Row) error {
	if at.Seq == 0 {
		return nil
	}
	parent := chainstore.Place{Segment: at.Segment, Seq: at.Seq - 1}
	if len(row.Forks) > 0 {
		parent = row.Forks[0]
	}
	var id chainstore.ID
	var err error
	if p.before != nil && p.at == parent {
		id = p.before.Header.ID
	} else if id, err = p.IDAt(parent); err != nil {
		return err
	}
	n.Parent = &id
	if !n.Header.Covers.Present {
		return nil
	}
	self, err := p.Head(chainstore.Ref{ID: n.Header.ID})
	if err != nil {
		return err
	}
	covers, err := p.IDAt(self.Lineage.Locate(n.Header.Covers.Seq))
	n.Covers = &covers
	return err
}

// ExportReceipts reads rows in the order of their ids; see chainstore.Exporter. A cursor is the id behind which a page begins.
func (s *Store) ExportReceipts(
	ctx context.Context, namespace string, span chainstore.ExportSpan, cursor []byte, limit int,
) (receipts []chainstore.KeptReceipt, next []byte, err error) {
	if cursor != nil && len(cursor) != len(chainstore.ID{}) {
		return nil, nil, chainstore.ErrBadCursor
	}
	if !s.source.Header.Load().Has(layout.FeatureErasure) {
		return nil, nil, ctx.Err()
	}
	err = s.source.Read(ctx, namespace, func(v *snapshot.Snapshot) error {
		receipts, next, err = exportReceipts(ctx, v, span, cursor, limit, s.exportReach)
		return err
	})
	return receipts, next, err
}

func exportReceipts(
	ctx context.Context, v *snapshot.Snapshot, span chainstore.ExportSpan, cursor []byte, limit, reach int,
) (receipts []chainstore.KeptReceipt, next []byte, err error) {
	prefix := layout.TableKey(v.Namespace, layout.TableReceipts)
	cur := v.Iterate(prefix)
	defer cur.Close()
	from := prefix
	if cursor != nil {
		from = append(layout.ReceiptKey(v.Namespace, chainstore.ID(cursor)), 0)
	}
	size := 0
	for cur.Seek(from); cur.Valid(); cur.Next() {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if size >= limit && len(receipts) > 0 || reach == 0 {
			return receipts, next, nil
		}
		reach--
		id, err := layout.ParseIDKey(cur.Key())
		if err != nil {
			return nil, nil, err
		}
		next = bytes.Clone(id[:])
		if !span.Holds(chainstore.Point(cur.Version())) {
			continue
		}
		_, there, err := v.PlaceOf(id)
		if err != nil {
			return nil, nil, err
		}
		if there {
			continue
		}
		one := chainstore.KeptReceipt{ID: id}
		err = cur.Value(func(value []byte) error {
			one.Bytes = bytes.Clone(value)
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		receipts, size = append(receipts, one), size+one.Size()
	}
	return receipts, nil, nil
}

// ExportNamespaces reads the names; see chainstore.Exporter.
func (s *Store) ExportNamespaces(
	ctx context.Context, wanted func(namespace string) bool,
) (named []chainstore.NumberedNamespace, last int64, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return nil, 0, err
	}
	defer v.Close()
	number, err := v.LastNumber()
	if err != nil {
		return nil, 0, err
	}
	named, err = numberedNames(ctx, v, wanted)
	return named, int64(number), err
}

func numberedNames(ctx context.Context, v *snapshot.Snapshot, wanted func(namespace string) bool) (all []chainstore.NumberedNamespace, err error) {
	err = v.Names(ctx, "", "", func(name string, number uint32) error {
		if wanted(name) {
			all = append(all, chainstore.NumberedNamespace{Name: name, Number: int64(number)})
		}
		return nil
	})
	return all, err
}

// ExportAliases reads aliases with their histories in one snapshot; see chainstore.Exporter.
func (s *Store) ExportAliases(
	ctx context.Context, after chainstore.Point, wanted func(namespace string) bool, yield chainstore.ExportYield,
) (chainstore.Point, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return 0, err
	}
	defer v.Close()
	all, err := numberedNames(ctx, v, wanted)
	for _, n := range all {
		if err != nil {
			break
		}
		v.Namespace = uint32(n.Number)
		err = s.exportNamespace(ctx, v, n, after, yield)
	}
	return chainstore.Point(v.Seen), err
}

func (s *Store) exportNamespace(
	ctx context.Context, v *snapshot.Snapshot, named chainstore.NumberedNamespace, after chainstore.Point, yield chainstore.ExportYield,
) error {
	out := &chainstore.ExportedNamespace{NumberedNamespace: named}
	row, err := v.Settings()
	if err != nil {
		return err
	}
	out.Settings = row.SettingsNow
	counters, err := v.Counters()
	if err != nil {
		return err
	}
	now := s.millis()
	if out.Floor = int64(counters.Floor); after == 0 {
		if out.Floor, err = forgottenFloor(ctx, v, out.Floor, now); err != nil {
			return err
		}
	}
	if err := yield.Namespace(out); err != nil {
		return err
	}
	prefix := layout.TableKey(v.Namespace, layout.TableAliases)
	cur := v.Iterate(prefix)
	defer cur.Close()
	for cur.Seek(prefix); cur.Valid(); cur.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if chainstore.Point(cur.Version()) <= after {
			continue
		}
		one := &chainstore.ExportedAlias{Name: string(bytes.TrimPrefix(cur.Key(), prefix))}
		var a *layout.AliasRow
		err := cur.Value(func(value []byte) (err error) {
			a, err = layout.ParseAlias(value)
			return err
		})
		if err != nil {
			return err
		}
		if after == 0 && !yield.Forgotten && a.IsForgotten(now) {
			continue
		}
		one.Labels, one.Revision = a.Labels, a.Revision
		if one.States, err = exportedStates(ctx, v, one.Name, a, now); err != nil {
			return err
		}
		if err := yield.Alias(one); err != nil {
			return err
		}
	}
	return nil
}

// forgottenFloor is a floor above the revisions of the names that are forgotten, which an export of everything leaves out.
func forgottenFloor(ctx context.Context, v *snapshot.Snapshot, floor, now int64) (int64, error) {
	err := v.Scan(ctx, layout.TableKey(v.Namespace, layout.TableAliases), nil, func(_, value []byte) error {
		a, err := layout.ParseAlias(value)
		if err == nil && a.IsForgotten(now) {
			floor = max(floor, a.Revision)
		}
		return err
	})
	return floor, err
}

// exportedStates are the states of an alias that an export has.
func exportedStates(ctx context.Context, v *snapshot.Snapshot, name string, a *layout.AliasRow, now int64) ([]chainstore.AliasState, error) {
	if a.IsForgotten(now) {
		return []chainstore.AliasState{{Revision: a.Began, Deleted: true, At: a.MovedAt}}, nil
	}
	states, err := aliasStates(ctx, v, name, a, now)
	return chainstore.Begun(states), err
}
