package layout

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
)

// AliasRow is an A row.
type AliasRow struct {
	Deleted bool
	// Forgot says that it was deleted with its history, or that nothing of it was known but the deletion: there are no past states.
	Forgot  bool
	At      chainstore.Place
	MovedAt int64
	// States counts the alias's states; this is the last. 1 or more; 2 or more where the alias is deleted and not Forgot.
	States uint64
	// Revision is that of the last change, Began that of the change with which this state began: States <= Began <= Revision.
	Revision, Began int64
	// Principal is who made the last change, a number of a table that is yet to come; 0: not known.
	Principal uint64
	Labels    map[string]string
	// Rest is what a later version has behind the labels.
	Rest []byte
}

// FirstKept is the number of the earliest past state that its ring holds; States where there is none.
func (a *AliasRow) FirstKept() uint64 {
	if a.States > HistorySlots {
		return a.States - HistorySlots
	}
	return 1
}

// IsForgotten tells whether it is, at a time, as a name that never was set.
func (a *AliasRow) IsForgotten(now int64) bool {
	return a.Forgot || chainstore.Forgotten(a.Deleted, a.MovedAt, now)
}

func AppendAlias(b []byte, a *AliasRow) []byte {
	bits := uint64(0)
	if a.Deleted {
		bits |= aliasDeleted
	}
	if len(a.Labels) > 0 {
		bits |= aliasLabels
	}
	if a.Forgot {
		bits |= aliasForgotten
	}
	b = append(b, aliasVersions+lastVersion)
	b = binary.AppendUvarint(b, bits)
	b = binary.AppendUvarint(b, uint64(a.MovedAt))
	b = binary.AppendUvarint(b, a.States)
	b = AppendPlaceValue(b, a.At)
	b = binary.AppendUvarint(b, uint64(a.Revision))
	b = binary.AppendUvarint(b, uint64(a.Revision-a.Began))
	b = binary.AppendUvarint(b, a.Principal)
	if len(a.Labels) > 0 {
		b = appendLabels(b, a.Labels)
	}
	return append(b, a.Rest...)
}

func appendLabels(b []byte, labels map[string]string) []byte {
	keys := make([]string, 0, len(labels))
	for k := range labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, k := range keys {
		b = appendText(appendText(b, k), labels[k])
	}
	return b
}

// ParseAlias reads an A row. The revision of one of version 1 is its states: they only ever grew, each change of the head by one, and
// what is written from it goes on from there.
func ParseAlias(value []byte) (*AliasRow, error) {
	d := reader{rest: value}
	version2 := d.version("", aliasVersions) == lastVersion
	bits := d.number(aliasDeleted | aliasLabels | aliasForgotten)
	a := &AliasRow{Deleted: bits&aliasDeleted != 0, Forgot: bits&aliasForgotten != 0}
	a.MovedAt = int64(d.number(math.MaxInt64))
	a.States = d.atLeast(1, math.MaxInt64)
	a.At = d.place()
	if a.Forgot && !a.Deleted || a.Deleted && (a.States == 1 && !a.Forgot || a.At != chainstore.Place{} || bits&aliasLabels != 0) {
		d.fail()
	}
	a.Revision, a.Began = int64(a.States), int64(a.States)
	if version2 {
		a.Revision = int64(d.atLeast(a.States, math.MaxInt64))
		a.Began = a.Revision - int64(d.number(uint64(a.Revision)-a.States))
		a.Principal = d.number(math.MaxInt64)
	}
	if bits&aliasLabels != 0 {
		n := d.count()
		a.Labels = make(map[string]string, n)
		for range n {
			k := d.text()
			a.Labels[k] = d.text()
		}
	}
	if version2 && len(d.rest) > 0 {
		a.Rest, d.rest = bytes.Clone(d.rest), nil
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
	// Revision is that of the change with which the state began: Number or more.
	Revision int64
	// Principal is that of the alias when it left the state; see AliasRow.
	Principal uint64
}

func AppendPastState(b []byte, s *PastState) []byte {
	bits := uint64(0)
	if s.Deleted {
		bits = aliasDeleted
	}
	b = append(b, aliasVersions+lastVersion)
	b = binary.AppendUvarint(b, bits)
	b = binary.AppendUvarint(b, s.Number)
	b = binary.AppendUvarint(b, uint64(s.Began))
	b = AppendPlaceValue(b, s.At)
	b = binary.AppendUvarint(b, uint64(s.Revision))
	return binary.AppendUvarint(b, s.Principal)
}

// ParsePastState reads an H row. The revision of one of version 1 is its number, and what a later version has behind is passed over.
func ParsePastState(value []byte) (s PastState, err error) {
	d := reader{rest: value}
	version2 := d.version("", aliasVersions) == lastVersion
	s.Deleted = d.number(aliasDeleted) != 0
	s.Number = d.atLeast(1, math.MaxInt64)
	s.Began = int64(d.number(math.MaxInt64))
	if s.At = d.place(); s.Deleted && (s.Number == 1 || s.At != chainstore.Place{}) {
		d.fail()
	}
	s.Revision = int64(s.Number)
	if version2 {
		s.Revision = int64(d.atLeast(s.Number, math.MaxInt64))
		s.Principal = d.number(math.MaxInt64)
		d.rest = nil
	}
	return s, d.end(TableHistory)
}
