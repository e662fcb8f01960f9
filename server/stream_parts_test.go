package server_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// uneven puts a chain whose parts by number of rows are of very different sizes: hundreds of small nodes, then some of which
// each is more than a batch. Results that answer no call stand all over it.
func (r *rig) uneven(alias string) (put []*Message) {
	random := rand.New(rand.NewPCG(1, 1))
	var nodes []*transcriptv1.NewNode
	for i := range 700 {
		size := 10 + random.IntN(4_000)
		if i%233 > 228 {
			size = 600_000
		}
		m := user(fmt.Sprint(i) + strings.Repeat("x", size))
		if i%5 == 4 {
			m = result(fmt.Sprint("none", i), fmt.Sprint(i)+strings.Repeat("x", size))
		}
		put = append(put, m)
		nodes = append(nodes, &transcriptv1.NewNode{Messages: []*Message{m}, Previous: len(nodes) > 0})
		if len(nodes) == 100 || size == 600_000 || i == 699 {
			nodes[len(nodes)-1].Aliases = []*Update{{Name: alias}}
			if _, err := r.PutNodes(r.ctx(), &transcriptv1.PutNodesRequest{Nodes: nodes}); err != nil {
				r.Fatal(err)
			}
			nodes = []*transcriptv1.NewNode{{Messages: []*Message{user("on")}, Parent: byAlias(alias)}}
			put = append(put, nodes[0].Messages[0])
		}
	}
	return put[:len(put)-1]
}

// TestPartsAreOneStream: parts that are read side by side come in order and whole, and their reports are one.
func TestPartsAreOneStream(t *testing.T) {
	r := newRig(t, memstore.New(memstore.Options{}))
	put := r.uneven("chat")
	frames, err := r.frames(&Assemble{Head: byAlias("chat"), View: full})
	if err != nil {
		t.Fatal(err)
	}
	var got []*Message
	for i, f := range frames {
		got = append(got, f.Messages...)
		if (f.Report != nil) != (i == len(frames)-1) || (f.HeadId != "") != (i == 0) {
			t.Errorf("frame %d of %d: head %q, report %v", i, len(frames), f.HeadId, f.Report)
		}
		if size := proto.Size(f); size > 80<<10 && len(f.Messages) > 1 {
			t.Errorf("frame %d of %d messages has %d bytes", i, len(f.Messages), size)
		}
	}
	if !proto.Equal(&transcriptv1.Payload{Messages: got}, &transcriptv1.Payload{Messages: put}) {
		t.Fatalf("%d messages came otherwise than the %d that were put", len(got), len(put))
	}
	report := frames[len(frames)-1].Report
	found := int32(len(report.Findings)) + report.MoreFindings
	if report.Messages != int32(len(put)) || found != 140 || len(report.Findings) != 100 {
		t.Errorf("%d messages, %d findings, %d listed", report.Messages, found, len(report.Findings))
	}
	for i, f := range report.Findings[1:] {
		if f.NodeId == report.Findings[i].NodeId {
			t.Errorf("finding %d is told twice", i)
		}
	}
}

// TestAFaultBesideAStream: what fails while it is read ahead ends the stream, also a panic.
func TestAFaultBesideAStream(t *testing.T) {
	for what, fail := range map[string]func(){
		"panic": func() { panic("no") },
		"fault": func() { _ = strings.Split("", "x")[len(t.Name())] },
	} {
		t.Run(what, func(t *testing.T) {
			e := newEndless(t, 16<<10, 5_000)
			e.watch = func(read uint32) {
				if read == 4_000 {
					fail()
				}
			}
			r := newPlainRig(t, e)
			stream, err := r.StreamAssemble(r.ctx(), &transcriptv1.StreamAssembleRequest{Head: byAlias("x")})
			for err == nil {
				_, err = stream.Recv()
			}
			if errors.Is(err, io.EOF) {
				t.Fatal("the stream ended well")
			}
			if status.Code(err) != codes.Internal {
				t.Errorf("%v, want INTERNAL", err)
			}
		})
	}
}
