package chainstore

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// Bits of a message. Part of the storage format.
const (
	msgRole        = 7
	msgText        = 1 << 3
	msgBeginsLoop  = 1 << 4
	msgCalls       = 1 << 5
	msgLine        = 1 << 6
	msgEmpty       = 1 << 7
	msgError       = 1 << 8
	msgSentAt      = 1 << 9
	msgTokens      = 1 << 10
	msgEstimated   = 1 << 11
	msgInterrupts  = 1 << 12
	msgLeadIn      = 1 << 13
	msgLeftOut     = 3 << 14
	msgStubs       = 1 << 16
	msgRepeated    = 1 << 17
	msgSummary     = 1 << 18
	msgPartial     = 1 << 19
	msgMade        = 1 << 20
	msgLeftOutLine = 1 << 21
	msgSavings     = 1 << 22
	msgOpaque      = 1 << 23
	msgKnown       = 1<<24 - 1

	msgLeftOutShift = 14
)

// Bits of a state, a loop, a call and the links. Part of the storage format.
const (
	stateEffective  = 1 << 0 // the effective totals or loop differ from the full ones
	statePreamble   = 1 << 1 // the preamble is closed
	stateGroup      = 1 << 2
	stateResults    = 1 << 3
	stateLatestUser = 1 << 4 // of the full view
	stateEffectUser = 1 << 5 // of the effective view, where it differs
	stateKnown      = 1<<6 - 1

	loopPhase      = 3
	loopLeadIn     = 1 << 2
	loopReplied    = 1 << 3
	loopReplyLast  = 1 << 4
	loopUnanswered = 1 << 5
	loopEstimated  = 1 << 6 // of the view's totals
	loopOutcome    = 7 << 7
	loopKnown      = 1<<10 - 1

	loopOutcomeShift = 7

	callID       = 1 << 0
	callName     = 1 << 1
	callAnswered = 1 << 2
	callNamed    = 1 << 3 // in a group: the name is that of the call of the messages that as many follow; see lastNames
	callKnown    = 1<<3 - 1

	linkTools      = 1 << 0
	linkVariables  = 1 << 1
	linkCompaction = 1 << 2
	linkSpawned    = 1 << 3
	linkKnown      = 1<<4 - 1
)

// The tag of what is written down of a node that was erased, and bits of that. Part of the storage format.
const (
	extensionErased = 3

	erasedMetadata = 1 << 0

	changeUnset    = 1 << 0
	changeDeclared = 1 << 1
)

// AppendHeader appends the header in its stored form.
func AppendHeader(b []byte, h *Header) []byte {
	version := byte(headerVersion)
	if h.Version1 {
		version = headerVersion1
	}
	if h.Erased != nil {
		version |= headerErased
	}
	b = append(b, version, headerFlags(h))
	b = append(b, h.ID[:]...)
	b = binary.AppendUvarint(b, uint64(len(h.Messages)))
	b = binary.AppendUvarint(b, uint64(h.FirstPut))
	b = binary.AppendUvarint(b, uint64(h.Forks))
	b = binary.AppendUvarint(b, uint64(h.PayloadLength))
	b = binary.AppendUvarint(b, uint64(h.MetadataLength))
	if h.hasDetails() {
		b = binary.AppendUvarint(b, uint64(h.DetailsLength))
	}
	if len(h.Salt) > 0 {
		b = appendBytes(b, string(h.Salt))
	}
	if s := h.SpawnedFrom; s != nil {
		b = append(b, s.Node[:]...)
		b = appendCall(b, runloop.Call{ID: s.CallID})
	}
	for i := range h.Messages {
		b = appendMessage(b, &h.Messages[i], h)
	}
	if h.Outcome != runloop.NoOutcome {
		b = append(b, byte(h.Outcome))
		b = binary.AppendUvarint(b, uint64(len(h.Stubs)))
		for _, c := range h.Stubs {
			b = appendCall(b, c)
		}
	}
	if h.Covers.Present && !h.Version1 {
		b = append(b, byte(h.Stands))
	}
	b = appendState(b, h)
	b = appendLinks(b, h)
	if h.Covers.Present {
		b = appendCovers(b, h)
	}
	if h.hasExtension() {
		b = appendBytes(b, h.extension())
	}
	return b
}

// extension is all fields of the extension, in the order of their tags.
func (h *Header) extension() string {
	if h.Erased == nil {
		return h.Extension
	}
	rest := headerReader{rest: []byte(h.Extension)}
	for len(rest.rest) > 0 {
		at := rest.rest
		if rest.number(math.MaxUint32) > extensionErased {
			rest.rest = at
			break
		}
		rest.bytes(rest.count())
	}
	before := h.Extension[:len(h.Extension)-len(rest.rest)]
	own := appendBytes([]byte{extensionErased}, string(h.appendErased(nil)))
	return before + string(own) + string(rest.rest)
}

func (h *Header) appendErased(b []byte) []byte {
	e := h.Erased
	b = binary.AppendUvarint(b, bit(e.MetadataDigest != nil, erasedMetadata))
	b = append(b, e.PayloadDigest[:]...)
	if e.MetadataDigest != nil {
		b = append(b, e.MetadataDigest[:]...)
	}
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(e.PayloadLength)), uint64(e.MetadataLength))
	for i := range h.Messages {
		b = binary.AppendUvarint(b, uint64(h.Messages[i].Was))
	}
	for _, v := range e.Variables {
		b = appendBytes(binary.AppendUvarint(b, bit(v.Unset, changeUnset)|bit(v.Declared, changeDeclared)), v.Name)
	}
	return b
}

func headerFlags(h *Header) byte {
	return byte(bit(h.Repaired(), flagRepaired) | bit(h.marked(), flagFindings) | bit(len(h.Salt) > 0, flagSalt) |
		bit(h.SpawnedFrom != nil, flagSpawned) | bit(h.Covers.Present, flagCompaction) |
		bit(h.Outcome != runloop.NoOutcome, flagOutcome) | bit(h.hasDetails(), flagDetails) |
		bit(h.hasExtension(), flagExtension))
}

func (h *Header) hasDetails() bool { return h.DetailsLength > 0 && !h.Version1 }

func (h *Header) hasExtension() bool { return h.Erased != nil || h.Extension != "" && !h.Version1 }

func bit(set bool, b uint64) uint64 {
	if set {
		return b
	}
	return 0
}

func appendBytes(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendMessage(b []byte, m *runloop.Brief, h *Header) []byte {
	k := &m.Mark
	text := m.TextOctets > 0
	b = binary.AppendUvarint(b, uint64(m.Role)&msgRole|bit(text, msgText)|bit(k.BeginsLoop, msgBeginsLoop)|
		bit(m.Calls > 0, msgCalls)|bit(k.LineLength > 0, msgLine)|bit(m.Empty, msgEmpty)|bit(m.Error, msgError)|
		bit(m.Note.HasSentAt, msgSentAt)|bit(m.Note.HasTokens, msgTokens)|bit(m.Note.Estimated, msgEstimated)|
		bit(k.Interrupts, msgInterrupts)|bit(k.LeadIn, msgLeadIn)|uint64(k.LeftOut)<<msgLeftOutShift|
		bit(len(k.Stubs) > 0, msgStubs)|bit(k.RepeatedIDs > 0, msgRepeated)|bit(m.Summary, msgSummary)|bit(m.Partial, msgPartial)|
		bit(m.Made, msgMade)|bit(m.LeftOutLine, msgLeftOutLine)|bit(m.Savings != nil, msgSavings)|
		bit(m.Opaque, msgOpaque))
	b = binary.AppendUvarint(b, uint64(m.Length))
	if text {
		b = binary.AppendUvarint(b, uint64(m.TextOctets))
		b = binary.AppendUvarint(b, uint64(m.TextOctets-m.TextPoints))
	}
	if m.Note.HasSentAt {
		b = binary.AppendVarint(b, h.FirstPut-m.Note.SentAt)
	}
	if m.Note.HasTokens {
		b = binary.AppendUvarint(b, uint64(m.Note.Tokens))
	}
	if m.LeftOutLine {
		b = binary.AppendUvarint(b, uint64(m.LeftOutLoops))
	}
	b = appendCount(b, m.Calls)
	if m.Calls > 0 && !h.Version1 {
		b = appendNames(b, m)
	}
	for _, n := range m.Savings {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = appendCount(b, k.LineLength)
	b = appendCount(b, k.RepeatedIDs)
	b = appendCount(b, len(k.Stubs))
	for _, c := range k.Stubs {
		b = appendCall(b, c)
	}
	if answersCall(m) && !h.Version1 {
		b = binary.AppendUvarint(b, uint64(k.Answers))
	}
	return b
}

// answersCall tells whether a message is a result that answers a call.
func answersCall(m *runloop.Brief) bool {
	return m.Role == runloop.Tool && m.Mark.LeftOut == runloop.Shown
}

// appendNames appends the names of a message's calls, each once, and which of them each call has, where there are several.
func appendNames(b []byte, m *runloop.Brief) []byte {
	if len(m.Names) != m.Calls {
		return append(b, 0)
	}
	var distinct []runloop.Optional
	of := make([]byte, 0, 16)
	for _, name := range m.Names {
		at := slices.Index(distinct, name)
		if at < 0 {
			at, distinct = len(distinct), append(distinct, name)
		}
		of = binary.AppendUvarint(of, uint64(at))
	}
	b = binary.AppendUvarint(b, uint64(len(distinct)))
	for _, name := range distinct {
		if !name.Present {
			b = append(b, 0)
			continue
		}
		b = append(binary.AppendUvarint(b, uint64(len(name.Value))+1), name.Value...)
	}
	if len(distinct) > 1 {
		b = append(b, of...)
	}
	return b
}

// appendCount appends a count whose presence a bit tells: nothing for 0.
func appendCount(b []byte, n int) []byte {
	if n == 0 {
		return b
	}
	return binary.AppendUvarint(b, uint64(n))
}

func appendCall(b []byte, c runloop.Call) []byte { return appendCallBits(b, c, 0) }

// appendCallBits appends a call with bits that do not say what follows.
func appendCallBits(b []byte, c runloop.Call, bits uint64) []byte {
	b = binary.AppendUvarint(b, bit(c.ID.Present, callID)|bit(c.Name.Present, callName)|bits)
	if c.ID.Present {
		b = appendBytes(b, c.ID.Value)
	}
	if c.Name.Present {
		b = appendBytes(b, c.Name.Value)
	}
	return b
}

func appendState(b []byte, h *Header) []byte {
	s := &h.State
	differs := s.Full != s.Effective
	b = binary.AppendUvarint(b, bit(differs, stateEffective)|bit(s.PreambleClosed, statePreamble)|
		bit(len(s.Group.Calls) > 0, stateGroup)|bit(s.Group.Results, stateResults)|
		bit(s.Full.HasLatestUser, stateLatestUser)|bit(differs && s.Effective.HasLatestUser, stateEffectUser))
	b = appendView(b, &s.Full, h)
	if differs {
		b = appendView(b, &s.Effective, h)
	}
	b = binary.AppendUvarint(b, uint64(s.Repairs))
	if s.PreambleClosed {
		b = binary.AppendUvarint(b, uint64(s.PreambleEnd.Seq))
		b = binary.AppendUvarint(b, uint64(s.PreambleEnd.Index))
	}
	if len(s.Group.Calls) > 0 {
		b = appendGroup(b, h)
	}
	return b
}

func appendGroup(b []byte, h *Header) []byte {
	g := &h.State.Group
	names := h.lastNames(len(g.Calls))
	b = binary.AppendUvarint(b, uint64(len(g.Calls)))
	for i, c := range g.Calls {
		named := c.Name.Present && c.Name == names[i]
		if named {
			c.Name = runloop.Optional{}
		}
		b = appendCallBits(b, c, bit(g.Answered[i], callAnswered)|bit(named, callNamed))
	}
	return b
}

// lastNames are the names of the last n calls of the messages; absent ones before the first, and where a message does not tell them.
func (h *Header) lastNames(n int) []runloop.Optional {
	names := make([]runloop.Optional, n)
	for i := len(h.Messages) - 1; i >= 0 && n > 0; i-- {
		m := &h.Messages[i]
		for k := m.Calls - 1; k >= 0 && n > 0; k-- {
			if n--; len(m.Names) == m.Calls {
				names[n] = m.Names[k]
			}
		}
	}
	return names
}

func appendView(b []byte, v *runloop.View, h *Header) []byte {
	b = binary.AppendVarint(b, int64(h.Seq)+1-v.Nodes)
	for _, n := range [...]int64{v.Messages, v.Depth, v.Loops, v.Bytes, v.Tokens} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	l := &v.Loop
	b = binary.AppendUvarint(b, uint64(l.Phase)&loopPhase|bit(l.LeadIn, loopLeadIn)|bit(l.Replied, loopReplied)|
		bit(l.ReplyLast, loopReplyLast)|bit(l.Unanswered, loopUnanswered)|bit(v.Estimated, loopEstimated)|
		uint64(l.Outcome)<<loopOutcomeShift&loopOutcome)
	if l.Phase != runloop.None {
		b = binary.AppendUvarint(b, uint64(h.Seq-l.Start.Seq))
		b = binary.AppendUvarint(b, uint64(l.Start.Index))
	}
	if v.HasLatestUser {
		b = binary.AppendVarint(b, h.FirstPut-v.LatestUser)
	}
	return b
}

func appendLinks(b []byte, h *Header) []byte {
	b = binary.AppendUvarint(b, bit(h.Tools.Present, linkTools)|bit(h.Variables.Present, linkVariables)|
		bit(h.Compaction.Present, linkCompaction)|bit(h.Spawned.Present, linkSpawned))
	for _, l := range [...]Link{h.Tools, h.Variables, h.Compaction, h.Spawned} {
		if l.Present {
			b = binary.AppendUvarint(b, uint64(h.Seq-l.Seq))
		}
	}
	return b
}

func appendCovers(b []byte, h *Header) []byte {
	b = binary.AppendUvarint(b, uint64(h.Seq-h.Covers.Seq))
	b = binary.AppendUvarint(b, uint64(len(h.Provenance)))
	for _, p := range h.Provenance {
		b = binary.AppendUvarint(b, bit(p.Present, 1))
		if p.Present {
			b = binary.AppendUvarint(b, uint64(h.Seq-p.Place.Seq))
			b = binary.AppendUvarint(b, uint64(p.Place.Index))
		}
	}
	return b
}
