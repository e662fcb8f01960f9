package chainstore

import (
	"encoding/binary"
	"fmt"
)

// RawHeader is a header as engines keep it. This is part of the storage format: a version never changes its meaning,
// and every later version reads it. Integers are unsigned varints unless drawn otherwise; "-> x" is x less than the
// value before the arrow; zigzag is a signed varint.
//
//	header   = version:1 byte (1, 2, and 128 more of a node that was erased) flags:1 byte id:32 bytes count first_put forks payload_length metadata_length [details_length]
//	           [salt: length bytes] [spawned: 32 bytes, optional] {message} [outcome count {call}] [phase] state links [compaction]
//	           [extension]
//	flags    = 1 repaired, 2 findings, 4 salt, 8 spawned, 16 compaction node, 32 outcome, 64 details, 128 extension
//	message  = bits length [octets octets->points] [zigzag first_put->sent_at] [tokens] [left-out loops] [calls names] [{saving, of each call}]
//	           [line] [repeated] [stub count {call}] [answers]
//	names    = 0 | count {0 | length+1 bytes} [{index, of each call}]
//	state    = bits view [view of effective, where it differs] repairs [preamble end: seq index] [group]
//	view     = zigzag seq+1->nodes messages depth loops bytes tokens bits [loop: seq->start.seq start.index]
//	           [zigzag first_put->latest user]
//	group    = count {call with answered, and with a name of its own or that of a call of these messages}
//	call     = bits [id: length bytes] [name: length bytes]
//	links    = bits [seq->tools] [seq->variables] [seq->compaction] [seq->spawned]
//	compaction = seq->covers count {0 | 1 seq->place.seq place.index}
//	extension  = length {tag length field: length bytes}, of length bytes; tags ascend from 1, each comes once
//
// No flag is left: what a later program adds to a header is a field of the extension. Who does not know a tag passes over its field, and
// keeps it where it writes the header again. What may not be passed over is a feature of the store that is required, or a version. Tags that
// have a meaning, though nothing writes them yet:
//
//	1 principal  who put the node first: a number of a table that is yet to come, as in the rows of aliases
//	2 blobs      {32 bytes}: the SHA-256 of each blob that the node's messages name and that lies outside of them, each once
//
// What a node that was erased has, and no other one, also one of version 1, which has an extension then:
//
//	3 erased     bits payload_digest:32 bytes [metadata_digest:32 bytes] payload_length metadata_length {length before, of each message; 0: it was
//	             not erased} {bits name: length bytes}
//
// bits = 1 there was metadata; of the change of a variable, 1 it was unset, 2 it was declared. All else that such a header tells of payload, metadata and
// details is of what is left, but for the state, which counts the messages as they were.
//
// A compaction node has a phase, and what has an outcome has stubs. What has calls has their names, each once and in the order in which
// they come, and where there are several, which each call has; 0 where they are over runloop.MaxNamesBytes. A result that is shown has
// the number of the call of its group that it answers. Where shorter arguments of any call would save something, it has what they
// save for each. The last calls of a group are the last ones of the messages, and a name that is there is not written again. In version 1 there are none of these, nor a bit for what came in part, was
// made or is opaque, nor an extension, and the latest user of a view counts as sent also where that is later than the first put of its node.
type RawHeader []byte

// The fixed part. Part of the storage format.
const (
	headerVersion1 = 1
	headerVersion  = 2
	// headerErased is added to the version of a node that was erased.
	headerErased = 128

	flagRepaired   = 1
	flagFindings   = 2
	flagSalt       = 4
	flagSpawned    = 8
	flagCompaction = 16
	flagOutcome    = 32
	flagDetails    = 64
	flagExtension  = 128
	knownFlags1    = 31
	// formFlags tell which parts follow; the others answer questions that may be asked anew.
	formFlags = flagSalt | flagSpawned | flagCompaction | flagOutcome | flagDetails | flagExtension

	rawIDOffset = 2
	rawFixed    = rawIDOffset + 32
)

// check tells whether the fixed part is there and of a version that this program reads.
func (r RawHeader) check() error {
	if len(r) <= rawFixed {
		return fmt.Errorf("%w: a header of %d bytes", ErrCorrupt, len(r))
	}
	known := byte(knownFlags1)
	if r.IsErased() {
		known |= flagExtension
	}
	switch r[0] &^ headerErased {
	case headerVersion:
		return nil
	case headerVersion1:
		if r[1]&^known != 0 {
			return fmt.Errorf("%w: a header of version %d with flags %d", ErrCorrupt, r[0], r[1])
		}
		return nil
	default:
		return fmt.Errorf("%w: a header of version %d, which this program does not know", ErrCorrupt, r[0])
	}
}

// ID is the node's id; the zero id where the header is cut short.
func (r RawHeader) ID() (id ID) {
	if len(r) > rawFixed {
		copy(id[:], r[rawIDOffset:])
	}
	return id
}

// Repaired is Header.Repaired.
func (r RawHeader) Repaired() bool { return len(r) > 1 && r[1]&flagRepaired != 0 }

// HasFindings is Header.HasFindings.
func (r RawHeader) HasFindings() bool {
	return len(r) > 1 && (r[1]&flagFindings != 0 || r.IsErased())
}

// IsCompaction tells whether the node is a compaction node.
func (r RawHeader) IsCompaction() bool { return len(r) > 1 && r[1]&flagCompaction != 0 }

// IsErased tells whether the node was erased.
func (r RawHeader) IsErased() bool { return len(r) > 1 && r[0]&headerErased != 0 }

// MessageCount is the number of the node's messages; 0 where the header is cut short, never more than its bytes.
func (r RawHeader) MessageCount() int {
	if len(r) <= rawFixed {
		return 0
	}
	n, _ := binary.Uvarint(r[rawFixed:])
	return int(min(n, uint64(len(r)))) // each takes more than a byte
}
