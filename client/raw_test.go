package client

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// join lays parts end to end in memory without room to spare.
func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func TestSplitKeepsTheBytesOfMessages(t *testing.T) {
	one := marshal(t, &transcriptv1.Payload{Messages: []*transcriptv1.Message{System("s"), User("u")}})
	two := marshal(t, &transcriptv1.Payload{Messages: []*transcriptv1.Message{Assistant("a")}})
	head := marshal(t, &transcriptv1.StreamAssembleResponse{HeadId: "h", Etag: "e"})
	tail := marshal(t, &transcriptv1.StreamAssembleResponse{Report: &transcriptv1.Report{Messages: 3}})
	for name, c := range map[string]struct{ reply, payload, rest []byte }{
		"empty":          {nil, nil, nil},
		"only messages":  {one, one, nil},
		"no messages":    {head, nil, head},
		"messages first": {join(one, head), one, head},
		"messages last":  {join(head, one), one, head},
		"in the middle":  {join(head, one, tail), one, join(head, tail)},
		"in two runs":    {join(one, head, two, tail), join(one, two), join(head, tail)},
		"around":         {join(one, head, two), join(one, two), head},
	} {
		payload, rest, err := (&rawReply{bytes: c.reply}).split()
		if err != nil || !bytes.Equal(payload, c.payload) || !bytes.Equal(rest, c.rest) {
			t.Errorf("%s: %x and %x, %v", name, payload, rest, err)
		}
		// What is appended to a part must not run into the other.
		_ = append(payload, 0xff)
		if len(c.reply) > 0 && !bytes.Equal(rest, c.rest) {
			t.Errorf("%s: the parts overlap", name)
		}
	}
}

func TestSplitRefusesWhatIsNoReply(t *testing.T) {
	whole := marshal(t, frame(User("hello")))
	for _, b := range [][]byte{whole[:len(whole)-1], {0x0a}, {0x0a, 0xff}, {0x00}, append(bytes.Clone(whole), 0x0b)} {
		if _, _, err := (&rawReply{bytes: b}).split(); !errors.Is(err, ErrBadReply) {
			t.Errorf("%x: %v", b, err)
		}
	}
}

func TestCut(t *testing.T) {
	one := marshal(t, &transcriptv1.Payload{Messages: []*transcriptv1.Message{User("a")}})
	two := marshal(t, &transcriptv1.Payload{Messages: []*transcriptv1.Message{User("b")}})
	head, tail, err := cut(join(one, two), 1)
	if err != nil || !bytes.Equal(head, one) || !bytes.Equal(tail, two) {
		t.Errorf("%x and %x, %v", head, tail, err)
	}
	for _, n := range []int{3, 1 << 30} {
		if _, _, err := cut(join(one, two), n); !errors.Is(err, ErrBadReply) {
			t.Errorf("%d of 2 messages: %v", n, err)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte{0x0a, 0x02, 0x08, 0x03, 0x12, 0x01, 'h', 0x0a, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		original := bytes.Clone(b)
		payload, rest, err := (&rawReply{bytes: bytes.Clone(b)}).split()
		if err != nil {
			return
		}
		if len(payload)+len(rest) != len(original) {
			t.Fatalf("%d bytes of %d", len(payload)+len(rest), len(original))
		}
		for len(rest) > 0 {
			number, _, n := protowire.ConsumeField(rest)
			if n < 0 || number == messagesField {
				t.Fatalf("rest has a field %d of %d bytes", number, n)
			}
			rest = rest[n:]
		}
	})
}

func TestRepliesThatBreakTheContract(t *testing.T) {
	report := &transcriptv1.Report{}
	for name, frames := range map[string][]proto.Message{
		"nothing":                    {},
		"no head":                    {&transcriptv1.StreamAssembleResponse{Report: report}},
		"no report":                  {&transcriptv1.StreamAssembleResponse{HeadId: "x"}},
		"another base":               {&transcriptv1.StreamAssembleResponse{HeadId: "x", BaseId: "z", Report: report}},
		"not modified, nothing held": {&transcriptv1.StreamAssembleResponse{HeadId: "x", NotModified: true}},
	} {
		conn := &fakeConn{frames: func(context.Context, any) ([]proto.Message, error) { return frames, nil }}
		c := New(conn)
		if _, err := c.Assemble(t.Context(), ByID("x"), Query{After: "y"}); !errors.Is(err, ErrBadReply) {
			t.Errorf("Assemble, %s: %v", name, err)
		}
		if err := last(c.Frames(t.Context(), ByID("x"), Query{After: "y"})); !errors.Is(err, ErrBadReply) {
			t.Errorf("Frames, %s: %v", name, err)
		}
	}
	conn := &fakeConn{invoke: func(context.Context, string, any) (proto.Message, error) {
		return &transcriptv1.ResolveAliasResponse{}, nil
	}}
	if _, err := New(conn).Resolve(t.Context(), "a"); !errors.Is(err, ErrBadReply) {
		t.Errorf("Resolve: %v", err)
	}
}
