package server_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// fullNote is a note of the largest size of what it has beside the model, which has so many bytes.
func fullNote(model int) *transcriptv1.MessageNote {
	return &transcriptv1.MessageNote{
		SentAt: &timestamppb.Timestamp{Seconds: 253402300799, Nanos: 999_000_000}, TokenCount: proto.Int32(math.MaxInt32), TokenCountEstimated: true,
		Model: strings.Repeat("m", model),
	}
}

// frameSizes are the sizes of the frames of the chain of a node, with all that can be told of nodes.
func (r *rig) frameSizes(view transcriptv1.View, id string, keys []string) (sizes []int, report *transcriptv1.Report) {
	r.Helper()
	frames, err := r.frames(&Assemble{Head: byID(id), View: view, NodeDetail: envelopes, NodeFacts: &NodeFacts{MetadataKeys: keys}})
	if err != nil {
		r.Fatal(err)
	}
	for i, f := range frames {
		if (f.Report != nil) != (i == len(frames)-1) {
			r.Errorf("frame %d of %d: report %v", i, len(frames), f.Report)
		}
		if report = f.Report; proto.Size(f) > 4<<20 {
			r.Errorf("a frame of %d bytes", proto.Size(f))
		}
		sizes = append(sizes, proto.Size(f))
	}
	return sizes, report
}

// TestFramesOfTheLargestNotes: notes of a node, as large as can be, fit into a frame with a node to which repair adds 10,000 stubs, its
// facts, envelope and findings.
func TestFramesOfTheLargestNotes(t *testing.T) {
	r := newRig(t)
	keys, entries := largestFacts()
	req := &PutNode{
		Parent: byID(r.put("", system("s"))), Metadata: entries, Salt: []byte(strings.Repeat("s", 32)),
		SpawnedFrom: &transcriptv1.SpawnedFromRef{NodeId: absent, ToolCallId: proto.String(strings.Repeat("c", 1024))},
	}
	for i := range 1000 {
		m := user(strings.Repeat("m", 2000))
		if i%25 == 0 { // 250 calls that the next message leaves unanswered
			var calls []string
			for k := range 250 {
				calls = append(calls, fmt.Sprint("c", k))
			}
			m = calling("read", calls...)
		}
		req.Messages, req.Notes = append(req.Messages, m), append(req.Notes, fullNote(62+64*boolCount(i < 24)))
	}
	first := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	_, report := r.frameSizes(effective, first, keys)
	equal(r, "the stubs", report.Repairs, 10_000)
	for i := range req.Messages { // now it is as large as fits into one part
		if room := int(canonical.MaxPayloadBytes - report.Bytes); i%25 > 0 {
			req.Messages[i] = user(strings.Repeat("m", 2000+room/960))
		}
	}
	id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	sizes, report := r.frameSizes(effective, id, keys)
	equal(r, "the frames, of which the last has the report alone", len(sizes), 3)
	if sizes[1] < 4<<20-8<<10 || report.Bytes < canonical.MaxPayloadBytes-2000 {
		r.Errorf("the largest frame has %d bytes, with %d of messages", sizes[1], report.Bytes)
	}
	r.frameSizes(full, id, keys)
}

func largestFacts() (keys []string, entries []*transcriptv1.MetadataEntry) {
	for i := range 16 {
		keys = append(keys, fmt.Sprintf("%02d%s", i, strings.Repeat("k", []int{0, 254}[i%2])))
		entries = append(entries, metadata(keys[i], strings.Repeat("v", 896-8*(i%2)))...)
	}
	return keys, entries
}

// TestNotesOfCopies: a compaction takes along what notes tell, of the latest messages as far as it fits, and a shortened message loses its
// token count alone.
func TestNotesOfCopies(t *testing.T) {
	r := newRig(t)
	id := r.put("", system("s"))
	for i := range 100 {
		req := &PutNode{Parent: byID(id), Messages: []*Message{user(fmt.Sprint("question ", i)), assistant(strings.Repeat("long ", 100))}}
		req.Notes = []*transcriptv1.MessageNote{{Model: strings.Repeat("m", 500) + fmt.Sprintf("%03d", i)}, fullNote(500)}
		id = must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	}
	compacted := r.compact(&Compact{Head: byID(id), Policy: &Policy{MaxRunLoops: proto.Int32(100), MaxReplyChars: proto.Int32(5)}})
	n := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(compacted.NodeId)}))
	models, bytes := 0, 0
	for i, note := range n.Info.Notes {
		one := &transcriptv1.MessageNote{Model: note.Model}
		if bytes += proto.Size(one); note.Model != "" {
			models++
		} else if models > 0 {
			t.Errorf("message %d has no model, one before it has", i)
		}
		if n.Messages[i].Origin == transcriptv1.Origin_ORIGIN_SHORTENED && (note.TokenCount != nil || note.TokenCountEstimated || note.SentAt == nil) {
			t.Errorf("the note of shortened message %d is %v", i, note)
		}
	}
	if last := n.Info.Notes[len(n.Info.Notes)-2]; !strings.HasSuffix(last.Model, "099") {
		t.Errorf("the note of the last question is %v", last)
	}
	if bytes > 64<<10 || bytes < 63<<10 {
		t.Errorf("%d models of %d bytes were taken along", models, bytes)
	}
	reply := r.assemble(&Assemble{Head: byID(compacted.NodeId), NodeDetail: ids})
	told := 0
	for _, info := range reply.Nodes {
		for _, note := range info.Notes {
			told += boolCount(note.Model != "")
		}
	}
	equal(r, "the models in the effective view", told, models)
	r.clean("")
}

// TestNotesOfAPart: each message of a part of a node, between one that repair leaves out and a stub, has its own note.
func TestNotesOfAPart(t *testing.T) {
	r := newRig(t)
	req := &PutNode{Messages: []*Message{user("0"), result("none", "1"), assistant("2"), calling("read", "c"), user("4"), assistant("5")}}
	for i := range req.Messages {
		req.Notes = append(req.Notes, &transcriptv1.MessageNote{Model: fmt.Sprint(i)})
	}
	id := must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
	whole := []string{"0", "2", "3", "", "4", "5"} // the stub stands before the message that ended its group
	for n := 1; n <= len(whole); n++ {
		reply := r.assemble(&Assemble{Head: byID(id), View: effective, LastMessages: int32(n), NodeDetail: ids})
		var got []string
		for _, note := range reply.Nodes[0].Notes {
			got = append(got, note.Model)
		}
		if want := whole[len(whole)-len(reply.Messages):]; len(reply.Messages) < n || !slices.Equal(got, want) {
			t.Errorf("the last %d messages, %d came, have the models %q, want %q", n, len(reply.Messages), got, want)
		}
	}
}

func boolCount(b bool) int {
	if b {
		return 1
	}
	return 0
}
