package derive

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// found is a Finder that knows some ids, and counts the questions.
type found struct {
	has   map[string]bool
	asked int
	err   error
}

func (f *found) FindCalls(_ Node, ids []CallKey, called map[CallKey]bool) error {
	f.asked++
	for id := range f.has {
		for _, key := range ids {
			if key == KeyOf(runloop.Some(id)) {
				called[key] = true
			}
		}
	}
	return f.err
}

func seat(seq uint32) Seat {
	return Seat{ID: chainstore.ID{byte(seq + 1)}, FirstPut: 1000, Lineage: &chainstore.Lineage{Head: chainstore.Place{Segment: 1, Seq: seq}}}
}

func calling(ids ...string) *chainstore.NewNode {
	m := runloop.Facts{Role: runloop.Assistant, Length: 1}
	for _, id := range ids {
		m.Calls = append(m.Calls, runloop.Call{ID: runloop.Some(id), Name: runloop.Some("tool of " + id)})
	}
	return &chainstore.NewNode{Payload: []byte("p"), Messages: []runloop.Facts{{Role: runloop.User, Length: 1}, m}}
}

// A node and its child: links, tables and recall rows follow, the ancestors are asked once, and the parent stays as it is.
func TestAppend(t *testing.T) {
	first := calling("a")
	first.Variables = []runloop.VariableChange{{Name: "x"}}
	parent, recalls, err := Append(first, seat(0), Node{}, CallsBefore(Node{}, first.Messages, nil))
	if err != nil || len(recalls) != 1 || !recalls[KeyOf(runloop.Some("a"))].Calls() || !parent.HasTools() || !parent.HasVariables() {
		t.Fatalf("%+v, %+v, %v", parent, recalls, err)
	}
	before, tables := *parent.Header, *parent.Tables
	f := &found{has: map[string]bool{"b": true}}
	in := calling("a", "b", "c")
	child, recalls, err := Append(in, seat(1), parent, CallsBefore(parent, in.Messages, f))
	if err != nil || len(recalls) != 3 || f.asked != 1 {
		t.Fatalf("%+v, %d questions, %v", recalls, f.asked, err)
	}
	if got := child.Header.Messages[1].Mark.RepeatedIDs; got != 2 { // a is of the parent's group, b was found
		t.Errorf("%d repeated ids", got)
	}
	if !child.HasTools() || child.HasVariables() || child.Header.Variables != parent.Header.Variables || len(child.Tables.Tools) != 3 {
		t.Errorf("%+v, %+v", child.Header, child.Tables)
	}
	if !reflect.DeepEqual(before, *parent.Header) || !reflect.DeepEqual(tables, *parent.Tables) {
		t.Error("the parent has changed")
	}
	f.err = errors.New("failed")
	if _, _, err := Append(in, seat(1), parent, CallsBefore(parent, in.Messages, f)); !errors.Is(err, f.err) {
		t.Errorf("ancestors that cannot be asked: %v", err)
	}
}

// A header of version 1 counts a user's message as sent, one of version 2 not later than its node's first put.
func TestVersions(t *testing.T) {
	asked := func(sent int64) *chainstore.NewNode {
		note := runloop.Note{HasSentAt: true, SentAt: sent}
		return &chainstore.NewNode{Payload: []byte("p"), Messages: []runloop.Facts{{Role: runloop.User, Length: 1, Note: note}}}
	}
	latest := func(sent int64, at Seat, parent Node) (Node, int64) {
		n, _, err := Append(asked(sent), at, parent, CallsBefore(parent, nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		full, effective := n.Header.State.Full.LatestUser, n.Header.State.Effective.LatestUser
		if full != effective || n.Header.Version1 != at.Version1 {
			t.Errorf("%+v, in full %d, effective %d", n.Header, full, effective)
		}
		return n, effective
	}
	one := seat(0)
	one.Version1 = true
	old, at := latest(5000, one, Node{})
	if at != 5000 {
		t.Errorf("in version 1 the latest user is of %d", at)
	}
	if _, at = latest(6000, seat(1), old); at != 5000 {
		t.Errorf("behind it the latest user is of %d", at)
	}
	if _, at = latest(5000, seat(0), Node{}); at != 1000 { // the first put of a seat
		t.Errorf("in version 2 the latest user is of %d", at)
	}
	if _, at = latest(900, seat(0), Node{}); at != 900 {
		t.Errorf("in version 2 a user of before the first put is of %d", at)
	}
}

// A header of version 1 tells neither the names of calls, nor what results answer, nor what was made.
func TestCallsOfVersion1(t *testing.T) {
	in := calling("a")
	in.Messages = append(in.Messages, runloop.Facts{Role: runloop.Tool, CallID: runloop.Some("a"), Made: true, Partial: true, Length: 1})
	for _, version1 := range []bool{true, false} {
		at := seat(0)
		at.Version1 = version1
		n, _, err := Append(in, at, Node{}, CallsBefore(Node{}, in.Messages, nil))
		if err != nil {
			t.Fatal(err)
		}
		call, result := n.Header.Messages[1], n.Header.Messages[2]
		if (len(call.Names) == 0) != version1 || (result.Mark.Answers == 0) != version1 || result.Made == version1 || result.Partial == version1 {
			t.Errorf("version 1: %t: %+v, %+v", version1, call, result)
		}
		raw := chainstore.AppendHeader(nil, n.Header)
		if got, err := chainstore.RawHeader(raw).Decode(0); err != nil || !reflect.DeepEqual(got.Messages, n.Header.Messages) {
			t.Errorf("version 1: %t: it is read as %+v, %v", version1, got, err)
		}
	}
}

// What is derived holds nothing of what was put.
func TestDerivedIsItsOwn(t *testing.T) {
	in := calling("a")
	in.Salt, in.SpawnedFrom = []byte("salt"), &chainstore.SpawnedFrom{Node: chainstore.ID{9}}
	n, _, err := Append(in, seat(0), Node{}, CallsBefore(Node{}, in.Messages, nil))
	if err != nil {
		t.Fatal(err)
	}
	in.Salt[0], in.SpawnedFrom.Node = 'x', chainstore.ID{8}
	if string(n.Header.Salt) != "salt" || n.Header.SpawnedFrom.Node != (chainstore.ID{9}) {
		t.Errorf("%s, %v", n.Header.Salt, n.Header.SpawnedFrom)
	}
}

// The tables hold no more than they may: later tools are counted together, and variables set longest ago are gone.
func TestTablesAreBounded(t *testing.T) {
	in := &chainstore.NewNode{Payload: []byte("p"), Messages: []runloop.Facts{{Role: runloop.Assistant, Length: 1}}}
	const calls = chainstore.MaxTableEntries + 10
	for i := range calls {
		in.Messages[0].Calls = append(in.Messages[0].Calls, runloop.Call{Name: runloop.Some(fmt.Sprint(i))})
		in.Variables = append(in.Variables, runloop.VariableChange{Name: fmt.Sprint(i)})
	}
	n, _, err := Append(in, seat(0), Node{}, CallsBefore(Node{}, in.Messages, nil))
	if err != nil || len(n.Tables.Tools) != chainstore.MaxTableEntries || n.Tables.OtherCalls != 10 {
		t.Fatalf("%d tools and %d other calls, %v", len(n.Tables.Tools), n.Tables.OtherCalls, err)
	}
	if vs := n.Tables.Variables; len(vs) != chainstore.MaxTableEntries || vs[0].Name != "10" || vs[len(vs)-1].Name != fmt.Sprint(calls-1) {
		t.Errorf("%d variables", len(vs))
	}
	long := &chainstore.NewNode{Payload: []byte("p"), Variables: []runloop.VariableChange{{Name: "0"}, {Name: strings.Repeat("x", chainstore.MaxTableBytes-1)}}}
	again, _, err := Append(long, seat(1), n, CallsBefore(n, nil, nil))
	if err != nil || len(again.Tables.Variables) != 2 || again.Tables.Variables[0] != (chainstore.Variable{Name: "0", Seq: 1}) {
		t.Errorf("%d variables, %v", len(again.Tables.Variables), err)
	}
}

// A header of version 1 knows of no declarations, and an empty value was one.
func TestVariablesByVersion(t *testing.T) {
	in := &chainstore.NewNode{Payload: []byte("p"), Variables: []runloop.VariableChange{
		{Name: "declared", Declared: true}, {Name: "emptied", Unset: true}, {Name: "undeclared", Declared: true, Unset: true}, {Name: "value"},
	}}
	for version1, want := range map[bool]string{false: "[{declared 0} {value 0}]", true: "[{emptied 0} {value 0}]"} {
		at := seat(0)
		at.Version1 = version1
		n, _, err := Append(in, at, Node{}, CallsBefore(Node{}, nil, nil))
		if err != nil || fmt.Sprint(n.Tables.Variables) != want {
			t.Errorf("version 1 %t: the variables are %v, want %s (%v)", version1, n.Tables, want, err)
		}
		declares := &chainstore.NewNode{Payload: []byte("p"), Variables: in.Variables[:1]}
		if n, _, err = Append(declares, at, Node{}, CallsBefore(Node{}, nil, nil)); err != nil || n.HasVariables() == version1 {
			t.Errorf("version 1 %t: a node that declares a variable has a row of variables: %t (%v)", version1, n.HasVariables(), err)
		}
	}
}

// goldenKey is the key of the id "call_1".
const goldenKey = "2a5f695524596db55aaa36eac55e85fe"

func TestKeys(t *testing.T) {
	if got := fmt.Sprintf("%x", KeyOf(runloop.Some("call_1"))); got != goldenKey {
		t.Errorf("the key is %s", got)
	}
	if KeyOf(runloop.Some("")) == KeyOf(runloop.Optional{}) {
		t.Error("an empty id is no id")
	}
}
