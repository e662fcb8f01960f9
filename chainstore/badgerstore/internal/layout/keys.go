// Package layout is what lies in the database: keys and values, built and parsed here alone.
package layout

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/derive"
)

// Every key is built and parsed here; every value in values.go and aliases.go. All are part of the storage format and must not
// change: a new meaning is a new table, or a new format version with a migration.
//
// A key is the number of its namespace and one byte for its table, then what the table says. Integers are big endian
// and of fixed width, so that keys sort by them; ^x is x inverted, so that keys sort the other way.
//
//	namespace:4 table:1 ...
//
// Namespace 0 is the store's own:
//
//	F                                     format version of the store
//	D                                     header of the store: its id and its features
//	N name                                number of the namespace of that name
//	Z                                     last number given to a namespace; numbers are never used again
//	Y                                     keys of page tokens
//	E                                     eras: of each, its id and its first commit
//	O                                     empty; written where a log is ended before it is full
//	B                                     seed of the key that receipts are signed with
//	J 00 number:8 part:2                  what is to leave the files; number is that of the commit that erased it, or deleted it
//	J 01 number:8                         when all that had this number was found to have left them
//	J 02 key                              what key had, while all of it is dropped before it is written again
//	M number:4                            a namespace of that number was deleted; for ever, since the number is never given again
//
// The other namespaces have, with place = segment:8 seq:4 and seq the number of a node's ancestors,
//
//	S place                               the node that lies there; an empty row is a place that must not be used again
//	S place chunk:2                       a piece of payload and details of the node at place, from 1
//	I id:32                               place of the node
//	A name                                alias; a deleted one has a row that says so
//	H name 00 slot:1                      a past state of an alias; its number modulo 100 is the slot
//	T folder 00 ^moved_at:8 rest          empty; aliases under a folder by last move; folder and rest make the name
//	P place name                          empty; aliases by the node they point to
//	K place segment:8                     empty; children of the node at place that began a segment
//	W spawner:32 number:8                 place of a node spawned by a node; numbers count the nodes ever put
//	X segment:8 ^seq:4 number:8           the same by the place of the spawner, once that was put
//	R segment:8 call:16 ^seq:4            messages of a node that have calls, or are results, of a call id
//	U place                               tools called on the path to a node that has calls
//	V place                               variables set on the path to a node that sets or unsets some
//	L place                               time of the last put of a node that was put again
//	Q id:32                               receipt of a node that was erased; it outlives the node
//	C                                     counters
//	G                                     settings
//
// Names hold no zero byte: control characters are refused before. An alias has a T row for each of its chainstore.Folders. rest is what
// follows the folder, its slash included, so that "x" and "/x", both under the folder "", differ.
//
// A compaction node has no R, U and V rows: its messages are copies.
//
// An erasure writes the S row of a node anew, and takes its pieces away. T and P rows may be deleted, for they can be made again. A collection deletes all rows of a node but its Q row, and H rows that are not told of any more; every
// other row is only ever overwritten.
const (
	TableFormat  = 'F'
	TableHeader  = 'D'
	TableNames   = 'N'
	TableNumbers = 'Z'
	TableKeys    = 'Y'
	TableEras    = 'E'
	TableTurns   = 'O'
	TableSigning = 'B'
	TablePurges  = 'J'
	TableGone    = 'M'

	TableNodes     = 'S'
	TableIDs       = 'I'
	TableAliases   = 'A'
	TableHistory   = 'H'
	TableMoved     = 'T'
	TableHeads     = 'P'
	TableForks     = 'K'
	TableSpawned   = 'W'
	TableSpawnedAt = 'X'
	TableRecall    = 'R'
	TableTools     = 'U'
	TableVariables = 'V'
	TableLastPut   = 'L'
	TableCounters  = 'C'
	TableSettings  = 'G'
	TableReceipts  = 'Q'

	// OwnTables are those of namespace 0, NamespaceTables those of the others, but for what is of a feature: see StoreHeader.Tables.
	OwnTables       = "FDNZY"
	NamespaceTables = "SIAHTPKWXRUVLC"

	OwnNamespace = 0

	// HistorySlots is how many past states of an alias are kept.
	HistorySlots = chainstore.MaxHistory
	// MaxChunk is the most bytes of a payload, and details, that lie in one row; longer ones lie in chunks of this size.
	MaxChunk = 256 << 10
	// MaxForksInRow is the most forks that a row holds of its path.
	MaxForksInRow = 64

	KeyPrefix   = 4 + 1
	placeLength = 8 + 4
	RowKeySize  = KeyPrefix + placeLength
	chunkSuffix = 2
	callLength  = 16
)

// Numbers of namespaces; noNamespace is never given. Part of the storage format, must not change.
const (
	FirstNamespace = 1
	LastNamespace  = math.MaxUint32 - 1
	NoNamespace    = math.MaxUint32
)

func TableKey(ns uint32, table byte) []byte {
	k := make([]byte, 0, KeyPrefix+64)
	return append(binary.BigEndian.AppendUint32(k, ns), table)
}

// NamespaceOf is the number that a key begins with.
func NamespaceOf(key string) uint32 {
	return uint32(key[0])<<24 | uint32(key[1])<<16 | uint32(key[2])<<8 | uint32(key[3])
}

func appendPlace(k []byte, p chainstore.Place) []byte {
	k = binary.BigEndian.AppendUint64(k, p.Segment)
	return binary.BigEndian.AppendUint32(k, p.Seq)
}

func PlaceKey(ns uint32, table byte, p chainstore.Place) []byte {
	return appendPlace(TableKey(ns, table), p)
}

func NameKey(name string) []byte { return append(TableKey(OwnNamespace, TableNames), name...) }

func SegmentKey(ns uint32, segment uint64) []byte {
	return binary.BigEndian.AppendUint64(TableKey(ns, TableNodes), segment)
}

func ChunkKey(ns uint32, p chainstore.Place, chunk int) []byte {
	return binary.BigEndian.AppendUint16(PlaceKey(ns, TableNodes, p), uint16(chunk))
}

func IDKey(ns uint32, id chainstore.ID) []byte { return append(TableKey(ns, TableIDs), id[:]...) }

func ReceiptKey(ns uint32, id chainstore.ID) []byte {
	return append(TableKey(ns, TableReceipts), id[:]...)
}

func AliasKey(ns uint32, name string) []byte { return append(TableKey(ns, TableAliases), name...) }

func HistoryKey(ns uint32, name string, number uint64) []byte {
	k := append(TableKey(ns, TableHistory), name...)
	return append(k, 0, byte(number%HistorySlots))
}

func FolderKey(ns uint32, folder string) []byte {
	return append(append(TableKey(ns, TableMoved), folder...), 0)
}

// MovedKey is the T key of an alias under one of its folders.
func MovedKey(ns uint32, folder, name string, movedAt int64) []byte {
	k := binary.BigEndian.AppendUint64(FolderKey(ns, folder), ^uint64(movedAt))
	return append(k, name[len(folder):]...)
}

func HeadKey(ns uint32, head chainstore.Place, name string) []byte {
	return append(PlaceKey(ns, TableHeads, head), name...)
}

func ForkKey(ns uint32, parent chainstore.Place, child uint64) []byte {
	return binary.BigEndian.AppendUint64(PlaceKey(ns, TableForks, parent), child)
}

// ForksOf is what the K keys of the forks of a segment begin with.
func ForksOf(ns uint32, segment uint64) []byte {
	return binary.BigEndian.AppendUint64(TableKey(ns, TableForks), segment)
}

func SpawnerKey(ns uint32, spawner chainstore.ID) []byte {
	return append(TableKey(ns, TableSpawned), spawner[:]...)
}

func SpawnedKey(ns uint32, spawner chainstore.ID, number uint64) []byte {
	return binary.BigEndian.AppendUint64(SpawnerKey(ns, spawner), number)
}

func SpawnedAtPrefix(ns uint32, segment uint64) []byte {
	return binary.BigEndian.AppendUint64(TableKey(ns, TableSpawnedAt), segment)
}

func SpawnedAtKey(ns uint32, spawner chainstore.Place, number uint64) []byte {
	k := binary.BigEndian.AppendUint32(SpawnedAtPrefix(ns, spawner.Segment), ^spawner.Seq)
	return binary.BigEndian.AppendUint64(k, number)
}

func RecallSegment(ns uint32, segment uint64) []byte {
	return binary.BigEndian.AppendUint64(TableKey(ns, TableRecall), segment)
}

func RecallPrefix(ns uint32, segment uint64, call derive.CallKey) []byte {
	return append(RecallSegment(ns, segment), call[:]...)
}

func RecallKey(ns uint32, at chainstore.Place, call derive.CallKey) []byte {
	return binary.BigEndian.AppendUint32(RecallPrefix(ns, at.Segment, call), ^at.Seq)
}

func CountersKey(ns uint32) []byte { return TableKey(ns, TableCounters) }

func SettingsKey(ns uint32) []byte { return TableKey(ns, TableSettings) }

func HeaderKey() []byte { return TableKey(OwnNamespace, TableHeader) }

func CorruptKey(table byte) error {
	return fmt.Errorf("%w: a key of table %c does not parse", chainstore.ErrCorrupt, table)
}

// ParsePlace reads the place that follows the table byte, and what follows it.
func ParsePlace(key []byte) (p chainstore.Place, rest []byte, err error) {
	if len(key) < RowKeySize {
		return chainstore.Place{}, nil, fmt.Errorf("%w: a key of %d bytes holds no place", chainstore.ErrCorrupt, len(key))
	}
	p.Segment = binary.BigEndian.Uint64(key[KeyPrefix:])
	p.Seq = binary.BigEndian.Uint32(key[KeyPrefix+8:])
	return p, key[RowKeySize:], nil
}

// ParseNodeKey reads an S key; chunk is 0 for the row itself.
func ParseNodeKey(key []byte) (p chainstore.Place, chunk int, err error) {
	p, rest, err := ParsePlace(key)
	switch {
	case err != nil:
		return chainstore.Place{}, 0, err
	case len(rest) == 0:
		return p, 0, nil
	case len(rest) == chunkSuffix && rest[0]|rest[1] != 0:
		return p, int(binary.BigEndian.Uint16(rest)), nil
	default:
		return chainstore.Place{}, 0, CorruptKey(TableNodes)
	}
}

// ParseForkKey reads a K key.
func ParseForkKey(key []byte) (parent chainstore.Place, child uint64, err error) {
	parent, rest, err := ParsePlace(key)
	if err != nil || len(rest) != 8 {
		return chainstore.Place{}, 0, CorruptKey(TableForks)
	}
	return parent, binary.BigEndian.Uint64(rest), nil
}

// ParseIDKey reads an I or a Q key.
func ParseIDKey(key []byte) (id chainstore.ID, err error) {
	if len(key) != KeyPrefix+len(id) {
		return id, CorruptKey(key[KeyPrefix-1])
	}
	copy(id[:], key[KeyPrefix:])
	return id, nil
}

// ParseAliasKey reads an A key.
func ParseAliasKey(key []byte) string { return string(key[KeyPrefix:]) }

// GoneKey is the M key of a number.
func GoneKey(number uint32) []byte {
	return binary.BigEndian.AppendUint32(TableKey(OwnNamespace, TableGone), number)
}

// ParseGoneKey reads an M key.
func ParseGoneKey(key []byte) (number uint32, err error) {
	if len(key) != KeyPrefix+4 {
		return 0, CorruptKey(TableGone)
	}
	if number = binary.BigEndian.Uint32(key[KeyPrefix:]); number < FirstNamespace || number > LastNamespace {
		return 0, CorruptKey(TableGone)
	}
	return number, nil
}

// ParseMovedKey reads a T key.
func ParseMovedKey(key []byte) (folder, name string, movedAt int64, err error) {
	before, rest, _ := bytes.Cut(key[KeyPrefix:], []byte{0})
	if len(rest) < 8 {
		return "", "", 0, CorruptKey(TableMoved)
	}
	folder = string(before)
	return folder, folder + string(rest[8:]), int64(^binary.BigEndian.Uint64(rest)), nil
}

// ParseSpawnedKey reads a W key.
func ParseSpawnedKey(key []byte) (spawner chainstore.ID, number uint64, err error) {
	if len(key) != KeyPrefix+len(spawner)+8 {
		return spawner, 0, CorruptKey(TableSpawned)
	}
	copy(spawner[:], key[KeyPrefix:])
	return spawner, binary.BigEndian.Uint64(key[KeyPrefix+len(spawner):]), nil
}

// ParseSpawnedAtKey reads the number in an X key.
func ParseSpawnedAtKey(key []byte) (number uint64, err error) {
	if len(key) != RowKeySize+8 {
		return 0, CorruptKey(TableSpawnedAt)
	}
	return binary.BigEndian.Uint64(key[RowKeySize:]), nil
}

// ParseRecallKey reads an R key.
func ParseRecallKey(key []byte) (at chainstore.Place, call derive.CallKey, err error) {
	if len(key) != KeyPrefix+8+callLength+4 {
		return chainstore.Place{}, call, CorruptKey(TableRecall)
	}
	at.Segment = binary.BigEndian.Uint64(key[KeyPrefix:])
	copy(call[:], key[KeyPrefix+8:])
	at.Seq = ^binary.BigEndian.Uint32(key[KeyPrefix+8+callLength:])
	return at, call, nil
}

// Missing is the error for a row that every namespace has.
func Missing(table byte) error {
	return fmt.Errorf("%w: a namespace has no row in table %c", chainstore.ErrCorrupt, table)
}

// Dangling is the error for an index that names a node that is not there.
func Dangling(table byte) error {
	return fmt.Errorf("%w: table %c names a node that is not there", chainstore.ErrCorrupt, table)
}
