package layout

import (
	"encoding/binary"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
)

// FeatureEras is that the store notes its eras, the row of table E: since the first backup of it.
const FeatureEras = "eras"

// MaxEras is how many eras are kept, the last ones; FewEras, how many there is always room for in a commit: what it takes beside its batch.
const (
	MaxEras = 1000
	FewEras = 60
)

// EraSize is what an era takes at most.
const EraSize = len(chainstore.Era{}) + binary.MaxVarintLen64 - 1

// Era is a part of the history of a store, from a commit on: what was written by one that opened it.
type Era struct {
	ID   chainstore.Era
	From uint64
}

// Eras is the E row: the last eras, each from a later commit on than the one before.
type Eras []Era

// Of is the era of a commit; the zero one before the first that is known.
func (e Eras) Of(commit uint64) (id chainstore.Era) {
	for _, era := range e {
		if era.From <= commit {
			id = era.ID
		}
	}
	return id
}

// With is these eras and a new one, at most the last ones that there is room for. One that has no commit is left out.
func (e Eras) With(era Era, room int64) Eras {
	var all Eras
	for _, before := range e {
		if before.From < era.From {
			all = append(all, before)
		}
	}
	all = append(all, era)
	most := max(FewEras, min(MaxEras, room/int64(EraSize)))
	return all[max(0, len(all)-int(most)):]
}

func AppendEras(b []byte, e Eras) []byte {
	for _, era := range e {
		b = binary.AppendUvarint(append(b, era.ID[:]...), era.From)
	}
	return b
}

// ParseEras reads an E row.
func ParseEras(value []byte) (e Eras, err error) {
	d := reader{rest: value}
	last := uint64(0)
	for len(d.rest) > 0 && !d.failed {
		var era Era
		copy(era.ID[:], d.bytes(len(era.ID)))
		era.From = d.number(math.MaxInt64)
		if len(e) > 0 && era.From <= last {
			d.fail()
		}
		e, last = append(e, era), era.From
	}
	return e, d.end(TableEras)
}

func ErasKey() []byte { return TableKey(OwnNamespace, TableEras) }

// TurnKey is where rows begin that end a log.
func TurnKey() []byte { return TableKey(OwnNamespace, TableTurns) }
