package chainstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// Detail is what is known of how a message was made. It is not hashed, no fold reads it, and it lies behind the payload, so that who
// reads headers does not read it.
type Detail struct {
	// Model is the model that made the message, FinishReason why it ended; empty: not known.
	Model, FinishReason string
	// Input, Output and Cached are the tokens of the call that made the message; nil: not known.
	Input, Output, Cached *int32
	// Attributes are further facts, in the order of their keys, each key once.
	Attributes []Attribute
}

// Attribute is one further fact of a message.
type Attribute struct{ Key, Value string }

// Empty tells whether nothing is known.
func (d *Detail) Empty() bool {
	return d.Model == "" && d.FinishReason == "" && d.Input == nil && d.Output == nil && d.Cached == nil && len(d.Attributes) == 0
}

// Bits of a detail. Part of the storage format.
const (
	detailModel      = 1
	detailFinish     = 2
	detailInput      = 4
	detailOutput     = 8
	detailCached     = 16
	detailAttributes = 32

	// detailsSum is the length of the checksum.
	detailsSum = 4
)

// EncodeDetails encodes the details of a node's messages, in their order; nil where all are empty. This is part of the storage format.
//
//	details = {skip length detail} sum:4 bytes
//	detail  = bits [model: length bytes] [finish reason: length bytes] [input] [output] [cached] [count {key: length bytes value: length bytes}]
//
// skip is how many messages before it, and behind the one before, have none. What a reader does not know of a detail stands at its end and
// has a bit of its own; it is passed over. sum is the CRC-32C of all before it, big-endian: nothing else proves these bytes.
func EncodeDetails(details []Detail) []byte {
	var out, one []byte
	skip := 0
	for i := range details {
		if details[i].Empty() {
			skip++
			continue
		}
		one = appendDetail(one[:0], &details[i])
		out = binary.AppendUvarint(out, uint64(skip))
		out = binary.AppendUvarint(out, uint64(len(one)))
		out = append(out, one...)
		skip = 0
	}
	if out == nil {
		return nil
	}
	return binary.BigEndian.AppendUint32(out, sumOf(out))
}

func sumOf(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func appendDetail(b []byte, d *Detail) []byte {
	b = binary.AppendUvarint(b, bit(d.Model != "", detailModel)|bit(d.FinishReason != "", detailFinish)|bit(d.Input != nil, detailInput)|
		bit(d.Output != nil, detailOutput)|bit(d.Cached != nil, detailCached)|bit(len(d.Attributes) > 0, detailAttributes))
	for _, s := range [...]string{d.Model, d.FinishReason} {
		if s != "" {
			b = appendBytes(b, s)
		}
	}
	for _, n := range [...]*int32{d.Input, d.Output, d.Cached} {
		if n != nil {
			b = binary.AppendUvarint(b, uint64(*n))
		}
	}
	b = appendCount(b, len(d.Attributes))
	for _, a := range d.Attributes {
		b = appendBytes(appendBytes(b, a.Key), a.Value)
	}
	return b
}

// DecodeDetails is the reverse of EncodeDetails for a node of so many messages: one for each, nil for no bytes. What it returns shares
// nothing with b. ErrCorrupt.
func DecodeDetails(b []byte, messages int) ([]Detail, error) {
	if len(b) == 0 {
		return nil, nil
	}
	body := len(b) - detailsSum
	if body <= 0 || binary.BigEndian.Uint32(b[body:]) != sumOf(b[:body]) {
		return nil, fmt.Errorf("%w: the details of a node's messages are not what was written", ErrCorrupt)
	}
	out := make([]Detail, messages)
	d := headerReader{rest: b[:body]}
	for at := uint64(0); len(d.rest) > 0; at++ {
		at += d.number(uint64(messages))
		one := headerReader{rest: d.bytes(int(d.number(uint64(len(d.rest)))))}
		if at >= uint64(messages) || d.failed {
			return nil, fmt.Errorf("%w: the details of a node's messages do not parse", ErrCorrupt)
		}
		if one.detail(&out[at]); one.failed {
			return nil, fmt.Errorf("%w: the detail of message %d does not parse", ErrCorrupt, at)
		}
	}
	return out, nil
}

// detail reads one detail and passes over what it does not know.
func (d *headerReader) detail(out *Detail) {
	bits := d.number(math.MaxUint64)
	if bits&detailModel != 0 {
		out.Model = d.text()
	}
	if bits&detailFinish != 0 {
		out.FinishReason = d.text()
	}
	for i, n := range [...]**int32{&out.Input, &out.Output, &out.Cached} {
		if bits&(detailInput<<i) != 0 {
			tokens := int32(d.number(math.MaxInt32))
			*n = &tokens
		}
	}
	if bits&detailAttributes != 0 {
		out.Attributes = make([]Attribute, d.count())
		for i := range out.Attributes {
			out.Attributes[i] = Attribute{Key: d.text(), Value: d.text()}
		}
	}
}
