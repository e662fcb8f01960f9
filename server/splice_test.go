package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// altered is a store whose rows are changed on their way out.
type altered struct {
	chainstore.Store
	change func(*chainstore.Row)
}

func (a *altered) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c, err := a.Store.Chain(ctx, namespace, head, after)
	if err != nil {
		return nil, err
	}
	return &alteredChain{c, a.change}, nil
}

func (a *altered) ChainNamed(ctx context.Context, namespace string, head chainstore.Ref, limit int) (chainstore.Chain, []string, bool, error) {
	c, names, more, err := a.Store.ChainNamed(ctx, namespace, head, limit)
	if err != nil {
		return nil, nil, false, err
	}
	return &alteredChain{c, a.change}, names, more, nil
}

type alteredChain struct {
	chainstore.Chain
	change func(*chainstore.Row)
}

func (c *alteredChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	return c.Chain.Rows(ctx, spans, func(r *chainstore.Row) error {
		row := *r
		c.change(&row)
		return yield(&row)
	})
}

// raw is a client's codec that hands out the bytes of replies.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	b, err := proto.Marshal(v.(proto.Message))
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// messagesOf lays the field 1 of a reply's bytes end to end, tags and lengths included.
func messagesOf(t *testing.T, reply []byte) []byte {
	t.Helper()
	var out []byte
	for len(reply) > 0 {
		number, _, n := protowire.ConsumeField(reply)
		if n < 0 {
			t.Fatalf("the reply does not parse: %v", protowire.ParseError(n))
		}
		if number == 1 {
			out = append(out, reply[:n]...)
		}
		reply = reply[n:]
	}
	return out
}

// garble makes an entry that is no message of each entry of a payload, with the same length.
func garble(payload []byte) []byte {
	out := bytes.Clone(payload)
	for rest := out; len(rest) > 0; {
		_, _, tag := protowire.ConsumeTag(rest)
		body, n := protowire.ConsumeBytes(rest[tag:])
		for i := range body {
			body[i] = 0xff
		}
		rest = rest[tag+n:]
	}
	return out
}

// TestNothingIsDecoded: stored bytes that are no messages go through every read unharmed, so nothing on the way looks
// into them, and what repair leaves out of the effective view is a range of bytes.
func TestNothingIsDecoded(t *testing.T) {
	store := memstore.New(memstore.Options{})
	nodes, put, _ := newRig(t, store).broken()
	r := newRig(t, &altered{store, func(row *chainstore.Row) { row.Payload = garble(row.Payload) }})
	var whole, fixed []byte
	for i, m := range put {
		one := garble(canonical.EncodePayload([]*Message{m}))
		whole = append(whole, one...)
		switch i {
		case 5:
			fixed = canonical.AppendStub(fixed, runloop.Call{ID: runloop.Some("2"), Name: runloop.Some("read")})
		case 10:
			fixed = canonical.AppendStub(fixed, runloop.Call{ID: runloop.Some("1"), Name: runloop.Some("read")})
		}
		if i != 4 && i != 6 && i != 9 {
			fixed = append(fixed, one...)
		}
	}
	for view, want := range map[transcriptv1.View][]byte{full: whole, effective: fixed} {
		for _, detail := range []transcriptv1.NodeDetail{0, ids, envelopes} {
			var reply []byte
			req := &Assemble{Head: byAlias("chat"), View: view, NodeDetail: detail}
			err := r.Conn.Invoke(r.ctx(), transcriptv1.TranscriptService_Assemble_FullMethodName, req, &reply, grpc.ForceCodecV2(raw{}))
			if err != nil || !bytes.Equal(messagesOf(t, reply), want) {
				t.Errorf("view %v, detail %v: other bytes than those stored, %v", view, detail, err)
			}
			if got := r.rawStream(req); !bytes.Equal(got, want) {
				t.Errorf("view %v, detail %v: other bytes than those stored in the stream", view, detail)
			}
		}
	}
	var node []byte
	err := r.Conn.Invoke(r.ctx(), transcriptv1.TranscriptService_GetNode_FullMethodName,
		&transcriptv1.GetNodeRequest{Node: byID(nodes[2])}, &node, grpc.ForceCodecV2(raw{}))
	if err != nil || !bytes.Equal(messagesOf(t, node), garble(canonical.EncodePayload(put[2:3]))) {
		t.Errorf("GetNode gives other bytes than those stored, %v", err)
	}
}

func (r *rig) rawStream(req *Assemble) []byte {
	r.Helper()
	stream, err := r.Conn.NewStream(r.ctx(), &grpc.StreamDesc{ServerStreams: true},
		transcriptv1.TranscriptService_StreamAssemble_FullMethodName, grpc.ForceCodecV2(raw{}))
	if err == nil {
		err = stream.SendMsg(&transcriptv1.StreamAssembleRequest{Head: req.Head, View: req.View, NodeDetail: req.NodeDetail})
	}
	if err == nil {
		err = stream.CloseSend()
	}
	var out []byte
	for err == nil {
		var frame []byte
		if err = stream.RecvMsg(&frame); err == nil {
			out = append(out, messagesOf(r.T, frame)...)
		}
	}
	if !errors.Is(err, io.EOF) {
		r.Fatal(err)
	}
	return out
}

// TestCleanHeadersAreNotDecoded: where there is nothing to repair, to find or to tell, headers are not read either.
func TestCleanHeadersAreNotDecoded(t *testing.T) {
	store := memstore.New(memstore.Options{})
	newRig(t, store).chain("chat", system("s"), user("u"), assistant("a"))
	r := newRig(t, &altered{store, func(row *chainstore.Row) { row.Raw = row.Raw[:40] }})
	for _, view := range []transcriptv1.View{full, effective} {
		reply := r.assemble(&Assemble{Head: byAlias("chat"), View: view})
		r.sameMessages("the messages", reply.Messages, system("s"), user("u"), assistant("a"))
		equal(r, "the messages reported", reply.Report.Messages, 3)
		_, err := r.Assemble(r.ctx(), &Assemble{Head: byAlias("chat"), View: view, NodeDetail: ids})
		r.fails(err, codes.DataLoss, "NODE_CORRUPT", "")
		_, err = r.frames(&Assemble{Head: byAlias("chat"), View: view, NodeDetail: ids})
		r.fails(err, codes.DataLoss, "NODE_CORRUPT", "")
	}
}

// TestCorruptRows: rows that contradict themselves, or are missing, are data loss and nothing else.
func TestCorruptRows(t *testing.T) {
	store := memstore.New(memstore.Options{})
	newRig(t, store).broken()
	short := newRig(t, &altered{store, func(row *chainstore.Row) { row.Payload = row.Payload[:len(row.Payload)-1] }})
	_, err := short.Assemble(short.ctx(), &Assemble{Head: byAlias("chat")})
	short.fails(err, codes.DataLoss, "NODE_CORRUPT", "")
	_, err = short.frames(&Assemble{Head: byAlias("chat")})
	short.fails(err, codes.DataLoss, "NODE_CORRUPT", "")

	gap := newRig(t, &gaps{store})
	_, err = gap.Assemble(gap.ctx(), &Assemble{Head: byAlias("chat")})
	gap.fails(err, codes.DataLoss, "NODE_CORRUPT", "")
	_, err = gap.frames(&Assemble{Head: byAlias("chat")})
	gap.fails(err, codes.DataLoss, "NODE_CORRUPT", "")
}

// gaps is a store whose chains lack their last row.
type gaps struct{ chainstore.Store }

func (g *gaps) Chain(ctx context.Context, namespace string, head chainstore.Ref, after *chainstore.ID) (chainstore.Chain, error) {
	c, err := g.Store.Chain(ctx, namespace, head, after)
	if err != nil {
		return nil, err
	}
	return &gapChain{c}, nil
}

func (g *gaps) ChainNamed(ctx context.Context, namespace string, head chainstore.Ref, limit int) (chainstore.Chain, []string, bool, error) {
	c, names, more, err := g.Store.ChainNamed(ctx, namespace, head, limit)
	if err != nil {
		return nil, nil, false, err
	}
	return &gapChain{c}, names, more, nil
}

type gapChain struct{ chainstore.Chain }

func (c *gapChain) Rows(ctx context.Context, spans []chainstore.Span, yield func(*chainstore.Row) error) error {
	short := slices.Clone(spans)
	for i := range short {
		short[i].Through = min(short[i].Through, c.Head().Seq-1)
	}
	return c.Chain.Rows(ctx, short, yield)
}
