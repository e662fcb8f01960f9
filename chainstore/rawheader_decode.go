package chainstore

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Decode reads the whole header of the node that has seq ancestors. The result shares nothing with r. ErrCorrupt.
func (r RawHeader) Decode(seq uint32) (*Header, error) {
	h := &Header{}
	if err := r.DecodeInto(h, seq); err != nil {
		return nil, err
	}
	return h, nil
}

// DecodeInto is Decode into h, which it replaces, except that the list of messages is made in the memory of h's. After an
// error h is of no use. For scans that keep nothing of a header: nothing is allocated for most.
func (r RawHeader) DecodeInto(h *Header, seq uint32) error {
	if err := r.check(); err != nil {
		return err
	}
	d := r.reader(h, seq)
	d.messages(h, r[1])
	d.state(h)
	d.links(h)
	if r[1]&flagCompaction != 0 {
		d.covers(h)
	}
	if r[1]&flagExtension != 0 {
		d.extension(h)
	}
	if d.failed || len(d.rest) > 0 || (headerFlags(h)^r[1])&formFlags != 0 || (h.Erased != nil) != r.IsErased() {
		return fmt.Errorf("%w: the header of node %s does not parse", ErrCorrupt, h.ID)
	}
	return nil
}

// DecodeMessages is DecodeInto without what comes behind the messages, which is not looked at: State, the links, Provenance,
// Erased, the Was of messages and Extension are zero, and of Covers it is told whether it is present.
func (r RawHeader) DecodeMessages(h *Header, seq uint32) error {
	if err := r.check(); err != nil {
		return err
	}
	d := r.reader(h, seq)
	if d.messages(h, r[1]); d.failed {
		return fmt.Errorf("%w: the header of node %s does not parse", ErrCorrupt, h.ID)
	}
	return nil
}

// reader begins to read into h, whose list of messages stays as memory.
func (r RawHeader) reader(h *Header, seq uint32) headerReader {
	*h = Header{ID: r.ID(), Version1: r[0]&^headerErased == headerVersion1, Seq: seq, Messages: h.Messages[:0]}
	h.Covers.Present = r[1]&flagCompaction != 0
	return headerReader{rest: r[rawFixed:]}
}

// headerReader reads a header; after a failure it reads zeros.
type headerReader struct {
	rest   []byte
	failed bool
}

// messages reads everything up to the state.
func (d *headerReader) messages(h *Header, flags byte) {
	count := d.count()
	h.FirstPut = int64(d.number(math.MaxInt64))
	h.Forks = uint32(d.number(math.MaxUint32))
	h.PayloadLength = int(d.number(math.MaxInt32))
	h.MetadataLength = int(d.number(math.MaxInt32))
	if flags&flagDetails != 0 {
		h.DetailsLength = int(d.number(math.MaxInt32))
	}
	if flags&flagSalt != 0 {
		h.Salt = []byte(d.text())
	}
	if flags&flagSpawned != 0 {
		h.SpawnedFrom = &SpawnedFrom{}
		copy(h.SpawnedFrom.Node[:], d.bytes(len(h.SpawnedFrom.Node)))
		h.SpawnedFrom.CallID = d.call().ID
	}
	if count > cap(h.Messages) {
		h.Messages = make([]runloop.Brief, count)
	}
	h.Messages = h.Messages[:count]
	clear(h.Messages)
	for i := range h.Messages {
		d.message(&h.Messages[i], h)
	}
	if flags&flagOutcome != 0 {
		if h.Outcome = runloop.Outcome(d.number(uint64(runloop.Cancelled))); h.Outcome == runloop.NoOutcome {
			d.fail()
		}
		h.Stubs = d.calls()
	}
	if h.Covers.Present && !h.Version1 {
		h.Stands = runloop.Phase(d.number(uint64(runloop.Ended)))
	}
}

func (d *headerReader) fail() uint64 {
	d.failed, d.rest = true, nil
	return 0
}

// number reads an unsigned varint of at most limit.
func (d *headerReader) number(limit uint64) uint64 {
	if len(d.rest) > 0 && d.rest[0] < 0x80 && uint64(d.rest[0]) <= limit { // most are so small
		v := d.rest[0]
		d.rest = d.rest[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(d.rest)
	if n <= 0 || v > limit {
		return d.fail()
	}
	d.rest = d.rest[n:]
	return v
}

func (d *headerReader) signed() int64 {
	v, n := binary.Varint(d.rest)
	if n <= 0 {
		return int64(d.fail())
	}
	d.rest = d.rest[n:]
	return v
}

// count reads the number of things that take at least a byte each.
func (d *headerReader) count() int { return int(d.number(uint64(len(d.rest)))) }

func (d *headerReader) bytes(n int) []byte {
	if n > len(d.rest) {
		d.fail()
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *headerReader) text() string { return string(d.bytes(d.count())) }

func (d *headerReader) message(m *runloop.Brief, h *Header) {
	bits := d.number(msgKnown)
	m.Role = runloop.Role(bits & msgRole)
	m.Length = int(d.number(math.MaxInt32))
	if bits&msgText != 0 {
		m.TextOctets = int(d.number(math.MaxInt32))
		m.TextPoints = m.TextOctets - int(d.number(uint64(m.TextOctets)))
	}
	m.Empty, m.Error, m.Summary = bits&msgEmpty != 0, bits&msgError != 0, bits&msgSummary != 0
	m.Partial, m.Made, m.Opaque = bits&msgPartial != 0, bits&msgMade != 0, bits&msgOpaque != 0
	m.Note.HasSentAt, m.Note.HasTokens = bits&msgSentAt != 0, bits&msgTokens != 0
	m.Note.Estimated = bits&msgEstimated != 0
	if m.Note.HasSentAt {
		m.Note.SentAt = h.FirstPut - d.signed()
	}
	if m.Note.HasTokens {
		m.Note.Tokens = uint32(d.number(math.MaxUint32))
	}
	if m.LeftOutLine = bits&msgLeftOutLine != 0; m.LeftOutLine {
		m.LeftOutLoops = int64(d.number(runloop.MaxLeftOut))
	}
	if bits&msgCalls != 0 {
		m.Calls = int(d.number(math.MaxInt32))
	}
	if m.Calls > 0 && !h.Version1 {
		d.names(m)
	}
	if bits&msgSavings != 0 {
		d.savings(m)
	}
	d.mark(&m.Mark, bits)
	if answersCall(m) && !h.Version1 {
		m.Mark.Answers = int(d.number(runloop.MaxGroupCalls))
	}
}

// names reads the names of a message's calls.
func (d *headerReader) names(m *runloop.Brief) {
	n := d.count()
	if m.Unnamed = n == 0; m.Unnamed {
		return
	}
	if n > m.Calls || m.Calls > runloop.MaxGroupCalls {
		d.fail()
		return
	}
	m.Names = make([]runloop.Optional, m.Calls)
	if n == 1 {
		first := d.optional()
		for i := range m.Names {
			m.Names[i] = first
		}
		return
	}
	distinct := make([]runloop.Optional, n)
	for i := range distinct {
		distinct[i] = d.optional()
	}
	for i := range m.Names {
		m.Names[i] = distinct[d.number(uint64(n-1))]
	}
}

// savings reads what shorter arguments of a message's calls would save, which takes a byte at least for each.
func (d *headerReader) savings(m *runloop.Brief) {
	if m.Calls == 0 || m.Calls > len(d.rest) {
		d.fail()
		return
	}
	m.Savings = make(runloop.Savings, m.Calls)
	for i := range m.Savings {
		m.Savings[i] = int(d.number(math.MaxInt32))
	}
}

// optional reads a string that may be absent.
func (d *headerReader) optional() (o runloop.Optional) {
	n := d.number(uint64(len(d.rest)))
	if n > 0 {
		o = runloop.Some(string(d.bytes(int(n - 1))))
	}
	return o
}

func (d *headerReader) mark(k *runloop.Mark, bits uint64) {
	k.LeftOut = runloop.LeftOut(bits & msgLeftOut >> msgLeftOutShift)
	k.BeginsLoop, k.Interrupts, k.LeadIn = bits&msgBeginsLoop != 0, bits&msgInterrupts != 0, bits&msgLeadIn != 0
	if bits&msgLine != 0 {
		k.LineLength = int(d.number(math.MaxInt32))
	}
	if bits&msgRepeated != 0 {
		k.RepeatedIDs = int(d.number(math.MaxInt32))
	}
	if bits&msgStubs != 0 {
		k.Stubs = d.calls()
	}
}

// calls reads calls; nil for none.
func (d *headerReader) calls() []runloop.Call {
	n := d.count()
	if n == 0 {
		return nil
	}
	calls := make([]runloop.Call, n)
	for i := range calls {
		calls[i] = d.call()
	}
	return calls
}

func (d *headerReader) call() runloop.Call {
	c, _ := d.callBits(callKnown)
	return c
}

// callBits reads a call, and its bits, of those that are known.
func (d *headerReader) callBits(known uint64) (c runloop.Call, bits uint64) {
	bits = d.number(known)
	if bits&callID != 0 {
		c.ID = runloop.Some(d.text())
	}
	if bits&callName != 0 {
		c.Name = runloop.Some(d.text())
	}
	return c, bits
}

func (d *headerReader) group(h *Header) {
	n, known := d.count(), uint64(callKnown|callNamed)
	if h.Version1 {
		known = callKnown
	}
	g, names := &h.State.Group, []runloop.Optional(nil)
	g.Calls, g.Answered = make([]runloop.Call, n), make([]bool, n)
	for i := range n {
		c, bits := d.callBits(known)
		if bits&callNamed != 0 {
			if names == nil {
				names = h.lastNames(n)
			}
			if c.Name.Present || !names[i].Present {
				d.fail()
			}
			c.Name = names[i]
		}
		g.Calls[i], g.Answered[i] = c, bits&callAnswered != 0
	}
}

func (d *headerReader) state(h *Header) {
	s := &h.State
	bits := d.number(stateKnown)
	d.view(&s.Full, h, bits&stateLatestUser != 0)
	s.Effective = s.Full
	if bits&stateEffective != 0 {
		s.Effective = runloop.View{}
		d.view(&s.Effective, h, bits&stateEffectUser != 0)
	}
	s.Repairs = int64(d.number(math.MaxInt64))
	if s.PreambleClosed = bits&statePreamble != 0; s.PreambleClosed {
		s.PreambleEnd = runloop.Place{Seq: uint32(d.number(uint64(h.Seq))), Index: uint32(d.number(math.MaxUint32))}
	}
	if bits&stateGroup != 0 {
		d.group(h)
	}
	s.Group.Results = bits&stateResults != 0
}

func (d *headerReader) view(v *runloop.View, h *Header, hasUser bool) {
	v.Nodes = int64(h.Seq) + 1 - d.signed()
	for _, n := range [...]*int64{&v.Messages, &v.Depth, &v.Loops, &v.Bytes, &v.Tokens} {
		*n = int64(d.number(math.MaxInt64))
	}
	bits := d.number(loopKnown)
	l := &v.Loop
	l.Phase = runloop.Phase(bits & loopPhase)
	l.LeadIn, l.Replied = bits&loopLeadIn != 0, bits&loopReplied != 0
	l.ReplyLast, l.Unanswered = bits&loopReplyLast != 0, bits&loopUnanswered != 0
	v.Estimated = bits&loopEstimated != 0
	l.Outcome = runloop.Outcome(bits & loopOutcome >> loopOutcomeShift)
	if l.Phase != runloop.None {
		l.Start = runloop.Place{Seq: d.back(h.Seq), Index: uint32(d.number(math.MaxUint32))}
	}
	if v.HasLatestUser = hasUser; hasUser {
		v.LatestUser = h.FirstPut - d.signed()
	}
}

// back reads a Seq written as its distance from seq.
func (d *headerReader) back(seq uint32) uint32 { return seq - uint32(d.number(uint64(seq))) }

func (d *headerReader) links(h *Header) {
	bits := d.number(linkKnown)
	for i, l := range [...]*Link{&h.Tools, &h.Variables, &h.Compaction, &h.Spawned} {
		if bits&(1<<i) != 0 {
			*l = Link{Present: true, Seq: d.back(h.Seq)}
		}
	}
}

func (d *headerReader) covers(h *Header) {
	h.Covers = Link{Present: true, Seq: d.back(h.Seq)}
	n := d.count()
	if n > 0 {
		h.Provenance = make([]Provenance, n)
	}
	for i := range h.Provenance {
		p := &h.Provenance[i]
		if p.Present = d.number(1) == 1; p.Present {
			p.Place = runloop.Place{Seq: d.back(h.Seq), Index: uint32(d.number(math.MaxUint32))}
		}
	}
}

// extension keeps the fields of an extension, of which there is one at least, and reads the one that is known.
func (d *headerReader) extension(h *Header) {
	whole := d.bytes(d.count())
	fields, kept := headerReader{rest: whole, failed: len(whole) == 0}, make([]byte, 0, len(whole))
	for last := uint64(0); len(fields.rest) > 0; {
		before := fields.rest
		tag := fields.number(math.MaxUint32)
		field := fields.bytes(fields.count())
		switch {
		case tag <= last:
			fields.fail()
		case tag == extensionErased:
			one := headerReader{rest: field, failed: fields.failed}
			one.erased(h)
			fields.failed = one.failed
		default:
			kept = append(kept, before[:len(before)-len(fields.rest)]...)
		}
		last = tag
	}
	if h.Extension = string(kept); fields.failed {
		d.fail()
	}
}

// erased reads what is written down of a node that was erased.
func (d *headerReader) erased(h *Header) {
	e := &Erased{}
	bits := d.number(erasedMetadata)
	copy(e.PayloadDigest[:], d.bytes(len(e.PayloadDigest)))
	if bits&erasedMetadata != 0 {
		e.MetadataDigest = &ID{}
		copy(e.MetadataDigest[:], d.bytes(len(e.MetadataDigest)))
	}
	e.PayloadLength, e.MetadataLength = int(d.number(math.MaxInt32)), int(d.number(math.MaxInt32))
	for i := range h.Messages {
		h.Messages[i].Was = int32(d.number(math.MaxInt32))
	}
	for len(d.rest) > 0 {
		bits := d.number(changeUnset | changeDeclared)
		e.Variables = append(e.Variables, runloop.VariableChange{Unset: bits&changeUnset != 0, Declared: bits&changeDeclared != 0, Name: d.text()})
	}
	h.Erased = e
}
