package verify

import (
	"encoding/binary"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// position is how far a check has come. A cursor is one, encoded:
//
//	version:1 whole:1 namespace file key spawner, each with its length; then numbers, as uvarints, in the order of fields
//
// It is no part of the storage format: another version is refused, and the check begins anew.
type position struct {
	// whole says that the store is checked: file is the last file that was, step what is checked now, and namespace the one that is
	// being checked or, where begun is 0, that was last.
	whole           bool
	namespace, file string
	step            uint64
	// nodes, entries, files and namespaces are those checked so far.
	nodes, entries, files, namespaces uint64
	progress
}

// progress is how far the check of a namespace has come.
type progress struct {
	// begun is 1 once it has begun; number is the namespace's, and asOf the newest commit then: later rows of nodes are passed over.
	begun, number, asOf uint64
	// part is the part of the check, key the row that it goes on with, empty at its begin, and rows those that it has counted.
	part, rows uint64
	key        []byte
	// sums are, by bucketOf, of the hashes of rows that follow from nodes, less those of the rows that there are.
	sums [buckets]uint64
	// found counts, by table, the rows that were looked for and found.
	found ['Z' + 1 - 'A']uint64
	// hasCounters says that counters, those of the namespace as of asOf, can be read; counted are what they should be; segment is the
	// highest in use.
	hasCounters       uint64
	counters, counted layout.Counters
	segment           uint64
	// before is where the node before lies, if hasBefore, with flags of parentNode.
	hasBefore, beforeSegment, beforeSeq, beforeFlags uint64
	// spawned sums up hashes of what nodes say that they were spawned from; puts is above the number of each that was. siblings are
	// those that the spawner has so far.
	spawned, puts, siblings uint64
	spawner                 chainstore.ID
	// unchecked counts the nodes behind one that cannot be read, but for the first; lost, the states of aliases that point to one.
	unchecked, lost uint64
	// aliasesAsOf is the commit as of which the first alias was read; 0 before.
	aliasesAsOf uint64
}

// buckets is how many sums there are of rows that follow from nodes. Each is of the nodes of some segments, so that where one differs only
// these are looked at again.
const buckets = 1 << bucketBits

const bucketBits = 5

func bucketOf(segment uint64) uint64 { return segment * 0x9e3779b97f4a7c15 >> (64 - bucketBits) }

const cursorVersion = 4

// fields are all numbers of a position, in the order of a cursor.
func (p *position) fields() []*uint64 {
	all := []*uint64{
		&p.step, &p.nodes, &p.entries, &p.files, &p.namespaces, &p.begun, &p.number, &p.asOf, &p.part, &p.rows, &p.hasCounters, &p.segment,
		&p.hasBefore, &p.beforeSegment, &p.beforeSeq, &p.beforeFlags, &p.spawned, &p.puts, &p.siblings, &p.unchecked, &p.lost, &p.aliasesAsOf,
		&p.counters.Floor, &p.counted.Floor, &p.counters.Swept, &p.counted.Swept,
		&p.counters.Erasures, &p.counted.Erasures,
	}
	for _, c := range []*layout.Counters{&p.counters, &p.counted} {
		for _, n := range c.Fields() {
			all = append(all, n)
		}
	}
	for i := range p.sums {
		all = append(all, &p.sums[i])
	}
	for i := range p.found {
		all = append(all, &p.found[i])
	}
	return all
}

// append appends the position as a cursor.
func (p *position) append(b []byte) []byte {
	b = append(b, cursorVersion, 0)
	if p.whole {
		b[len(b)-1] = 1
	}
	for _, s := range []string{p.namespace, p.file, string(p.key), string(p.spawner[:])} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	for _, n := range p.fields() {
		b = binary.AppendUvarint(b, *n)
	}
	return b
}

// parse reads a cursor into a position that says what is to be checked: chainstore.ErrBadCursor where the cursor's is another.
func (p *position) parse(cursor []byte) error {
	want := *p
	d := cursorReader{rest: cursor}
	if d.byte() != cursorVersion || d.byte() == 1 != p.whole {
		return chainstore.ErrBadCursor
	}
	p.namespace, p.file, p.key = d.text(), d.text(), []byte(d.text())
	spawner := d.text()
	for _, n := range p.fields() {
		*n = d.number()
	}
	if d.failed || len(d.rest) > 0 || copy(p.spawner[:], spawner) != len(p.spawner) || len(spawner) != len(p.spawner) {
		return chainstore.ErrBadCursor
	}
	if !want.whole && p.namespace != want.namespace || p.beforeSeq > math.MaxUint32 || p.number > math.MaxUint32 {
		return chainstore.ErrBadCursor
	}
	return nil
}

// cursorReader reads a cursor; failed once that ended early.
type cursorReader struct {
	rest   []byte
	failed bool
}

func (d *cursorReader) byte() byte {
	if len(d.rest) == 0 {
		d.failed = true
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *cursorReader) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.failed, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *cursorReader) text() string {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.failed, d.rest = true, nil
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

// report tells of the position.
func (p *position) report() chainstore.VerifyReport {
	r := chainstore.VerifyReport{
		Files: int64(p.files), Namespaces: int64(p.namespaces), Nodes: int64(p.nodes), Entries: int64(p.entries),
	}
	if !p.whole || p.begun > 0 {
		r.Namespace = p.namespace
	}
	return r
}
