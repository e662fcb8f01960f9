package layout

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/derive"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Every value is built and parsed here; this is part of the storage format and must not change. Integers are unsigned
// varints, text and bytes are a length and that many bytes, {x} is as many x as there are. What the database has for a long value
// may be packed: see badgerdb.
//
//	F  version
//	D  id:16 {required feature} {optional feature} ...           {x} = count, then the names
//	N  number
//	Z  number
//	Y  count {version made_at secret:32} ...                     the present key, and the one before, if there was one
//	S  kind [count {segment seq}] length-of-header [length-of-metadata] [chunks] [length-of-details] header [metadata] [payload [details]]
//	   kind = 1, plus 2 for a path, 4 for metadata, 8 for chunks in place of the payload and the details behind it, 16 for details; the path
//	   is where each fork left its parent's segment, nearest first, 64 at most: the next lie in the first row of the 64th one's segment
//	I  segment seq
//	A  12 bits moved_at states segment seq revision relabelled principal [count {key value}] ...
//	   bits = 1 deleted, 2 labels, in order of their keys, 4 forgotten at once, of which there is no H row; relabelled are the changes of
//	   labels since the last state began
//	H  12 bits number at segment seq revision principal ...      bits = 1 deleted
//	W  segment seq
//	R  bits {index<<2 | left_out<<1 | result}                    bits = 1 a call of this id lies here or before
//	U  00 02 other_calls {bits [name] calls}                     bits = 1 named
//	V  00 02 {name seq}                                          names are not empty
//	L  time
//	C  next_segment puts nodes messages message_bytes aliases roots forks awaited [floor [swept [erasures ...]]]
//	   floor = the highest revision of any name that was forgotten, swept the nodes ever deleted, erasures as chainstore.NextErasures, each if not 0,
//	   or there is more behind; see chainstore.Forgotten. message_bytes are those from before erasures
//	Q  the receipt, as it was given
//	B  seed:32 ...
//	J  00: kind at namespace bytes {segment seq}                 kind = 0; these nodes were erased, which have so many bytes about
//	       kind at namespace                                     kind = 1; the whole namespace was deleted
//	       kind at namespace bytes {name}                        kind = 2; the labels of these aliases were erased
//	   01: at
//	   02: 00, where the key had nothing; 01 value
//	G  revision max_nodes max_message_bytes max_aliases ...      revision is not 0
//
// A store of format 1 has headers of version 1 (chainstore.RawHeader), and at these nodes U and V rows without the two bytes of their
// version, which begin no such row: bits of a tool are 0 or 1, and names are not empty. Its A and H rows have neither the byte of their
// version, which is above all bits, nor revision, relabelled and principal. Nothing else is otherwise.
//
// A row has a version where one is drawn, a byte at its beginning: A and H rows 0x10 and the version, U and V rows 00 and the version. What
// it means changes with it alone. A program refuses a version that it does not know, a kind of an S row, and bits: a store that
// has such rows has a feature that is required (see StoreHeader), or another format. What a program may add without either is what ...
// stands for, fields of a header's extension (see chainstore.RawHeader), and further parts of details (chainstore.EncodeDetails): it is
// passed over by who does not know it. It is kept where a row is read, changed and written again: D, Y, A, B, C and G rows, and headers.
// An H row, which is put in the place of that of another state, and an L row are written whole. All other rows follow
// from what a change puts; more of them would be rows of a further table.
//
// principal is who made a change: a number of a table that is yet to come, 0 where that is not known.
const (
	FormatVersion      = 2
	FirstFormatVersion = 1

	RowNode     = 1
	rowPath     = 2
	rowMetadata = 4
	rowChunks   = 8
	rowDetails  = 16
	rowKnown    = 31

	// minChunks: what fits in one chunk lies in its row.
	minChunks = 2

	// lastVersion is that of the rows that have a version, and that are written now.
	lastVersion = 2
	// aliasVersions and the version begin A and H rows of version 2 and later.
	aliasVersions = 0x10

	aliasDeleted   = 1
	aliasLabels    = 2
	aliasForgotten = 4

	recallCalled  = 1
	recallResult  = 1
	recallLeftOut = 2

	toolNamed = 1

	// tableVersions and the version begin U and V rows of version 2 and later.
	tableVersions = "\x00"
)

// Row is a node as it lies in its row; slices are borrowed from the value.
type Row struct {
	Forks             []chainstore.Place
	Header            chainstore.RawHeader
	Metadata, Payload []byte
	// Details lie behind the payload.
	Details []byte
	// Chunks is the number of chunk rows that hold payload and details instead; then DetailsLength tells how long the latter are.
	Chunks, DetailsLength int
}

// AppendRow appends a node's row. Where it has chunks, of its payload and its details only the lengths count.
func AppendRow(b []byte, r *Row) []byte {
	kind := uint64(RowNode)
	lengths := [...]struct {
		bit uint64
		n   int
	}{{rowMetadata, len(r.Metadata)}, {rowChunks, r.Chunks}, {rowDetails, r.DetailsLength}}
	for _, l := range lengths {
		if l.n > 0 {
			kind |= l.bit
		}
	}
	if len(r.Forks) > 0 {
		kind |= rowPath
	}
	b = binary.AppendUvarint(b, kind)
	if len(r.Forks) > 0 {
		b = binary.AppendUvarint(b, uint64(len(r.Forks)))
	}
	for _, f := range r.Forks {
		b = AppendPlaceValue(b, f)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Header)))
	for _, l := range lengths {
		if l.n > 0 {
			b = binary.AppendUvarint(b, uint64(l.n))
		}
	}
	b = append(b, r.Header...)
	b = append(b, r.Metadata...)
	if r.Chunks > 0 {
		return b
	}
	return append(append(b, r.Payload...), r.Details...)
}

// ParseRow reads an S row that is not a chunk; present is false for a place that was left empty.
func ParseRow(value []byte) (r Row, present bool, err error) {
	if len(value) == 0 {
		return Row{}, false, nil
	}
	d := reader{rest: value}
	kind := d.number(math.MaxUint64)
	if kind > rowKnown {
		return Row{}, false, fmt.Errorf("%w: a row of table %c is of kind %d, which this program does not know", chainstore.ErrCorrupt, TableNodes, kind)
	}
	if kind&rowPath != 0 {
		r.Forks = make([]chainstore.Place, d.atLeast(1, MaxForksInRow))
		for i := range r.Forks {
			r.Forks[i] = d.place()
		}
	}
	header, metadata := d.number(math.MaxInt32), uint64(0)
	if kind&rowMetadata != 0 {
		metadata = d.atLeast(1, math.MaxInt32)
	}
	if kind&rowChunks != 0 {
		r.Chunks = int(d.atLeast(minChunks, math.MaxUint16))
	}
	if kind&rowDetails != 0 {
		r.DetailsLength = int(d.atLeast(1, math.MaxInt32))
	}
	r.Header = d.bytes(int(header))
	if metadata > 0 {
		r.Metadata = d.bytes(int(metadata))
	}
	if kind&RowNode == 0 || d.failed || r.Chunks > 0 && len(d.rest) > 0 || r.Chunks == 0 && !r.split(d.rest) {
		return Row{}, false, CorruptValue(TableNodes)
	}
	return r, true, nil
}

// Gather gives a row whose payload and details lie in chunks these; they lie end to end in b.
func (r *Row) Gather(b []byte) error {
	if !r.split(b) {
		return CorruptValue(TableNodes)
	}
	return nil
}

// split tells a payload from the details behind it; false: there are too few bytes for the latter.
func (r *Row) split(b []byte) bool {
	at := len(b) - r.DetailsLength
	if at < 0 {
		return false
	}
	r.Payload = b[:at:at]
	if r.DetailsLength > 0 {
		r.Details = b[at:]
	}
	return true
}

func AppendRecall(b []byte, r *derive.Recall) []byte {
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

func ParseRecall(value []byte) (r derive.Recall, err error) {
	d := reader{rest: value}
	r.Called = d.number(recallCalled) != 0
	for len(d.rest) > 0 && !d.failed {
		v := d.number(math.MaxUint32<<2 | 3)
		r.Messages = append(r.Messages, chainstore.CallMessage{
			Index: uint32(v >> 2), Result: v&recallResult != 0, LeftOut: v&recallLeftOut != 0,
		})
	}
	return r, d.end(TableRecall)
}

func AppendTools(b []byte, t *chainstore.Tables) []byte {
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

// ParseTools reads a U row into t.
func ParseTools(value []byte, t *chainstore.Tables) error {
	d := reader{rest: value}
	d.version(tableVersions, 0)
	t.OtherCalls = int64(d.number(math.MaxInt64))
	for len(d.rest) > 0 && !d.failed {
		var c chainstore.ToolCount
		if d.number(toolNamed) != 0 {
			c.Name = runloop.Some(d.text())
		}
		c.Calls = int64(d.number(math.MaxInt64))
		t.Tools = append(t.Tools, c)
	}
	return d.end(TableTools)
}

func appendVariables(b []byte, vs []chainstore.Variable) []byte {
	for _, v := range vs {
		b = binary.AppendUvarint(appendText(b, v.Name), uint64(v.Seq))
	}
	return b
}

func ParseVariables(value []byte) (vs []chainstore.Variable, err error) {
	d := reader{rest: value}
	d.version(tableVersions, 0)
	for len(d.rest) > 0 && !d.failed {
		name := string(d.bytes(int(d.atLeast(1, uint64(len(d.rest))))))
		vs = append(vs, chainstore.Variable{Name: name, Seq: uint32(d.number(math.MaxUint32))})
	}
	return vs, d.end(TableVariables)
}

// CheckVersion tells of a U or V row whether it is of a version that this program does not know: ErrCorrupt. It passes other tables.
func CheckVersion(table byte, value []byte) error {
	if table != TableTools && table != TableVariables {
		return nil
	}
	d := reader{rest: value}
	if d.version(tableVersions, 0) <= lastVersion {
		return nil
	}
	return d.end(table)
}

// Counters is the C row of a namespace.
type Counters struct {
	// NextSegment is above every segment in use; puts counts the nodes ever put.
	NextSegment, Puts             uint64
	Nodes, Messages, MessageBytes uint64
	Aliases, Roots, Forks         uint64
	// Awaited counts the spawned nodes that are not linked to their spawner: it was not put yet, or more than maxAdopted waited.
	Awaited uint64
	// Floor is the highest revision of any name that was forgotten.
	Floor uint64
	// Swept counts the nodes ever deleted. Erasures are those of chainstore.Eraser: 0 if and only if there are no receipts.
	Swept, Erasures uint64
	// Rest is what a later program has behind, kept where the row is written again.
	Rest string
}

func AppendCounters(b []byte, c *Counters) []byte {
	for _, n := range c.Fields() {
		b = binary.AppendUvarint(b, *n)
	}
	last := 0
	added := c.added()
	for i, n := range added {
		if *n > 0 || c.Rest != "" {
			last = i + 1
		}
	}
	for _, n := range added[:last] {
		b = binary.AppendUvarint(b, *n)
	}
	return append(b, c.Rest...)
}

func ParseCounters(value []byte) (c Counters, err error) {
	d := reader{rest: value}
	for _, n := range c.Fields() {
		*n = d.number(math.MaxInt64)
	}
	last := uint64(1)
	for _, n := range c.added() {
		if len(d.rest) > 0 {
			*n = d.number(math.MaxInt64)
			last = *n
		}
	}
	if c.Rest, d.rest = string(d.rest), nil; last == 0 && c.Rest == "" {
		d.fail()
	}
	return c, d.end(TableCounters)
}

// added are fields that were added behind, in order; the last ones are left out where they are 0.
func (c *Counters) added() [3]*uint64 { return [...]*uint64{&c.Floor, &c.Swept, &c.Erasures} }

// Fields are those that every such row has, in order.
func (c *Counters) Fields() [9]*uint64 {
	return [...]*uint64{
		&c.NextSegment, &c.Puts, &c.Nodes, &c.Messages, &c.MessageBytes, &c.Aliases, &c.Roots, &c.Forks, &c.Awaited,
	}
}

// Stats are what the store tells of the namespace.
func (c *Counters) Stats() chainstore.Stats {
	return chainstore.Stats{
		Nodes: int64(c.Nodes), Messages: int64(c.Messages), MessageBytes: int64(c.MessageBytes),
		Aliases: int64(c.Aliases), Roots: int64(c.Roots), Forks: int64(c.Forks),
	}
}

func AppendPlaceValue(b []byte, p chainstore.Place) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, p.Segment), uint64(p.Seq))
}

func ParsePlaceValue(value []byte, table byte) (chainstore.Place, error) {
	d := reader{rest: value}
	p := d.place()
	return p, d.end(table)
}

func NumberValue(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func ParseNumber(value []byte, table byte) (uint64, error) {
	d := reader{rest: value}
	n := d.number(math.MaxInt64)
	return n, d.end(table)
}

func ParseNamespace(value []byte, table byte) (uint32, error) {
	n, err := ParseNumber(value, table)
	if err == nil && (n < FirstNamespace || n > LastNamespace) {
		err = CorruptValue(table)
	}
	return uint32(n), err
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func CorruptValue(table byte) error {
	return fmt.Errorf("%w: a value of table %c does not parse", chainstore.ErrCorrupt, table)
}

// reader reads a value; after a failure it reads zeros.
type reader struct {
	rest   []byte
	failed bool
	// unknown is the version of the value, where this program does not know it.
	unknown byte
}

func (d *reader) fail() { d.failed, d.rest = true, nil }

// version reads the version of a row, which follows a prefix, with base added to it: no row of version 1 begins like one of a later version.
// One that this program does not know is a failure.
func (d *reader) version(prefix string, base byte) (version byte) {
	at := len(prefix)
	if len(d.rest) <= at || string(d.rest[:at]) != prefix || d.rest[at] < base+lastVersion {
		return 1
	}
	version = d.rest[at] - base
	if d.rest = d.rest[at+1:]; version > lastVersion {
		d.fail()
		d.unknown = version
	}
	return version
}

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
	if d.unknown > 0 {
		return fmt.Errorf("%w: a row of table %c is of version %d, which this program does not know", chainstore.ErrCorrupt, table, d.unknown)
	}
	if d.failed || len(d.rest) > 0 {
		return CorruptValue(table)
	}
	return nil
}

// ChunksOf is the chunks that a payload and the details behind it lie in, so many bytes together; 0 where they lie in their row.
func ChunksOf(bytes int) int {
	if bytes <= MaxChunk {
		return 0
	}
	return (bytes + MaxChunk - 1) / MaxChunk
}

// MaxAdopted is how many of the nodes that wait for a spawner are linked to it when it is put, those put first: as many as Spawned
// looks at of one spawner, those that it passes over counted, and one more, which tells that there are more.
const MaxAdopted = 2*chainstore.SpawnedReach + 1

// Spawned is a node that was spawned, and the number of its put.
type Spawned struct {
	Number uint64
	At     chainstore.Place
}
