package server_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestLastOfLargeNodes: where the headers that are read have far more messages than are asked for, what is given is the same.
func TestLastOfLargeNodes(t *testing.T) {
	r := newRig(t)
	head := ""
	var places []*transcriptv1.MessagePlace
	for i := range 9 {
		var some []*Message
		for j := range 1000 {
			some = append(some, user(fmt.Sprintf("%04d", 1000*i+j)))
		}
		head = r.put(head, some...)
		for j := range some {
			places = append(places, &transcriptv1.MessagePlace{NodeId: head, MessageIndex: int32(j)})
		}
	}
	for _, n := range []int{1, 20, 999, 1000, 1001, 4095, 4096, 4097, 8999, 9000, 9001, 10_000} {
		for _, before := range []int{9000, 8500, 8000, 1, 0} {
			req := &Assemble{Head: byID(head), LastMessages: int32(n)}
			if before < len(places) {
				req.Before = places[before]
			}
			reply := r.assemble(req)
			if streamed, err := r.streamed(req); err != nil || !proto.Equal(streamed, reply) {
				t.Errorf("in frames, the last %d before %d are others: %v", n, before, err)
			}
			want := max(0, before-n)
			equal(r, "how many are given", len(reply.Messages), before-want)
			equal(r, "whether there is more", reply.HasMoreBefore, want > 0)
			if before > 0 {
				equal(r, "the first", reply.Messages[0].Parts[0].GetText(), fmt.Sprintf("%04d", want))
				equal(r, "where it begins", reply.Begin.String(), places[want].String())
			}
		}
	}
	five := places[4999].NodeId // all of which are read at once
	reply := r.assemble(&Assemble{Head: byID(five), LastMessages: 7})
	equal(r, "the last of five nodes", fmt.Sprint(len(reply.Messages), reply.HasMoreBefore), "7 true")
	for _, bytes := range []int{1, 100, 50_000, 100_000, 1 << 20} {
		reply := r.assemble(&Assemble{Head: byID(head), LastBytes: int32(bytes)})
		one := int(reply.Report.Bytes) / len(reply.Messages)
		equal(r, "how many fit", len(reply.Messages), min(9000, max(1, bytes/one)))
	}
}

// TestLastOfShortGroups: groups are told apart wherever the rows begin that are read at a time.
func TestLastOfShortGroups(t *testing.T) {
	r := newRig(t)
	head := r.put("", user("go"))
	var begins []string
	for i := range 120 {
		head = r.put(head, calling("read", fmt.Sprint(i)))
		begins = append(begins, head)
		head = r.put(head, result(fmt.Sprint(i), "found"))
	}
	for n := 1; n <= 240; n++ {
		for _, view := range []transcriptv1.View{full, effective} {
			reply := r.assemble(&Assemble{Head: byID(head), View: view, LastMessages: int32(n)})
			equal(r, fmt.Sprint("how many the last ", n, " are"), len(reply.Messages), (n+1)/2*2)
			equal(r, "where they begin", reply.Begin.NodeId, begins[120-(n+1)/2])
			byBytes := r.assemble(&Assemble{Head: byID(head), View: view, LastBytes: int32(reply.Report.Bytes)})
			equal(r, "where as many bytes begin", byBytes.Begin.NodeId, reply.Begin.NodeId)
		}
	}
}

// TestLastOfLongGroups: a group is found to its beginning, however many rows that takes.
func TestLastOfLongGroups(t *testing.T) {
	r := newRig(t)
	head := r.put("", user("before"))
	head = r.put(head, user("go"))
	first := ""
	for i := range 300 {
		if head = r.put(head, calling("read", fmt.Sprint(i))); first == "" {
			first = head
		}
	}
	for i := range 300 {
		head = r.put(head, result(fmt.Sprint(i), "found"), result("never", "lost"))
	}
	head = r.put(head, user("and?"))
	// The full view has the 300 lost results too. The last of them lies behind the last answer, in no group.
	for view, more := range map[transcriptv1.View]int{full: 300, effective: 0} {
		reply := r.assemble(&Assemble{Head: byID(head), View: view, LastMessages: 1})
		equal(r, "the last message", len(reply.Messages), 1)
		reply = r.assemble(&Assemble{Head: byID(head), View: view, LastMessages: 3})
		equal(r, "the group", len(reply.Messages), 601+more)
		equal(r, "where it begins", reply.Begin.NodeId, first)
		equal(r, "that there is more", reply.HasMoreBefore, true)
		reply = r.assemble(&Assemble{Head: byID(head), View: view, LastMessages: 5, Before: reply.Begin})
		equal(r, "what comes before it", len(reply.Messages), 2)
		equal(r, "that there is no more", reply.HasMoreBefore, false)
	}
}
