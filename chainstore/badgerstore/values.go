package badgerstore

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Every value is built and parsed here; this is part of the storage format and must not change. Integers are unsigned
// varints, text and bytes are a length and that many bytes, {x} is as many x as there are. What the database has for a long value
// may be packed: see badgerdb.
//
//	F  version
//	N  number
//	Z  number
//	S  kind [count {segment seq}] length-of-header [length-of-metadata] [chunks] header [metadata] [payload]
//	   kind = 1, plus 2 for a path, 4 for metadata, 8 for chunks in place of the payload; the path is where each fork
//	   left its parent's segment, nearest first, 64 at most: the next lie in the first row of the 64th one's segment
//	I  segment seq
//	A  bits moved_at states segment seq [count {key value}]      bits = 1 deleted, 2 labels, in order of their keys
//	H  bits number at segment seq                                bits = 1 deleted
//	W  segment seq
//	R  bits {index<<2 | left_out<<1 | result}                    bits = 1 a call of this id lies here or before
//	U  other_calls {bits [name] calls}                           bits = 1 named
//	V  {name seq}
//	L  time
//	C  next_segment puts nodes messages message_bytes aliases roots forks
const (
	formatVersion = 1

	rowNode     = 1
	rowPath     = 2
	rowMetadata = 4
	rowChunks   = 8
	rowKnown    = 15

	// minChunks: a payload that fits in one chunk lies in its row.
	minChunks = 2

	aliasDeleted = 1
	aliasLabels  = 2

	recallCalled  = 1
	recallResult  = 1
	recallLeftOut = 2

	toolNamed = 1
)

// row is a node as it lies in its row; slices are borrowed from the value.
type row struct {
	forks             []chainstore.Place
	header            chainstore.RawHeader
	metadata, payload []byte
	// chunks is the number of chunk rows that hold the payload instead.
	chunks int
}

func appendRow(b []byte, forks []chainstore.Place, header, metadata, payload []byte, chunks int) []byte {
	kind := uint64(rowNode)
	if len(forks) > 0 {
		kind |= rowPath
	}
	if len(metadata) > 0 {
		kind |= rowMetadata
	}
	if chunks > 0 {
		kind |= rowChunks
	}
	b = binary.AppendUvarint(b, kind)
	if len(forks) > 0 {
		b = binary.AppendUvarint(b, uint64(len(forks)))
	}
	for _, f := range forks {
		b = appendPlaceValue(b, f)
	}
	b = binary.AppendUvarint(b, uint64(len(header)))
	if len(metadata) > 0 {
		b = binary.AppendUvarint(b, uint64(len(metadata)))
	}
	if chunks > 0 {
		b = binary.AppendUvarint(b, uint64(chunks))
	}
	b = append(b, header...)
	b = append(b, metadata...)
	if chunks > 0 {
		return b
	}
	return append(b, payload...)
}

// parseRow reads an S row that is not a chunk; present is false for a place that was left empty.
func parseRow(value []byte) (r row, present bool, err error) {
	if len(value) == 0 {
		return row{}, false, nil
	}
	d := reader{rest: value}
	kind := d.number(rowKnown)
	if kind&rowPath != 0 {
		r.forks = make([]chainstore.Place, d.atLeast(1, maxForksInRow))
		for i := range r.forks {
			r.forks[i] = d.place()
		}
	}
	header, metadata := d.number(math.MaxInt32), uint64(0)
	if kind&rowMetadata != 0 {
		metadata = d.atLeast(1, math.MaxInt32)
	}
	if kind&rowChunks != 0 {
		r.chunks = int(d.atLeast(minChunks, math.MaxUint16))
	}
	r.header = d.bytes(int(header))
	if metadata > 0 {
		r.metadata = d.bytes(int(metadata))
	}
	if kind&rowNode == 0 || d.failed || r.chunks > 0 && len(d.rest) > 0 {
		return row{}, false, corruptValue(tableNodes)
	}
	r.payload = d.rest
	return r, true, nil
}

// aliasRow is an A row.
type aliasRow struct {
	deleted bool
	at      chainstore.Place
	movedAt int64
	// states counts the alias's states; this is the last. 1 or more; 2 or more where the alias is deleted.
	states uint64
	labels map[string]string
}

func appendAlias(b []byte, a *aliasRow) []byte {
	bits := uint64(0)
	if a.deleted {
		bits |= aliasDeleted
	}
	if len(a.labels) > 0 {
		bits |= aliasLabels
	}
	b = binary.AppendUvarint(b, bits)
	b = binary.AppendUvarint(b, uint64(a.movedAt))
	b = binary.AppendUvarint(b, a.states)
	b = appendPlaceValue(b, a.at)
	if len(a.labels) == 0 {
		return b
	}
	keys := make([]string, 0, len(a.labels))
	for k := range a.labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, k := range keys {
		b = appendText(appendText(b, k), a.labels[k])
	}
	return b
}

func parseAlias(value []byte) (*aliasRow, error) {
	d := reader{rest: value}
	bits := d.number(aliasDeleted | aliasLabels)
	a := &aliasRow{deleted: bits&aliasDeleted != 0}
	a.movedAt = int64(d.number(math.MaxInt64))
	a.states = d.atLeast(1, math.MaxUint64)
	a.at = d.place()
	if a.deleted && (a.states == 1 || a.at != chainstore.Place{} || bits&aliasLabels != 0) {
		d.fail()
	}
	if bits&aliasLabels != 0 {
		n := d.count()
		a.labels = make(map[string]string, n)
		for range n {
			k := d.text()
			a.labels[k] = d.text()
		}
	}
	return a, d.end(tableAliases)
}

// pastState is an H row.
type pastState struct {
	deleted bool
	// number counts an alias's states from 1; 2 or more where the alias was deleted.
	number uint64
	began  int64
	at     chainstore.Place
}

func appendPastState(b []byte, s *pastState) []byte {
	bits := uint64(0)
	if s.deleted {
		bits = aliasDeleted
	}
	b = binary.AppendUvarint(b, bits)
	b = binary.AppendUvarint(b, s.number)
	b = binary.AppendUvarint(b, uint64(s.began))
	return appendPlaceValue(b, s.at)
}

func parsePastState(value []byte) (s pastState, err error) {
	d := reader{rest: value}
	s.deleted = d.number(aliasDeleted) != 0
	s.number = d.atLeast(1, math.MaxUint64)
	s.began = int64(d.number(math.MaxInt64))
	if s.at = d.place(); s.deleted && (s.number == 1 || s.at != chainstore.Place{}) {
		d.fail()
	}
	return s, d.end(tableHistory)
}

func appendRecall(b []byte, r *derive.Recall) []byte {
	bits := uint64(0)
	if r.Called {
		bits = recallCalled
	}
	b = binary.AppendUvarint(b, bits)
	for _, m := range r.Messages {
		v := uint64(m.Index) << 2
		if m.Result {
			v |= recallResult
		}
		if m.LeftOut {
			v |= recallLeftOut
		}
		b = binary.AppendUvarint(b, v)
	}
	return b
}

func parseRecall(value []byte) (r derive.Recall, err error) {
	d := reader{rest: value}
	r.Called = d.number(recallCalled) != 0
	for len(d.rest) > 0 && !d.failed {
		v := d.number(math.MaxUint32<<2 | 3)
		r.Messages = append(r.Messages, chainstore.CallMessage{
			Index: uint32(v >> 2), Result: v&recallResult != 0, LeftOut: v&recallLeftOut != 0,
		})
	}
	return r, d.end(tableRecall)
}

func appendTools(b []byte, t *chainstore.Tables) []byte {
	b = binary.AppendUvarint(b, uint64(t.OtherCalls))
	for _, c := range t.Tools {
		if c.Name.Present {
			b = appendText(append(b, toolNamed), c.Name.Value)
		} else {
			b = append(b, 0)
		}
		b = binary.AppendUvarint(b, uint64(c.Calls))
	}
	return b
}

// parseTools reads a U row into t.
func parseTools(value []byte, t *chainstore.Tables) error {
	d := reader{rest: value}
	t.OtherCalls = int64(d.number(math.MaxInt64))
	for len(d.rest) > 0 && !d.failed {
		var c chainstore.ToolCount
		if d.number(toolNamed) != 0 {
			c.Name = runloop.Some(d.text())
		}
		c.Calls = int64(d.number(math.MaxInt64))
		t.Tools = append(t.Tools, c)
	}
	return d.end(tableTools)
}

func appendVariables(b []byte, vs []chainstore.Variable) []byte {
	for _, v := range vs {
		b = binary.AppendUvarint(appendText(b, v.Name), uint64(v.Seq))
	}
	return b
}

func parseVariables(value []byte) (vs []chainstore.Variable, err error) {
	d := reader{rest: value}
	for len(d.rest) > 0 && !d.failed {
		name := d.text()
		vs = append(vs, chainstore.Variable{Name: name, Seq: uint32(d.number(math.MaxUint32))})
	}
	return vs, d.end(tableVariables)
}

// counters is the C row of a namespace.
type counters struct {
	// nextSegment is above every segment in use; puts counts the nodes ever put.
	nextSegment, puts             uint64
	nodes, messages, messageBytes uint64
	aliases, roots, forks         uint64
	// awaited counts the spawned nodes that are not linked to their spawner: it was not put yet, or more than maxAdopted waited.
	awaited uint64
}

func appendCounters(b []byte, c *counters) []byte {
	for _, n := range c.fields() {
		b = binary.AppendUvarint(b, *n)
	}
	return b
}

func parseCounters(value []byte) (c counters, err error) {
	d := reader{rest: value}
	for _, n := range c.fields() {
		*n = d.number(math.MaxInt64)
	}
	return c, d.end(tableCounters)
}

func (c *counters) fields() [9]*uint64 {
	return [...]*uint64{
		&c.nextSegment, &c.puts, &c.nodes, &c.messages, &c.messageBytes, &c.aliases, &c.roots, &c.forks, &c.awaited,
	}
}

func appendPlaceValue(b []byte, p chainstore.Place) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, p.Segment), uint64(p.Seq))
}

func parsePlaceValue(value []byte, table byte) (chainstore.Place, error) {
	d := reader{rest: value}
	p := d.place()
	return p, d.end(table)
}

func numberValue(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func parseNumber(value []byte, table byte) (uint64, error) {
	d := reader{rest: value}
	n := d.number(math.MaxInt64)
	return n, d.end(table)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func corruptValue(table byte) error {
	return fmt.Errorf("%w: a value of table %c does not parse", chainstore.ErrCorrupt, table)
}

// reader reads a value; after a failure it reads zeros.
type reader struct {
	rest   []byte
	failed bool
}

func (d *reader) fail() { d.failed, d.rest = true, nil }

// number reads an integer of at most limit.
func (d *reader) number(limit uint64) uint64 { return d.atLeast(0, limit) }

// atLeast reads an integer of at least least and at most limit.
func (d *reader) atLeast(least, limit uint64) uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v < least || v > limit {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads the number of things that take at least a byte each.
func (d *reader) count() int { return int(d.number(uint64(len(d.rest)))) }

func (d *reader) bytes(n int) []byte {
	if n > len(d.rest) {
		d.fail()
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *reader) text() string { return string(d.bytes(d.count())) }

func (d *reader) place() chainstore.Place {
	segment := d.number(math.MaxInt64)
	return chainstore.Place{Segment: segment, Seq: uint32(d.number(math.MaxUint32))}
}

// end is the error of a value that was cut short or has something behind it.
func (d *reader) end(table byte) error {
	if d.failed || len(d.rest) > 0 {
		return corruptValue(table)
	}
	return nil
}
