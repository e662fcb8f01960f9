package chainstore_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// drawHeader draws a header in normal form: what a flag says is absent is zero, and there are no empty slices.
func drawHeader(t *rapid.T) *chainstore.Header {
	seq := rapid.OneOf(rapid.Uint32Max(3), rapid.Uint32()).Draw(t, "seq")
	h := &chainstore.Header{
		ID: drawID(t), Version1: rapid.Bool().Draw(t, "version 1"), Seq: seq, FirstPut: rapid.Int64Min(0).Draw(t, "first put"),
		Forks: rapid.Uint32().Draw(t, "forks"), PayloadLength: drawLength(t), MetadataLength: drawLength(t),
		Salt: rapid.SampledFrom([][]byte{nil, bytes.Repeat([]byte{0}, 16), bytes.Repeat([]byte{255}, 32)}).Draw(t, "salt"),
	}
	if rapid.Bool().Draw(t, "spawned") {
		h.SpawnedFrom = &chainstore.SpawnedFrom{Node: drawID(t), CallID: drawOptional(t)}
	}
	if !h.Version1 && rapid.Bool().Draw(t, "detailed") {
		h.DetailsLength = 1 + drawLength(t)/2
	}
	h.Messages = drawSlice(t, "messages", drawMessage)
	for i := range h.Messages {
		if h.Version1 {
			h.Messages[i] = h.Messages[i].AsVersion1()
		}
	}
	if !h.Version1 && rapid.Bool().Draw(t, "ended") {
		h.Outcome = runloop.Outcome(rapid.IntRange(1, 4).Draw(t, "outcome"))
		h.Stubs = drawSlice(t, "stubs at the end", drawCall)
	}
	drawState(t, &h.State, seq)
	h.Tools, h.Variables, h.Compaction, h.Spawned = drawLink(t, seq), drawLink(t, seq), drawLink(t, seq), drawLink(t, seq)
	if h.Covers = drawLink(t, seq); h.Covers.Present {
		if !h.Version1 {
			h.Stands = runloop.Phase(rapid.IntRange(0, 3).Draw(t, "stands"))
		}
		h.Provenance = drawSlice(t, "provenance", func(t *rapid.T) (p chainstore.Provenance) {
			if p.Present = rapid.Bool().Draw(t, "present"); p.Present {
				p.Place = drawPlace(t, seq)
			}
			return p
		})
	}
	if !h.Version1 && rapid.Bool().Draw(t, "extended") {
		h.Extension = string(drawExtension(t))
	}
	if rapid.Bool().Draw(t, "erased") {
		drawErased(t, h)
	}
	return h
}

// drawErased draws what is written down of a node that was erased.
func drawErased(t *rapid.T, h *chainstore.Header) {
	h.Erased = &chainstore.Erased{PayloadDigest: drawID(t), PayloadLength: drawLength(t), MetadataLength: drawLength(t)}
	if rapid.Bool().Draw(t, "had metadata") {
		digest := drawID(t)
		h.Erased.MetadataDigest = &digest
	}
	for i := range h.Messages {
		h.Messages[i].Was = int32(drawLength(t))
	}
	h.Erased.Variables = drawSlice(t, "variables", func(t *rapid.T) runloop.VariableChange {
		return runloop.VariableChange{
			Name: rapid.SampledFrom([]string{"x", "é"}).Draw(t, "variable"), Unset: rapid.Bool().Draw(t, "unset"), Declared: rapid.Bool().Draw(t, "declared"),
		}
	})
}

// drawExtension draws fields whose tags ascend.
func drawExtension(t *rapid.T) (fields []byte) {
	tags := rapid.SliceOfNDistinct(rapid.Uint32Min(1), 1, 3, rapid.ID).Draw(t, "tags")
	tags = slices.DeleteFunc(tags, func(tag uint32) bool { return tag == 3 }) // that of what was erased
	if tags = append(tags, 4); rapid.Bool().Draw(t, "low tags") {
		tags = append(tags, 1, 2)
	}
	slices.Sort(tags)
	tags = slices.Compact(tags)
	for _, tag := range tags {
		field := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "field")
		fields = binary.AppendUvarint(fields, uint64(tag))
		fields = append(binary.AppendUvarint(fields, uint64(len(field))), field...)
	}
	return fields
}

func drawSlice[T any](t *rapid.T, label string, draw func(*rapid.T) T) []T {
	var out []T
	for range rapid.IntRange(0, 3).Draw(t, label) {
		out = append(out, draw(t))
	}
	return out
}

func drawID(t *rapid.T) chainstore.ID {
	return chainstore.ID(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "id"))
}

func drawLength(t *rapid.T) int {
	return rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, math.MaxInt32)).Draw(t, "length")
}

func drawOptional(t *rapid.T) runloop.Optional {
	if rapid.Bool().Draw(t, "absent") {
		return runloop.Optional{}
	}
	return runloop.Some(rapid.SampledFrom([]string{"", "a", "call_é", strings.Repeat("x", 1024)}).Draw(t, "text"))
}

func drawCall(t *rapid.T) runloop.Call {
	return runloop.Call{ID: drawOptional(t), Name: drawOptional(t)}
}

func drawPlace(t *rapid.T, seq uint32) runloop.Place {
	return runloop.Place{Seq: rapid.Uint32Max(seq).Draw(t, "place"), Index: rapid.Uint32().Draw(t, "index")}
}

func drawLink(t *rapid.T, seq uint32) chainstore.Link {
	if rapid.Bool().Draw(t, "no link") {
		return chainstore.Link{}
	}
	return chainstore.Link{Present: true, Seq: rapid.Uint32Max(seq).Draw(t, "link")}
}

func drawMessage(t *rapid.T) runloop.Brief {
	flag := rapid.Bool()
	m := runloop.Brief{
		Role: runloop.Role(rapid.IntRange(1, 5).Draw(t, "role")), Length: drawLength(t), TextOctets: drawLength(t),
		Empty: flag.Draw(t, "empty"), Error: flag.Draw(t, "error"), Summary: flag.Draw(t, "summary"),
		Partial: flag.Draw(t, "partial"), Made: flag.Draw(t, "made"), Opaque: flag.Draw(t, "opaque"),
	}
	if m.Unnamed = flag.Draw(t, "unnamed"); m.Unnamed {
		m.Calls = rapid.OneOf(rapid.IntRange(1, 3), rapid.IntRange(1, math.MaxInt32)).Draw(t, "calls")
	} else {
		m.Names = drawSlice(t, "names", drawOptional)
		m.Calls = len(m.Names)
	}
	if flag.Draw(t, "saves") && m.Calls > 0 && m.Calls <= runloop.MaxGroupCalls {
		for range m.Calls {
			m.Savings = append(m.Savings, drawLength(t))
		}
	}
	m.TextPoints = rapid.IntRange(0, m.TextOctets).Draw(t, "points")
	if m.Note.HasSentAt = flag.Draw(t, "has sent"); m.Note.HasSentAt {
		m.Note.SentAt = rapid.Int64().Draw(t, "sent")
	}
	if m.Note.HasTokens = flag.Draw(t, "has tokens"); m.Note.HasTokens {
		m.Note.Tokens, m.Note.Estimated = rapid.Uint32().Draw(t, "tokens"), flag.Draw(t, "estimated")
	}
	if m.LeftOutLine = flag.Draw(t, "left-out line"); m.LeftOutLine {
		m.LeftOutLoops = rapid.Int64Range(0, runloop.MaxLeftOut).Draw(t, "left out loops")
	}
	m.Mark = runloop.Mark{
		LeftOut: runloop.LeftOut(rapid.IntRange(0, 3).Draw(t, "left out")), Stubs: drawSlice(t, "stubs", drawCall),
		LineLength: drawLength(t), RepeatedIDs: drawLength(t),
		BeginsLoop: flag.Draw(t, "begins"), Interrupts: flag.Draw(t, "interrupts"), LeadIn: flag.Draw(t, "lead-in"),
	}
	if m.Role == runloop.Tool && m.Mark.LeftOut == runloop.Shown {
		m.Mark.Answers = rapid.SampledFrom([]int{0, 1, 2, 127, 128, runloop.MaxGroupCalls}).Draw(t, "answers")
	}
	return m
}

func drawState(t *rapid.T, s *runloop.State, seq uint32) {
	s.Full = drawView(t, seq)
	if s.Effective = s.Full; rapid.Bool().Draw(t, "views differ") {
		s.Effective = drawView(t, seq)
	}
	s.Repairs = rapid.Int64Min(0).Draw(t, "repairs")
	if s.PreambleClosed = rapid.Bool().Draw(t, "closed"); s.PreambleClosed {
		s.PreambleEnd = drawPlace(t, seq)
	}
	s.Group.Calls = drawSlice(t, "group", drawCall)
	for range s.Group.Calls {
		s.Group.Answered = append(s.Group.Answered, rapid.Bool().Draw(t, "answered"))
	}
	s.Group.Results = rapid.Bool().Draw(t, "results")
}

func drawView(t *rapid.T, seq uint32) runloop.View {
	total, flag := rapid.Int64Min(0), rapid.Bool()
	v := runloop.View{Totals: runloop.Totals{
		Nodes: total.Draw(t, "nodes"), Messages: total.Draw(t, "messages"), Depth: total.Draw(t, "depth"),
		Loops: total.Draw(t, "loops"), Bytes: total.Draw(t, "bytes"), Tokens: total.Draw(t, "tokens"),
		Estimated: flag.Draw(t, "estimated"),
	}}
	if v.HasLatestUser = flag.Draw(t, "has user"); v.HasLatestUser {
		v.LatestUser = rapid.Int64().Draw(t, "user")
	}
	v.Loop = runloop.Loop{
		Phase: runloop.Phase(rapid.IntRange(0, 3).Draw(t, "phase")), Outcome: runloop.Outcome(rapid.IntRange(0, 4).Draw(t, "ended as")), LeadIn: flag.Draw(t, "lead-in"),
		Replied: flag.Draw(t, "replied"), ReplyLast: flag.Draw(t, "last"), Unanswered: flag.Draw(t, "unanswered"),
	}
	if v.Loop.Phase != runloop.None {
		v.Loop.Start = drawPlace(t, seq)
	}
	return v
}

func TestRawHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHeader(t)
		raw := chainstore.RawHeader(chainstore.AppendHeader([]byte("before"), h)[len("before"):])
		got, err := raw.Decode(h.Seq)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, h) {
			t.Fatalf("came back as\n%+v, was\n%+v", got, h)
		}
		if raw.ID() != h.ID || raw.MessageCount() != len(h.Messages) || raw.Repaired() != h.Repaired() ||
			raw.HasFindings() != h.HasFindings() || raw.IsCompaction() != h.Covers.Present || raw.IsErased() != (h.Erased != nil) {
			t.Fatal("the raw header says otherwise than the decoded one")
		}
	})
}

// TestRawHeaderSharesNothing: what was decoded stays when the bytes are spoilt.
func TestRawHeaderSharesNothing(t *testing.T) {
	for name, h := range goldenHeaders() {
		raw := chainstore.RawHeader(chainstore.AppendHeader(nil, h))
		got, err := raw.Decode(h.Seq)
		if err != nil {
			t.Fatal(err)
		}
		for i := range raw {
			raw[i] = 0xA5
		}
		if !reflect.DeepEqual(got, h) {
			t.Errorf("%s changed with its bytes", name)
		}
	}
}

// TestRawHeaderDecodeInto: whatever a header held before, it becomes what it would be if it were new.
func TestRawHeaderDecodeInto(t *testing.T) {
	var used chainstore.Header
	rapid.Check(t, func(t *rapid.T) {
		want := drawHeader(t)
		if err := chainstore.RawHeader(chainstore.AppendHeader(nil, want)).DecodeInto(&used, want.Seq); err != nil {
			t.Fatal(err)
		}
		got := used
		if len(got.Messages) == 0 {
			got.Messages = nil
		}
		if !reflect.DeepEqual(&got, want) {
			t.Fatalf("got  %+v\nwant %+v", &got, want)
		}
	})
}

// TestRawHeaderDecodeMessages: a header without what comes behind its messages, whatever was held before.
func TestRawHeaderDecodeMessages(t *testing.T) {
	var got chainstore.Header
	rapid.Check(t, func(t *rapid.T) {
		h := drawHeader(t)
		raw := chainstore.RawHeader(chainstore.AppendHeader(nil, h))
		if err := raw.DecodeMessages(&got, h.Seq); err != nil {
			t.Fatal(err)
		}
		for i := range h.Messages {
			h.Messages[i].Was = 0
		}
		want := chainstore.Header{
			ID: h.ID, Version1: h.Version1, Seq: h.Seq, FirstPut: h.FirstPut, Forks: h.Forks, Salt: h.Salt, SpawnedFrom: h.SpawnedFrom,
			PayloadLength: h.PayloadLength, MetadataLength: h.MetadataLength, DetailsLength: h.DetailsLength, Messages: h.Messages,
			Outcome: h.Outcome, Stubs: h.Stubs, Covers: chainstore.Link{Present: h.Covers.Present}, Stands: h.Stands,
		}
		if len(h.Messages) == 0 {
			want.Messages = got.Messages[:0]
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
	for name, h := range goldenHeaders() {
		raw := chainstore.RawHeader(chainstore.AppendHeader(nil, h))
		for n := range raw {
			cut := raw[:n].DecodeMessages(&got, h.Seq)
			h := withoutWas(h)
			if cut == nil && !reflect.DeepEqual(got.Messages, h.Messages) || cut != nil && !errors.Is(cut, chainstore.ErrCorrupt) {
				t.Errorf("%s, %d bytes of %d: %v", name, n, len(raw), cut)
			}
		}
	}
}

// withoutWas is a header as DecodeMessages reads its messages.
func withoutWas(h *chainstore.Header) *chainstore.Header {
	out := *h
	out.Messages = slices.Clone(h.Messages)
	for i := range out.Messages {
		out.Messages[i].Was = 0
	}
	return &out
}

func TestRawHeaderRefuses(t *testing.T) {
	for name, h := range goldenHeaders() {
		raw := chainstore.AppendHeader(nil, h)
		for n := range raw {
			refused(t, name+" cut short", raw[:n], h.Seq)
		}
		refused(t, name+" with a byte more", append(bytes.Clone(raw), 0), h.Seq)
		for _, version := range []byte{0, 3, 129, 130, 131, 255} {
			if version&127 <= 2 && version > 0 {
				other := bytes.Clone(raw)
				other[0] ^= 128
				refused(t, name+" of a node that was erased, or was not", other, h.Seq)
				continue
			}
			other := bytes.Clone(raw)
			other[0] = version
			refused(t, name+" of another version", other, h.Seq)
			_, err := chainstore.RawHeader(other).Decode(h.Seq)
			if want := fmt.Sprintf("a header of version %d, which this program does not know", version); !strings.Contains(err.Error(), want) {
				t.Errorf("%s of version %d: %v", name, version, err)
			}
		}
		for bit := 2; bit < 8; bit++ { // the flags that tell which parts follow, and unknown ones
			other := bytes.Clone(raw)
			other[1] ^= 1 << bit
			refused(t, name+" with another flag", other, h.Seq)
		}
	}
	for name, fields := range map[string]string{
		"a tag twice": "\x01\x00\x01\x00", "tags that descend": "\x02\x00\x01\x00", "tag 0": "\x00\x00", "a field that is cut": "\x01\x02a",
		"a tag alone": "\x01", "a tag without an end": "\x80",
	} {
		h := *goldenHeaders()["extended-2"]
		h.Extension = fields
		refused(t, name, chainstore.AppendHeader(nil, &h), h.Seq)
	}
	refused(t, "places before the root", chainstore.AppendHeader(nil, goldenHeaders()["everything"]), 0)
	if raw := chainstore.RawHeader(nil); raw.ID() != (chainstore.ID{}) || raw.MessageCount() != 0 || raw.Repaired() ||
		raw.HasFindings() || raw.IsCompaction() {
		t.Error("no bytes say something")
	}
}

func refused(t *testing.T, what string, raw chainstore.RawHeader, seq uint32) {
	t.Helper()
	if _, err := raw.Decode(seq); !errors.Is(err, chainstore.ErrCorrupt) {
		t.Errorf("%s: error is %v, want %v", what, err, chainstore.ErrCorrupt)
	}
}

// TestRawHeaderSavings: bytes that tell savings of no calls, of more than there are, or of too many, are refused, and take no memory for them.
func TestRawHeaderSavings(t *testing.T) {
	header := func(m runloop.Brief) chainstore.RawHeader {
		h := *goldenHeaders()["least-2"]
		h.Messages = []runloop.Brief{m}
		return chainstore.AppendHeader(nil, &h)
	}
	calls := func(n int, savings runloop.Savings) runloop.Brief {
		return runloop.Brief{Role: runloop.Assistant, Length: 700, Calls: n, Unnamed: true, Savings: savings}
	}
	many := make(runloop.Savings, 3000)
	many[2999] = math.MaxInt32
	for _, n := range []int{1, 2, 3000} {
		m := calls(n, many[3000-n:])
		if h, err := header(m).Decode(0); err != nil || !reflect.DeepEqual(h.Messages, []runloop.Brief{m}) {
			t.Errorf("%d savings: %v, %v", n, h, err)
		}
	}
	for what, m := range map[string]runloop.Brief{
		"savings of no call":        calls(0, runloop.Savings{300}),
		"fewer savings than calls":  calls(3000, runloop.Savings{300}),
		"savings of too many calls": calls(math.MaxInt32, runloop.Savings{300}),
		"a saving out of range":     calls(1, runloop.Savings{1 << 40}),
	} {
		raw := header(m)
		refused(t, what, raw, 0)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			_, _ = raw.Decode(0)
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / 100; each > 4096 {
			t.Errorf("%s: %d bytes are allocated", what, each)
		}
	}
}

// goldenHeaders are headers whose bytes are in testdata/rawheaders.txt.
func goldenHeaders() map[string]*chainstore.Header {
	id := func(b byte) chainstore.ID { return chainstore.ID(bytes.Repeat([]byte{b}, 32)) }
	least := &chainstore.Header{
		ID: id(1), FirstPut: 1_790_000_000_000, PayloadLength: 7,
		Messages: []runloop.Brief{{Role: runloop.System, Length: 7, TextOctets: 1, TextPoints: 1}},
	}
	least.State.Full.Totals = runloop.Totals{Nodes: 1, Messages: 1, Bytes: 7, Tokens: 2, Estimated: true}
	least.State.Effective = least.State.Full

	turn := &chainstore.Header{
		ID: id(2), Seq: 299, FirstPut: 1_790_000_000_000, PayloadLength: 1000,
		Messages: []runloop.Brief{
			{Role: runloop.User, Length: 500, TextOctets: 490, TextPoints: 400, Mark: runloop.Mark{BeginsLoop: true},
				Note: runloop.Note{HasSentAt: true, SentAt: 1_789_999_999_000}},
			{Role: runloop.Assistant, Length: 500, Calls: 2, Note: runloop.Note{HasTokens: true, Tokens: 130}},
		},
		Tools: chainstore.Link{Present: true, Seq: 299},
	}
	s := &turn.State
	s.Full.Totals = runloop.Totals{Nodes: 300, Messages: 600, Depth: 400, Loops: 100, Bytes: 250_000, Tokens: 60_000, Estimated: true}
	s.Full.Loop = runloop.Loop{Phase: runloop.Working, Start: runloop.Place{Seq: 299}}
	s.Full.HasLatestUser, s.Full.LatestUser = true, 1_789_999_999_000
	s.Effective = s.Full
	s.PreambleClosed, s.PreambleEnd = true, runloop.Place{Seq: 1}
	s.Group = runloop.Group{
		Calls:    []runloop.Call{{ID: runloop.Some("call_1"), Name: runloop.Some("read")}, {Name: runloop.Some("")}},
		Answered: []bool{true, false}, Results: true,
	}
	least1 := *least
	least1.Version1 = true
	turn1 := *turn
	turn1.Version1 = true
	turn1.Messages = slices.Clone(turn.Messages)
	turn.Messages[1].Names = []runloop.Optional{runloop.Some("read"), runloop.Some("read")}
	everything1 := goldenEverything(id)
	everything1.Version1 = true
	return map[string]*chainstore.Header{
		"least": &least1, "turn": &turn1, "everything": everything1,
		"least-2": least, "turn-2": turn, "everything-2": everything2(goldenEverything(id)), "opaque-2": goldenOpaque(least),
		"extended-2": goldenExtended(least), "erased": goldenErased(&least1, id), "erased-2": goldenErased(goldenExtended(least), id),
	}
}

// goldenExtended is a header with a principal, a blob, and a field that nothing is known of.
func goldenExtended(least *chainstore.Header) *chainstore.Header {
	h := *least
	h.Extension = "\x01\x02\xac\x02" + "\x02\x20" + strings.Repeat("\x05", 32) + "\xc8\x01\x00"
	return &h
}

// goldenErased is a header of a node that was erased, had metadata and set a variable.
func goldenErased(least *chainstore.Header, id func(byte) chainstore.ID) *chainstore.Header {
	h, digest := *least, id(7)
	h.Messages = slices.Clone(least.Messages)
	h.PayloadLength, h.Messages[0].Length, h.Messages[0].Was = 16, 16, 300
	h.Messages[0].TextOctets, h.Messages[0].TextPoints = 8, 8
	h.Erased = &chainstore.Erased{
		PayloadDigest: id(6), MetadataDigest: &digest, PayloadLength: 300, MetadataLength: 20,
		Variables: []runloop.VariableChange{{Name: "x"}, {Name: "y", Unset: true}, {Name: "z", Declared: true}},
	}
	return &h
}

// goldenOpaque is a header with an opaque message alone.
func goldenOpaque(least *chainstore.Header) *chainstore.Header {
	h := *least
	h.Messages = []runloop.Brief{{Role: runloop.User, Length: 300, Empty: true, Opaque: true}}
	h.State.Full.Totals = runloop.Totals{Nodes: 1, Messages: 1, Bytes: 300}
	h.State.Effective.Totals = runloop.Totals{Nodes: 1}
	return &h
}

// everything2 also has what headers of version 1 have not.
func everything2(h *chainstore.Header) *chainstore.Header {
	h.DetailsLength = 200
	h.Outcome, h.Stubs, h.Stands = runloop.Failed, []runloop.Call{{ID: runloop.Some("c")}, {}}, runloop.Ended
	h.Messages[7].Partial, h.Messages[7].Made = true, true
	h.Messages[0].Mark.Answers = 2
	h.Messages[4].Names = []runloop.Optional{runloop.Some("b"), {}, runloop.Some("b")}
	h.Messages[4].Savings = runloop.Savings{0, 300, 70_000}
	h.Messages = append(h.Messages, runloop.Brief{Role: runloop.Assistant, Length: 9000, Calls: 200, Unnamed: true})
	h.Messages[6].LeftOutLine, h.Messages[6].LeftOutLoops = true, 300
	h.State.Full.Loop.Phase, h.State.Full.Loop.Outcome = runloop.Ended, runloop.Cancelled
	return h
}

func goldenEverything(id func(byte) chainstore.ID) *chainstore.Header {
	absent := runloop.Call{}
	h := &chainstore.Header{
		ID: id(3), Seq: 70_000, FirstPut: 1_790_000_000_000, Forks: 130, Salt: bytes.Repeat([]byte{9}, 16),
		SpawnedFrom:   &chainstore.SpawnedFrom{Node: id(4), CallID: runloop.Some("call_2")},
		PayloadLength: 4 << 20, MetadataLength: 300,
		Messages: []runloop.Brief{
			{Role: runloop.Tool, Length: 70_000, TextOctets: 69_000, TextPoints: 69_000, Error: true, Mark: runloop.Mark{LineLength: 150}},
			{Role: runloop.Tool, Length: 90, Mark: runloop.Mark{LeftOut: runloop.Duplicate}},
			{Role: runloop.Tool, Length: 90, Mark: runloop.Mark{LeftOut: runloop.Late}},
			{Role: runloop.Tool, Length: 90, Empty: true, Mark: runloop.Mark{LeftOut: runloop.Orphan}},
			{Role: runloop.Assistant, Length: 64, Calls: 3, Mark: runloop.Mark{
				Stubs:       []runloop.Call{{ID: runloop.Some("a"), Name: runloop.Some("b")}, absent},
				RepeatedIDs: 2, BeginsLoop: true, LeadIn: true}},
			{Role: runloop.User, Length: 200, TextOctets: 190, TextPoints: 50, Summary: true,
				Note: runloop.Note{HasSentAt: true, SentAt: -5, HasTokens: true, Tokens: 1, Estimated: true}},
			{Role: runloop.User, Length: 4, Mark: runloop.Mark{BeginsLoop: true, Interrupts: true}},
			{Role: runloop.Developer, Length: 2, Empty: true},
		},
		Tools: chainstore.Link{Present: true, Seq: 70_000}, Variables: chainstore.Link{Present: true},
		Spawned: chainstore.Link{Present: true, Seq: 70_000}, Compaction: chainstore.Link{Present: true, Seq: 70_000}, Covers: chainstore.Link{Present: true, Seq: 69_000},
		Provenance: []chainstore.Provenance{{}, {Present: true, Place: runloop.Place{Seq: 12, Index: 3}}},
	}
	s := &h.State
	s.Full.Totals = runloop.Totals{Nodes: 69_990, Messages: 1, Depth: 2, Loops: 3, Bytes: 4, Tokens: 5}
	s.Full.Loop = runloop.Loop{Phase: runloop.Asked, Start: runloop.Place{Seq: 70_000, Index: 6}}
	s.Effective.Totals = runloop.Totals{Nodes: 1001, Messages: 6, Depth: 7, Loops: 8, Bytes: 9, Tokens: 10, Estimated: true}
	s.Effective.Loop = runloop.Loop{
		Phase: runloop.Working, LeadIn: true, Start: runloop.Place{Index: 1}, Replied: true, ReplyLast: true, Unanswered: true,
	}
	s.Repairs = 17
	s.PreambleClosed = true
	s.Full.HasLatestUser, s.Full.LatestUser = true, 1_790_000_000_001
	s.Effective.HasLatestUser, s.Effective.LatestUser = true, 5
	s.Group = runloop.Group{Calls: []runloop.Call{absent}, Answered: []bool{false}}
	return h
}

// TestRawHeaderGolden: the bytes are part of the storage format and must not change.
func TestRawHeaderGolden(t *testing.T) {
	file, err := os.Open("testdata/rawheaders.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	headers := goldenHeaders()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		name, digits, _ := strings.Cut(lines.Text(), " ")
		want := headers[name]
		raw, err := hex.DecodeString(digits)
		if err != nil || want == nil {
			t.Fatalf("a line for %q: %v", name, err)
		}
		if got := chainstore.AppendHeader(nil, want); !bytes.Equal(got, raw) {
			t.Errorf("%s is written as\n%x, was\n%x", name, got, raw)
		}
		if got, err := chainstore.RawHeader(raw).Decode(want.Seq); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as\n%+v, was\n%+v (%v)", name, got, want, err)
		}
		delete(headers, name)
	}
	for name := range headers {
		t.Errorf("no bytes are kept for %s", name)
	}
}

// FuzzRawHeader: any bytes either are refused as corrupt or are a header that is written and read again as itself.
func FuzzRawHeader(f *testing.F) {
	for _, h := range goldenHeaders() {
		f.Add(chainstore.AppendHeader(nil, h), h.Seq)
	}
	f.Fuzz(func(t *testing.T, raw []byte, seq uint32) {
		r := chainstore.RawHeader(raw)
		_, _, _, _, _ = r.ID(), r.Repaired(), r.HasFindings(), r.IsCompaction(), r.MessageCount()
		h, err := r.Decode(seq)
		if err != nil {
			if !errors.Is(err, chainstore.ErrCorrupt) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		once := chainstore.AppendHeader(nil, h)
		again, err := chainstore.RawHeader(once).Decode(seq)
		if err != nil {
			t.Fatalf("what was read is written as bytes that do not parse: %v", err)
		}
		if twice := chainstore.AppendHeader(nil, again); !bytes.Equal(once, twice) {
			t.Fatalf("written as\n%x, then as\n%x", once, twice)
		}
	})
}
