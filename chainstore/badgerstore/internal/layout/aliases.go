package layout

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

// AliasRow is an A row.
type AliasRow struct {
	Deleted bool
	At      chainstore.Place
	MovedAt int64
	// States counts the alias's states; this is the last. 1 or more; 2 or more where the alias is deleted.
	States uint64
	Labels map[string]string
}

func AppendAlias(b []byte, a *AliasRow) []byte {
	bits := uint64(0)
	if a.Deleted {
		bits |= aliasDeleted
	}
	if len(a.Labels) > 0 {
		bits |= aliasLabels
	}
	b = binary.AppendUvarint(b, bits)
	b = binary.AppendUvarint(b, uint64(a.MovedAt))
	b = binary.AppendUvarint(b, a.States)
	b = AppendPlaceValue(b, a.At)
	if len(a.Labels) == 0 {
		return b
	}
	keys := make([]string, 0, len(a.Labels))
	for k := range a.Labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, k := range keys {
		b = appendText(appendText(b, k), a.Labels[k])
	}
	return b
}

func ParseAlias(value []byte) (*AliasRow, error) {
	d := reader{rest: value}
	bits := d.number(aliasDeleted | aliasLabels)
	a := &AliasRow{Deleted: bits&aliasDeleted != 0}
	a.MovedAt = int64(d.number(math.MaxInt64))
	a.States = d.atLeast(1, math.MaxUint64)
	a.At = d.place()
	if a.Deleted && (a.States == 1 || a.At != chainstore.Place{} || bits&aliasLabels != 0) {
		d.fail()
	}
	if bits&aliasLabels != 0 {
		n := d.count()
		a.Labels = make(map[string]string, n)
		for range n {
			k := d.text()
			a.Labels[k] = d.text()
		}
	}
	return a, d.end(TableAliases)
}

// PastState is an H row.
type PastState struct {
	Deleted bool
	// Number counts an alias's states from 1; 2 or more where the alias was deleted.
	Number uint64
	Began  int64
	At     chainstore.Place
}

func AppendPastState(b []byte, s *PastState) []byte {
	bits := uint64(0)
	if s.Deleted {
		bits = aliasDeleted
	}
	b = binary.AppendUvarint(b, bits)
	b = binary.AppendUvarint(b, s.Number)
	b = binary.AppendUvarint(b, uint64(s.Began))
	return AppendPlaceValue(b, s.At)
}

func ParsePastState(value []byte) (s PastState, err error) {
	d := reader{rest: value}
	s.Deleted = d.number(aliasDeleted) != 0
	s.Number = d.atLeast(1, math.MaxUint64)
	s.Began = int64(d.number(math.MaxInt64))
	if s.At = d.place(); s.Deleted && (s.Number == 1 || s.At != chainstore.Place{}) {
		d.fail()
	}
	return s, d.end(TableHistory)
}
