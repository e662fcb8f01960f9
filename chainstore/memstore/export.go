package memstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Point is how many changes were committed; see chainstore.Exporter.
func (s *Store) Point(ctx context.Context) (chainstore.Point, error) {
	_, unlock, err := s.read(ctx, "")
	if err != nil {
		return 0, err
	}
	defer unlock()
	return s.point, nil
}

// NoteEras has nothing to do: there is one; see chainstore.Exporter.
func (s *Store) NoteEras(ctx context.Context) error { return ctx.Err() }

// Era is the only one; see chainstore.Exporter.
func (s *Store) Era(ctx context.Context, _ chainstore.Point) (era chainstore.Era, err error) {
	copy(era[:], s.id[:])
	return era, ctx.Err()
}

// ExportNodes returns nodes in the order in which they were put; see chainstore.Exporter. A cursor is the number of the node before the page. It may be
// of a namespace that had more nodes, and was deleted and begun anew.
func (s *Store) ExportNodes(
	ctx context.Context, name string, span chainstore.ExportSpan, cursor []byte, limit int,
) (nodes []chainstore.ExportedNode, next []byte, err error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	from := uint64(0)
	if cursor != nil {
		if len(cursor) != 8 {
			return nil, nil, chainstore.ErrBadCursor
		}
		from = binary.BigEndian.Uint64(cursor)
	}
	size, last := 0, from
	for _, n := range ns.order {
		if n.number <= from || !span.Holds(n.point) && !span.Holds(n.erased) {
			continue
		}
		if len(nodes) > 0 && size >= limit {
			return nodes, binary.BigEndian.AppendUint64(nil, last), nil
		}
		one := chainstore.ExportedNode{
			Header: n.header, Payload: slices.Clone(n.payload), Metadata: slices.Clone(n.metadata), Details: slices.Clone(n.details), Parent: idOf(n.parent), Covers: idOf(n.covers),
			Receipt: slices.Clone(ns.receipts[n.id()].bytes),
		}
		nodes, size, last = append(nodes, one), size+one.Size(), n.number
	}
	return nodes, nil, nil
}

// ExportReceipts returns them in the order of their ids; see chainstore.Exporter. A cursor is the id before the page.
func (s *Store) ExportReceipts(
	ctx context.Context, name string, span chainstore.ExportSpan, cursor []byte, limit int,
) (receipts []chainstore.KeptReceipt, next []byte, err error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	if cursor != nil && len(cursor) != len(chainstore.ID{}) {
		return nil, nil, chainstore.ErrBadCursor
	}
	order := func(a, b chainstore.ID) int { return bytes.Compare(a[:], b[:]) }
	size := 0
	for _, id := range slices.SortedFunc(maps.Keys(ns.receipts), order) {
		kept := ns.receipts[id]
		if cursor != nil && bytes.Compare(id[:], cursor) <= 0 || ns.nodes[id] != nil || !span.Holds(kept.point) {
			continue
		}
		if len(receipts) > 0 && size >= limit {
			return receipts, bytes.Clone(receipts[len(receipts)-1].ID[:]), nil
		}
		one := chainstore.KeptReceipt{ID: id, Bytes: bytes.Clone(kept.bytes)}
		receipts, size = append(receipts, one), size+one.Size()
	}
	return receipts, nil, nil
}

// ExportNamespaces lists them; see chainstore.Exporter.
func (s *Store) ExportNamespaces(
	ctx context.Context, wanted func(namespace string) bool,
) (named []chainstore.NumberedNamespace, last int64, err error) {
	_, unlock, err := s.read(ctx, "")
	if err != nil {
		return nil, 0, err
	}
	defer unlock()
	return s.numbered(wanted), s.numbers, nil
}

func (s *Store) numbered(wanted func(namespace string) bool) (all []chainstore.NumberedNamespace) {
	for _, name := range slices.Sorted(maps.Keys(s.namespaces)) {
		if wanted(name) {
			all = append(all, chainstore.NumberedNamespace{Name: name, Number: s.namespaces[name].number})
		}
	}
	return all
}

// ExportAliases yields aliases with their histories; see chainstore.Exporter.
func (s *Store) ExportAliases(
	ctx context.Context, after chainstore.Point, wanted func(namespace string) bool, yield chainstore.ExportYield,
) (chainstore.Point, error) {
	_, unlock, err := s.read(ctx, "")
	if err != nil {
		return 0, err
	}
	defer unlock()
	for _, named := range s.numbered(wanted) {
		ns := s.namespaces[named.Name]
		floor := ns.floor
		for _, a := range ns.aliases {
			if after == 0 && a.forgotten(s.millis()) {
				floor = max(floor, a.revision)
			}
		}
		if err := yield.Namespace(&chainstore.ExportedNamespace{NumberedNamespace: named, Settings: ns.settings, Floor: floor}); err != nil {
			return 0, err
		}
		for _, alias := range slices.Sorted(maps.Keys(ns.aliases)) {
			a := ns.aliases[alias]
			if a.changed <= after || after == 0 && !yield.Forgotten && a.forgotten(s.millis()) {
				continue
			}
			if err := yield.Alias(&chainstore.ExportedAlias{Name: alias, Labels: maps.Clone(a.labels), Revision: a.revision, States: a.exported(s.millis())}); err != nil {
				return 0, err
			}
		}
	}
	return s.point, nil
}

// exported are the states that an export has.
func (a *alias) exported(now int64) []chainstore.AliasState {
	if a.forgotten(now) {
		return []chainstore.AliasState{a.present()}
	}
	return chainstore.Begun(a.told(now))
}
