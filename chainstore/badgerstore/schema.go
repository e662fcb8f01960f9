package badgerstore

import (
	"encoding/binary"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/derive"
)

// Every key is built and parsed here; every value in values.go. Both are part of the storage format and must not
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
//	N name                                number of the namespace of that name
//	Z                                     last number given to a namespace; numbers are never used again
//
// The other namespaces have, with place = segment:8 seq:4 and seq the number of a node's ancestors,
//
//	S place                               the node that lies there; an empty row is a place that must not be used again
//	S place chunk:2                       a piece of the payload of the node at place, from 1
//	I id:32                               place of the node
//	A name                                alias; a deleted one has a row that says so
//	H name 00 slot:1                      a past state of an alias; its number modulo 100 is the slot
//	T folder 00 ^moved_at:8 rest          empty; aliases of a folder by last move; folder and rest make the name
//	P place name                          empty; aliases by the node they point to
//	K place segment:8                     empty; children of the node at place that began a segment
//	W spawner:32 number:8                 place of a node spawned by a node; numbers count the nodes ever put
//	X segment:8 ^seq:4 number:8           the same by the place of the spawner, once that was put
//	R segment:8 call:16 ^seq:4            messages of a node that have calls, or are results, of a call id
//	U place                               tools called on the path to a node that has calls
//	V place                               variables set on the path to a node that sets variables
//	L place                               time of the last put of a node that was put again
//	C                                     counters
//
// Names hold no zero byte: control characters are refused before. rest is what follows the folder, its slash included, so
// that "x" and "/x", both of the folder "", differ.
//
// A compaction node has no R, U and V rows: its messages are copies.
//
// T and P rows may be deleted, for they can be made again; every other row is only ever overwritten.
const (
	tableFormat  = 'F'
	tableNames   = 'N'
	tableNumbers = 'Z'

	tableNodes     = 'S'
	tableIDs       = 'I'
	tableAliases   = 'A'
	tableHistory   = 'H'
	tableMoved     = 'T'
	tableHeads     = 'P'
	tableForks     = 'K'
	tableSpawned   = 'W'
	tableSpawnedAt = 'X'
	tableRecall    = 'R'
	tableTools     = 'U'
	tableVariables = 'V'
	tableLastPut   = 'L'
	tableCounters  = 'C'

	// ownTables are those of namespace 0, namespaceTables those of the others.
	ownTables       = "FNZ"
	namespaceTables = "SIAHTPKWXRUVLC"

	ownNamespace = 0

	// historySlots is how many past states of an alias are kept.
	historySlots = chainstore.MaxHistory
	// maxChunk is the most bytes of a payload that lie in one row; a longer one lies in chunks of this size.
	maxChunk = 256 << 10
	// maxForksInRow is the most forks that a row holds of its path.
	maxForksInRow = 64

	keyPrefix   = 4 + 1
	placeLength = 8 + 4
	rowKeySize  = keyPrefix + placeLength
	chunkSuffix = 2
	callLength  = 16
)

func tableKey(ns uint32, table byte) []byte {
	k := make([]byte, 0, keyPrefix+64)
	return append(binary.BigEndian.AppendUint32(k, ns), table)
}

// namespaceOf is the number that a key begins with.
func namespaceOf(key string) uint32 {
	return uint32(key[0])<<24 | uint32(key[1])<<16 | uint32(key[2])<<8 | uint32(key[3])
}

func appendPlace(k []byte, p chainstore.Place) []byte {
	k = binary.BigEndian.AppendUint64(k, p.Segment)
	return binary.BigEndian.AppendUint32(k, p.Seq)
}

func placeKey(ns uint32, table byte, p chainstore.Place) []byte {
	return appendPlace(tableKey(ns, table), p)
}

func nameKey(name string) []byte { return append(tableKey(ownNamespace, tableNames), name...) }

func segmentKey(ns uint32, segment uint64) []byte {
	return binary.BigEndian.AppendUint64(tableKey(ns, tableNodes), segment)
}

func chunkKey(ns uint32, p chainstore.Place, chunk int) []byte {
	return binary.BigEndian.AppendUint16(placeKey(ns, tableNodes, p), uint16(chunk))
}

func idKey(ns uint32, id chainstore.ID) []byte { return append(tableKey(ns, tableIDs), id[:]...) }

func aliasKey(ns uint32, name string) []byte { return append(tableKey(ns, tableAliases), name...) }

func historyKey(ns uint32, name string, number uint64) []byte {
	k := append(tableKey(ns, tableHistory), name...)
	return append(k, 0, byte(number%historySlots))
}

func folderKey(ns uint32, folder string) []byte {
	return append(append(tableKey(ns, tableMoved), folder...), 0)
}

func movedKey(ns uint32, name string, movedAt int64) []byte {
	folder := chainstore.Folder(name)
	k := binary.BigEndian.AppendUint64(folderKey(ns, folder), ^uint64(movedAt))
	return append(k, name[len(folder):]...)
}

func headKey(ns uint32, head chainstore.Place, name string) []byte {
	return append(placeKey(ns, tableHeads, head), name...)
}

func forkKey(ns uint32, parent chainstore.Place, child uint64) []byte {
	return binary.BigEndian.AppendUint64(placeKey(ns, tableForks, parent), child)
}

func spawnerKey(ns uint32, spawner chainstore.ID) []byte {
	return append(tableKey(ns, tableSpawned), spawner[:]...)
}

func spawnedKey(ns uint32, spawner chainstore.ID, number uint64) []byte {
	return binary.BigEndian.AppendUint64(spawnerKey(ns, spawner), number)
}

func spawnedAtPrefix(ns uint32, segment uint64) []byte {
	return binary.BigEndian.AppendUint64(tableKey(ns, tableSpawnedAt), segment)
}

func spawnedAtKey(ns uint32, spawner chainstore.Place, number uint64) []byte {
	k := binary.BigEndian.AppendUint32(spawnedAtPrefix(ns, spawner.Segment), ^spawner.Seq)
	return binary.BigEndian.AppendUint64(k, number)
}

func recallSegment(ns uint32, segment uint64) []byte {
	return binary.BigEndian.AppendUint64(tableKey(ns, tableRecall), segment)
}

func recallPrefix(ns uint32, segment uint64, call derive.CallKey) []byte {
	return append(recallSegment(ns, segment), call[:]...)
}

func recallKey(ns uint32, at chainstore.Place, call derive.CallKey) []byte {
	return binary.BigEndian.AppendUint32(recallPrefix(ns, at.Segment, call), ^at.Seq)
}

func countersKey(ns uint32) []byte { return tableKey(ns, tableCounters) }

func corruptKey(table byte) error {
	return fmt.Errorf("%w: a key of table %c does not parse", chainstore.ErrCorrupt, table)
}

// parsePlace reads the place that follows the table byte, and what follows it.
func parsePlace(key []byte) (p chainstore.Place, rest []byte, err error) {
	if len(key) < rowKeySize {
		return chainstore.Place{}, nil, fmt.Errorf("%w: a key of %d bytes holds no place", chainstore.ErrCorrupt, len(key))
	}
	p.Segment = binary.BigEndian.Uint64(key[keyPrefix:])
	p.Seq = binary.BigEndian.Uint32(key[keyPrefix+8:])
	return p, key[rowKeySize:], nil
}

// parseNodeKey reads an S key; chunk is 0 for the row itself.
func parseNodeKey(key []byte) (p chainstore.Place, chunk int, err error) {
	p, rest, err := parsePlace(key)
	switch {
	case err != nil:
		return chainstore.Place{}, 0, err
	case len(rest) == 0:
		return p, 0, nil
	case len(rest) == chunkSuffix && rest[0]|rest[1] != 0:
		return p, int(binary.BigEndian.Uint16(rest)), nil
	default:
		return chainstore.Place{}, 0, corruptKey(tableNodes)
	}
}

// parseForkKey reads a K key.
func parseForkKey(key []byte) (parent chainstore.Place, child uint64, err error) {
	parent, rest, err := parsePlace(key)
	if err != nil || len(rest) != 8 {
		return chainstore.Place{}, 0, corruptKey(tableForks)
	}
	return parent, binary.BigEndian.Uint64(rest), nil
}

// parseIDKey reads an I key.
func parseIDKey(key []byte) (id chainstore.ID, err error) {
	if len(key) != keyPrefix+len(id) {
		return id, corruptKey(tableIDs)
	}
	copy(id[:], key[keyPrefix:])
	return id, nil
}

// parseAliasKey reads an A key.
func parseAliasKey(key []byte) string { return string(key[keyPrefix:]) }

// parseMovedKey reads a T key of a known folder.
func parseMovedKey(key []byte, folder string) (name string, movedAt int64, err error) {
	at := keyPrefix + len(folder) + 1
	if len(key) < at+8 {
		return "", 0, corruptKey(tableMoved)
	}
	return folder + string(key[at+8:]), int64(^binary.BigEndian.Uint64(key[at:])), nil
}

// parseSpawnedKey reads a W key.
func parseSpawnedKey(key []byte) (spawner chainstore.ID, number uint64, err error) {
	if len(key) != keyPrefix+len(spawner)+8 {
		return spawner, 0, corruptKey(tableSpawned)
	}
	copy(spawner[:], key[keyPrefix:])
	return spawner, binary.BigEndian.Uint64(key[keyPrefix+len(spawner):]), nil
}

// parseSpawnedAtKey reads the number in an X key.
func parseSpawnedAtKey(key []byte) (number uint64, err error) {
	if len(key) != rowKeySize+8 {
		return 0, corruptKey(tableSpawnedAt)
	}
	return binary.BigEndian.Uint64(key[rowKeySize:]), nil
}

// parseRecallKey reads an R key.
func parseRecallKey(key []byte) (at chainstore.Place, call derive.CallKey, err error) {
	if len(key) != keyPrefix+8+callLength+4 {
		return chainstore.Place{}, call, corruptKey(tableRecall)
	}
	at.Segment = binary.BigEndian.Uint64(key[keyPrefix:])
	copy(call[:], key[keyPrefix+8:])
	at.Seq = ^binary.BigEndian.Uint32(key[keyPrefix+8+callLength:])
	return at, call, nil
}
