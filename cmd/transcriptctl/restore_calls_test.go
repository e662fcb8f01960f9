package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// onDisk is a stack over a store in a folder of its own, and a client of it.
func onDisk(t *testing.T) (*stack, *client.Client) {
	t.Helper()
	store, err := badgerstore.Open(t.TempDir(), badgerstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := serveStore(t, store)
	c, err := client.Dial(s.addr, client.WithNamespace("deep"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return s, c
}

// TestRestoreNodesWithManyCalls: nodes that were put one by one behind many open calls, each of which is stored with all of them, come back.
func TestRestoreNodesWithManyCalls(t *testing.T) {
	s, c := onDisk(t)
	const calls = 256
	call := func(i int) *string { return proto.String(fmt.Sprintf("%03d", i) + strings.Repeat("c", 120)) }
	asks := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT}
	for i := range calls {
		asks.Parts = append(asks.Parts, &transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Id: call(i), Name: proto.String("read")}}})
	}
	last := ""
	put := func(m *transcriptv1.Message) {
		t.Helper()
		n := client.Node{Messages: []*transcriptv1.Message{m}}
		if last != "" {
			n.Parent = client.ByID(last)
		}
		reply, err := c.Put(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		last = reply.GetNodeId()
	}
	put(asks)
	for i := range calls {
		put(&transcriptv1.Message{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: call(calls - 1 - i), Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "ok"}}}})
	}
	file := filepath.Join(t.TempDir(), "full")
	s.must("backup", "create", file, "--all")
	nowhere := &stack{tb: t, addr: "127.0.0.1:1"}
	out := nowhere.must("restore", file, "--store", "badger://"+filepath.Join(t.TempDir(), "to"))
	if want := fmt.Sprintf("%d created, 0 there already", calls+1); !strings.Contains(out, want) {
		t.Errorf("it tells not %q:\n%s", want, out)
	}
}

// deepAlias is an alias with a long name in seven folders and ten states.
func deepAlias(node string, i, round int) *transcriptv1.ArchiveAlias {
	id, _ := hex.DecodeString(node)
	name := strings.Repeat(strings.Repeat("d", 60)+"/", 7)
	name += strings.Repeat("x", 500-len(name)) + fmt.Sprintf("%03d", i)
	a := &transcriptv1.ArchiveAlias{Name: name, Revision: int64(10 * (round + 1))}
	for k := range int64(10) {
		a.States = append(a.States, &transcriptv1.ArchiveAliasState{
			Node: id, Revision: k + 1 + 10*int64(round), BeganAt: &timestamppb.Timestamp{Seconds: 1000*int64(round) + k},
		})
	}
	return a
}

// TestRestoreDeepAliases: aliases whose rows take more than a call of theirs come back, over what is there too.
func TestRestoreDeepAliases(t *testing.T) {
	_, c := onDisk(t)
	reply, err := c.Put(t.Context(), client.Node{Messages: []*transcriptv1.Message{client.User("one")}})
	if err != nil {
		t.Fatal(err)
	}
	const aliases = 500
	for round := range 2 {
		r := aliasRestorer{to: c, namespace: "deep"}
		for i := range aliases {
			if err := r.add(t.Context(), deepAlias(reply.GetNodeId(), i, round)); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.flush(t.Context()); err != nil || r.set != aliases {
			t.Errorf("round %d: %d set, %v", round, r.set, err)
		}
	}
}

// TestRestoreInHalves: a call that is more than the store commits at once is made in halves; of one that is too large by itself the alias is told.
func TestRestoreInHalves(t *testing.T) {
	_, c := onDisk(t)
	reply, err := c.Put(t.Context(), client.Node{Messages: []*transcriptv1.Message{client.User("one")}})
	if err != nil {
		t.Fatal(err)
	}
	r := aliasRestorer{to: c, namespace: "deep"}
	for i := range 500 {
		r.waiting = append(r.waiting, deepAlias(reply.GetNodeId(), i, 0))
	}
	if _, err := c.Restore(t.Context(), nil, r.waiting...); !errors.Is(err, client.ErrLimitExceeded) {
		t.Fatalf("the store takes them in one call: %v", err)
	}
	if err := r.flush(t.Context()); err != nil || r.set != 500 {
		t.Errorf("%d set, %v", r.set, err)
	}
	large := deepAlias(reply.GetNodeId(), 0, 1)
	large.Name = "chat/large"
	large.Labels = map[string]string{}
	for i := range 1000 {
		large.Labels[fmt.Sprint("label-", i)] = "x"
	}
	r.waiting = []*transcriptv1.ArchiveAlias{deepAlias(reply.GetNodeId(), 1, 1), large, deepAlias(reply.GetNodeId(), 2, 1)}
	err = r.flush(t.Context())
	if text, _ := explain(err); !strings.Contains(text, "labels of alias chat/large of namespace deep: must ") || strings.Contains(text, "aliases[") {
		t.Errorf("it tells %q", text)
	}
}

// TestRestoreBesideWriters: of an alias that went elsewhere while the restore ran, its name and namespace are told, and what to do instead of going on.
func TestRestoreBesideWriters(t *testing.T) {
	_, c := onDisk(t)
	put := func(text string) string {
		t.Helper()
		reply, err := c.Put(t.Context(), client.Node{Messages: []*transcriptv1.Message{client.User(text)}, Aliases: []client.AliasUpdate{{Name: "chat/" + text}}})
		if err != nil {
			t.Fatal(err)
		}
		return reply.GetNodeId()
	}
	one, two := put("one"), put("two")
	elsewhere := deepAlias(one, 0, 0)
	elsewhere.Name = "chat/two"
	r := aliasRestorer{to: c, namespace: "deep", waiting: []*transcriptv1.ArchiveAlias{deepAlias(one, 1, 0), elsewhere}}
	err := fmt.Errorf("%w\n%w", r.flush(t.Context()), &goOn{"to go on: the same command"})
	text, hint := explain(err)
	if exitCode(err) != exitConflict || !strings.Contains(text, "alias chat/two of namespace deep points to "+two) || !strings.Contains(hint, "--map FROM=TO") {
		t.Errorf("%q, %q", text, hint)
	}
	for _, wrong := range []string{"aliases[", "--if-head", "to go on"} {
		if strings.Contains(text+hint, wrong) {
			t.Errorf("%q is in %q, %q", wrong, text, hint)
		}
	}
}

// TestGoOn: how a command goes on stands behind what is said of its error, of an interrupt too, and once.
func TestGoOn(t *testing.T) {
	next := &goOn{"to go on: the same again"}
	gone := &client.Error{Code: 14, Message: "gone"}
	for name, test := range map[string]struct {
		err  error
		says string
	}{
		"joined":      {errors.Join(gone, nil, next), "transcriptctl: no answer from the server: gone\nIs transcriptd running there?"},
		"wrapped":     {fmt.Errorf("%w\n%w", gone, next), "transcriptctl: no answer from the server: gone\nIs transcriptd running there?"},
		"no hint":     {errors.Join(errors.New("no room"), next), "transcriptctl: no room\nto go on"},
		"interrupted": {errors.Join(errInterrupted, errors.Join(context.Canceled, next)), "transcriptctl: interrupted\nto go on"},
	} {
		var notes strings.Builder
		report(&notes, test.err)
		if said := notes.String(); !strings.HasPrefix(said, test.says) || !strings.HasSuffix(said, "\n"+next.how+"\n") || strings.Count(said, next.how) != 1 {
			t.Errorf("%s: %q", name, said)
		}
	}
	sure := &suggestion{err: gone, text: "Do that instead.", sure: true}
	if text, hint := explain(fmt.Errorf("%w\n%w", sure, next)); strings.Contains(text+hint, next.how) || hint != sure.text {
		t.Errorf("%q, %q", text, hint)
	}
}
