package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// forgedStream changes the frames of an effective view on their way.
type forgedStream struct {
	grpc.ServerStream
	forge func(*transcriptv1.StreamAssembleResponse)
	full  bool
}

func (s *forgedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if req, ok := m.(*transcriptv1.StreamAssembleRequest); ok {
		s.full = req.GetView() == transcriptv1.View_VIEW_FULL
	}
	return err
}

func (s *forgedStream) SendMsg(m any) error {
	encoded, err := m.(interface{ Encode() ([]byte, error) }).Encode()
	if err != nil {
		return err
	}
	frame := &transcriptv1.StreamAssembleResponse{}
	if err := proto.Unmarshal(encoded, frame); err != nil {
		return err
	}
	if !s.full {
		s.forge(frame)
	}
	return s.ServerStream.SendMsg(frame)
}

// serveForged serves an empty store, and forges what StreamAssemble sends.
func serveForged(t *testing.T, forge func(*transcriptv1.StreamAssembleResponse)) *stack {
	t.Helper()
	forged := func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		if strings.HasSuffix(info.FullMethod, "/StreamAssemble") {
			stream = &forgedStream{ServerStream: stream, forge: forge}
		}
		return next(srv, stream)
	}
	return serveStore(t, memstore.New(memstore.Options{}), grpc.StreamInterceptor(forged))
}

// TestCheckForged: a view that differs from the list otherwise than its report says ends the import with exit code 6,
// whether a node's id shows it or only the list does, at the end of a conversation too.
func TestCheckForged(t *testing.T) {
	withoutResult := func(f *transcriptv1.StreamAssembleResponse) {
		last := len(f.Messages) - 1
		if last < 0 || f.Messages[last].GetRole() != transcriptv1.Role_ROLE_TOOL {
			return
		}
		n := f.Nodes[len(f.Nodes)-1]
		digest := canonical.PayloadDigest(nil, canonical.AppendMessage(nil, f.Messages[last]))
		n.Content, n.MessageCount, n.Envelope.PayloadDigest = transcriptv1.NodeContent_NODE_CONTENT_MADE, 0, fmt.Sprintf("%x", digest)
		f.Messages = f.Messages[:last]
	}
	const broken, agent, atEnd = "testdata/broken.jsonl", "testdata/agent.jsonl", "-"
	tests := []struct {
		name, file string
		forge      func(*transcriptv1.StreamAssembleResponse)
		says       string
	}{
		{"no finding", broken, func(f *transcriptv1.StreamAssembleResponse) {
			if f.Report != nil {
				f.Report.Findings = nil
			}
		}, "broken.jsonl:1, request 1: the effective view differs"},
		{"no repairs", broken, func(f *transcriptv1.StreamAssembleResponse) {
			if f.Report != nil {
				f.Report.Repairs = 0
			}
		}, "it has 1 repair, and the report tells of 0"},
		{"a finding too many", broken, func(f *transcriptv1.StreamAssembleResponse) {
			if f.Report != nil {
				f.Report.Findings = append(f.Report.Findings, &transcriptv1.Finding{
					Kind: transcriptv1.FindingKind_FINDING_KIND_LATE_RESULT, NodeId: f.Nodes[0].GetNodeId(), Count: 1,
				})
			}
		}, "message 0, which the report says was repaired"},
		{"a result left out", agent, withoutResult, "request 3: the effective view differs"},
		{"a result left out at the end", atEnd, withoutResult, "standard input:1, request 2: the effective view differs"},
		{"another text", broken, func(f *transcriptv1.StreamAssembleResponse) {
			f.Messages[0].Parts[0].Kind = &transcriptv1.Part_Text{Text: "forged"}
		}, "verification failed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serveForged(t, test.forge)
			r := s.runWith(t.Context(), lineOf("end", said("user", "a"), called("1"), answered("1")),
				"import", "--check", "--workers", "1", test.file)
			if r.code != exitDamaged || !strings.Contains(r.notes, test.says) {
				t.Errorf("exit code %d, %s", r.code, r.notes)
			}
		})
	}
}

// TestCheckEnd: what a conversation ends with is compared, whatever that is, and what differs only there is told.
func TestCheckEnd(t *testing.T) {
	differs := func(request, message, count int, why string) []difference {
		return []difference{{
			File: "standard input", Line: 1, Alias: "chat/1", Request: request, End: true, Message: message, Why: why, Count: count,
		}}
	}
	for _, test := range []struct {
		name     string
		messages []string
		requests int64
		want     []difference
	}{
		{"one message", []string{said("user", "a")}, 1, nil},
		{"the assistant alone", []string{said("assistant", "a")}, 1, nil},
		{"an answer", []string{said("user", "a"), said("assistant", "b")}, 2, nil},
		{"a question", []string{said("user", "a"), said("assistant", "b"), said("user", "c")}, 2, nil},
		{"a result", []string{said("user", "a"), called("1"), answered("1")}, 2, nil},
		{"calls that await results", []string{said("user", "a"), called("1", "2"), answered("2")}, 2, nil},
		{"a result of nothing", []string{said("user", "a"), called("1"), answered("1"), answered("x")}, 2, differs(2, 3, 1, "orphan_result")},
		{"a result again", []string{said("user", "a"), called("1"), answered("1"), answered("1")}, 2, differs(2, 3, 1, "duplicate_result")},
		{"a result too late", []string{said("user", "a"), called("1"), answered("1"), said("assistant", "b"), answered("1")}, 3, differs(3, 4, 1, "late_result")},
		{"calls without results", []string{said("user", "a"), called("1", "2"), said("user", "c")}, 2, differs(2, 2, 2, "unanswered_call")},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newStack(t)
			r := s.importText(lineOf("1", test.messages...), "--check")
			lines := strings.Split(strings.TrimSpace(r.out), "\n")
			var got []difference
			for _, line := range lines[:len(lines)-1] {
				var d difference
				if err := json.Unmarshal([]byte(line), &d); err != nil {
					t.Fatal(err)
				}
				got = append(got, d)
			}
			r.out = lines[len(lines)-1]
			want := &checkSummary{Requests: test.requests, Differing: int64(len(test.want))}
			if sums := r.sums(t); !reflect.DeepEqual(got, test.want) || !reflect.DeepEqual(sums.Check, want) {
				t.Errorf("%+v, %+v; want %+v, %+v", got, sums.Check, test.want, want)
			}
		})
	}
}

// lineOf is a conversation as import reads it.
func lineOf(id string, messages ...string) string {
	return fmt.Sprintf(`{"id":%q,"messages":[%s]}`+"\n", id, strings.Join(messages, ","))
}

func said(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

func called(ids ...string) string {
	for i, id := range ids {
		ids[i] = fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`, id)
	}
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(ids, ",") + "]}"
}

func answered(id string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"r"}`, id)
}

// TestRepairs: what differs between a list and a view, as letters: u and a speak, c calls, r and o are results, + is a
// stub.
func TestRepairs(t *testing.T) {
	roles := map[rune]transcriptv1.Role{
		'u': transcriptv1.Role_ROLE_USER, 'r': transcriptv1.Role_ROLE_TOOL, 'o': transcriptv1.Role_ROLE_TOOL,
		'+': transcriptv1.Role_ROLE_TOOL,
	}
	message := func(letter rune) *transcriptv1.Message {
		m := &transcriptv1.Message{Role: transcriptv1.Role_ROLE_ASSISTANT}
		if role, ok := roles[letter]; ok {
			m.Role = role
		}
		m.Parts = []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: string(letter)}}}
		if letter == '+' {
			m.Origin = transcriptv1.Origin_ORIGIN_STUB
		}
		return m
	}
	for _, test := range []struct {
		list, view string
		want       []repair
		bad        bool
	}{
		{list: "uca", view: "uca"},
		{list: "", view: ""},
		{list: "ucrra", view: "ucra", want: []repair{{message: 3}}},
		{list: "oucra", view: "ucra", want: []repair{{message: 0}}},
		{list: "uca", view: "uc++a", want: []repair{{message: 2, stubs: 2}}},
		{list: "ucroa", view: "ucr+a", want: []repair{{message: 4, stubs: 1}, {message: 3}}},
		{list: "ucoru", view: "ucr+u", want: []repair{{message: 2}, {message: 4, stubs: 1}}},
		{list: "uao", view: "ua", want: []repair{{message: 2}}},
		{list: "ucacu", view: "uc+ac+u", want: []repair{{message: 2, stubs: 1}, {message: 4, stubs: 1}}},
		{list: "ua", view: "u", bad: true},
		{list: "ua", view: "a", bad: true},
		{list: "ua", view: "au", bad: true},
		{list: "ua", view: "uax", bad: true},
		{list: "ua", view: "uxa", bad: true},
		{list: "ucra", view: "urca", bad: true},
		{list: "ucra", view: "ucrra", bad: true},
	} {
		f := &flatList{starts: map[string]int{}}
		for i, letter := range test.list {
			f.add(fmt.Sprint(i), []*transcriptv1.Message{message(letter)})
		}
		var shown [][]byte
		for _, letter := range test.view {
			shown = append(shown, canonical.AppendMessage(nil, message(letter)))
		}
		got, err := f.repairs(shown)
		if errors.Is(err, errUnexplained) != test.bad || !test.bad && (err != nil || !reflect.DeepEqual(got, test.want)) {
			t.Errorf("%s as %s: %v, %v; want %v", test.list, test.view, got, err, test.want)
		}
	}
}

// TestCheckManyFindings: a report names 100 findings; what it has no room for is told all the same.
func TestCheckManyFindings(t *testing.T) {
	s := newStack(t)
	var b strings.Builder
	b.WriteString(`{"id":"1","messages":[{"role":"user","content":"go"}`)
	for i := range 105 {
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"%d","content":"r"},{"role":"assistant","content":"x"}`, i)
	}
	b.WriteString("]}\n")
	r := s.importText(b.String(), "--check")
	if r.code != exitOK || strings.Count(r.out, `"why":"orphan_result"`) != 105 {
		t.Errorf("exit code %d, %s%s", r.code, r.out, r.notes)
	}
	// 105 at once are more than any report names.
	b.Reset()
	b.WriteString(`{"id":"2","messages":[{"role":"user","content":"go"}`)
	for i := range 105 {
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"%d","content":"r"}`, i)
	}
	b.WriteString(`,{"role":"assistant","content":"x"}]}` + "\n")
	r = s.importText(b.String(), "--check")
	if r.code != exitOK || strings.Count(r.out, `"why":"orphan_result"`) != 100 || strings.Count(r.out, `"why":"more_findings"`) != 5 {
		t.Errorf("exit code %d, %s%s", r.code, r.out, r.notes)
	}
}

// setVariable appends a node without messages to the chain of an alias.
func (s *stack) setVariable(alias string) {
	s.tb.Helper()
	c, err := client.Dial(s.addr)
	if err != nil {
		s.tb.Fatal(err)
	}
	_, err = c.Put(s.tb.Context(), client.Node{
		Parent: client.ByAlias(alias), Metadata: map[string]string{"var/mood": `"fine"`}, Aliases: []client.AliasUpdate{{Name: alias}},
	})
	if err := errors.Join(err, c.Close()); err != nil {
		s.tb.Fatal(err)
	}
}

// TestImportCompacted: compactions and nodes without messages are in no import's way. What lies behind one is not compared, all else is.
func TestImportCompacted(t *testing.T) {
	s := newStack(t)
	user := func(n int) string { return fmt.Sprintf(`{"role":"user","content":"question %d"},`, n) }
	call := func(n int) string {
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"%d","type":"function","function":`+
			`{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"result","tool_call_id":"%d"},`+
			`{"role":"assistant","content":"answer %d"}`, n, n, n)
	}
	line := func(messages ...string) string {
		return `{"id":"1","messages":[` + strings.Join(messages, "") + "]}\n"
	}
	first := line(user(1), call(1))
	second := line(user(1), call(1), ",", user(2), call(2))
	third := line(user(1), call(1), ",", user(2), call(2), ",", user(3), call(3))
	s.importText(first).sums(t)
	s.must("compact", "chat/1")
	for _, step := range []struct {
		line string
		want importSummary
	}{
		{first, importSummary{Behind: 1, NodesThere: 4, Check: &checkSummary{3, 0, 0}}},
		{second, importSummary{Grown: 1, NodesCreated: 4, NodesThere: 4, Check: &checkSummary{2, 0, 3}}},
		{second, importSummary{Unchanged: 1, NodesThere: 8, Check: &checkSummary{2, 0, 3}}},
		{first, importSummary{Behind: 1, NodesThere: 4, Check: &checkSummary{3, 0, 0}}},
	} {
		got := s.importText(step.line, "--check").sums(t)
		step.want.Conversations, step.want.Bytes, step.want.Seconds = 1, got.Bytes, got.Seconds
		if !reflect.DeepEqual(got, step.want) {
			t.Errorf("got %+v %+v, want %+v %+v", got, got.Check, step.want, step.want.Check)
		}
	}
	s.must("compact", "chat/1")
	s.setVariable("chat/1")
	if got := s.importText(third).sums(t); got.Grown != 1 || got.NodesCreated != 4 {
		t.Errorf("%+v", got)
	}
	checkExport(t, s, third)
	if got := s.importText(s.must("export")).sums(t); got.Unchanged != 1 || got.NodesCreated != 0 {
		t.Errorf("%+v", got)
	}
	if r := s.importText(line(user(1), call(1), ",", user(9), call(9))); r.code != exitConflict {
		t.Errorf("another conversation: exit code %d, %s", r.code, r.notes)
	}
	s.must("verify")
}
