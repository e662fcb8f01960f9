package layout

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
)

// FeaturePurges is that the store takes out of its files what was erased or deleted, and tells when that was done: the rows of table J.
const FeaturePurges = "purges"

// Kinds of purges.
const (
	// PurgeNodes is of nodes that were erased: what their rows have by now stays.
	PurgeNodes PurgeKind = iota
	// PurgeNamespace is of a namespace that was deleted: nothing stays of any key that begins with its number.
	PurgeNamespace
	// PurgeLabels is of aliases whose labels were erased: what their rows have by now stays.
	PurgeLabels

	purgeKinds
)

// PurgeKind is what a purge is of.
type PurgeKind uint8

// States of J rows.
const (
	purgeLeaving = iota
	purgeDone
	purgeSaved
)

// MaxPurgePlaces is how many nodes a purge is of at most. What is more, or has more bytes than a commit should take, is of further parts.
const MaxPurgePlaces = 256

// MaxPurgeNames is how many aliases a purge is of at most: what stays of one can be large, for it may be labelled anew.
const MaxPurgeNames = 16

// Purge is what is to leave the files: a part of what one commit erased or deleted.
type Purge struct {
	Number    uint64
	Part      uint16
	Kind      PurgeKind
	At        int64
	Namespace uint32
	// Bytes are about those of what stays, Places those of the nodes, Names those of the aliases.
	Bytes  uint64
	Places []chainstore.Place
	Names  []string
}

// PurgesOf are the purges of nodes that a commit erases, no part with more than so many bytes but for one node. sizes are those of what stays of each.
func PurgesOf(p Purge, places []chainstore.Place, sizes []uint64, most uint64) (parts []Purge) {
	for i, at := range places {
		last := len(parts) - 1
		if last < 0 || len(parts[last].Places) == MaxPurgePlaces || parts[last].Bytes+sizes[i] > most {
			p.Part = uint16(len(parts))
			parts, last = append(parts, p), last+1
		}
		parts[last].Places, parts[last].Bytes = append(parts[last].Places, at), parts[last].Bytes+sizes[i]
	}
	return parts
}

// Prefixes are what the keys begin with that are to leave the files. None is the beginning of another key but of its own.
func (p *Purge) Prefixes() (prefixes [][]byte) {
	if p.Kind == PurgeNamespace {
		return [][]byte{binary.BigEndian.AppendUint32(nil, p.Namespace)}
	}
	for _, at := range p.Places {
		prefixes = append(prefixes, PlaceKey(p.Namespace, TableNodes, at))
	}
	for _, name := range p.Names {
		prefixes = append(prefixes, append(AliasKey(p.Namespace, name), endOfName))
	}
	return prefixes
}

// PrefixesAlone are Prefixes for a database that by itself drops only what it finds keys of: those of aliases are of longer names, too.
func (p *Purge) PrefixesAlone() [][]byte {
	prefixes := p.Prefixes()
	if p.Kind == PurgeLabels {
		for i, prefix := range prefixes {
			prefixes[i] = prefix[:len(prefix)-1]
		}
	}
	return prefixes
}

// endOfName behind the key of an alias is what the database has there for each version of it, and no longer name: a byte that is in no UTF-8.
const endOfName = 0xff

// Stays tells whether what the keys have by now stays.
func (p *Purge) Stays() bool { return p.Kind != PurgeNamespace }

// KeyUnder is a key with a prefix of a purge, which may be written for a while.
func KeyUnder(prefix []byte) []byte {
	if len(prefix) < KeyPrefix {
		return append(bytes.Clone(prefix), TableCounters)
	}
	return prefix
}

func purgeKey(state byte) []byte { return append(TableKey(OwnNamespace, TablePurges), state) }

// PurgesLeaving is what the keys of all purges begin with that are not done.
func PurgesLeaving() []byte { return purgeKey(purgeLeaving) }

// PurgesSaved is what the keys of rows begin with that are saved.
func PurgesSaved() []byte { return purgeKey(purgeSaved) }

// PurgeParts is what the keys of the parts of a purge begin with.
func PurgeParts(number uint64) []byte { return binary.BigEndian.AppendUint64(PurgesLeaving(), number) }

// Key is that of the row of a part.
func (p *Purge) Key() []byte { return binary.BigEndian.AppendUint16(PurgeParts(p.Number), p.Part) }

// PurgedKey is that of the row that says when a purge was done.
func PurgedKey(number uint64) []byte {
	return binary.BigEndian.AppendUint64(purgeKey(purgeDone), number)
}

// SavedKey is that of the row that saves what a key has.
func SavedKey(key []byte) []byte { return append(PurgesSaved(), key...) }

// ParseSavedKey is the key whose value a row saves.
func ParseSavedKey(key []byte) []byte { return key[len(PurgesSaved()):] }

// SavedValue is the row that saves what a key has; nil: nothing.
func SavedValue(value []byte) []byte {
	if value == nil {
		return []byte{0}
	}
	return append([]byte{1}, value...)
}

// ParseSaved reads such a row.
func ParseSaved(row []byte) (value []byte, had bool, err error) {
	if len(row) == 0 || row[0] > 1 || row[0] == 0 && len(row) > 1 {
		return nil, false, CorruptValue(TablePurges)
	}
	return row[1:], row[0] == 1, nil
}

// Value is the row of a part.
func (p *Purge) Value() []byte {
	b := binary.AppendUvarint([]byte{byte(p.Kind)}, uint64(p.At))
	b = binary.AppendUvarint(b, uint64(p.Namespace))
	if p.Kind == PurgeNamespace {
		return b
	}
	b = binary.AppendUvarint(b, p.Bytes)
	for _, at := range p.Places {
		b = AppendPlaceValue(b, at)
	}
	for _, name := range p.Names {
		b = appendText(b, name)
	}
	return b
}

// ParsePurge reads the row of a part.
func ParsePurge(key, value []byte) (p Purge, err error) {
	rest, ok := bytes.CutPrefix(key, PurgesLeaving())
	if !ok || len(rest) != 8+2 {
		return p, CorruptKey(TablePurges)
	}
	p.Number, p.Part = binary.BigEndian.Uint64(rest), binary.BigEndian.Uint16(rest[8:])
	d := reader{rest: value}
	p.Kind = PurgeKind(d.number(uint64(purgeKinds) - 1))
	p.At, p.Namespace = int64(d.number(math.MaxInt64)), uint32(d.atLeast(FirstNamespace, LastNamespace))
	if p.Stays() {
		p.Bytes = d.number(math.MaxInt64)
		for len(d.rest) > 0 && !d.failed {
			if p.Kind == PurgeNodes {
				p.Places = append(p.Places, d.place())
			} else {
				p.Names = append(p.Names, d.text())
			}
		}
		if len(p.Places)+len(p.Names) == 0 {
			d.fail()
		}
	}
	return p, d.end(TablePurges)
}

// CheckPurge is what is wrong with a row of table J; nil: nothing.
func CheckPurge(key, value []byte) error {
	rest := key[KeyPrefix:]
	switch {
	case len(rest) > 0 && rest[0] == purgeLeaving:
		_, err := ParsePurge(key, value)
		return err
	case len(rest) == 1+8 && rest[0] == purgeDone:
		_, err := ParseNumber(value, TablePurges)
		return err
	case len(rest) > 1 && rest[0] == purgeSaved:
		_, _, err := ParseSaved(value)
		return err
	default:
		return CorruptKey(TablePurges)
	}
}
