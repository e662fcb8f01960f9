package server_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

type (
	Describe         = transcriptv1.DescribeRequest
	DescribeResponse = transcriptv1.DescribeResponse
)

const (
	modeOff          = transcriptv1.DescribeMode_DESCRIBE_MODE_OFF
	modeMetadata     = transcriptv1.DescribeMode_DESCRIBE_MODE_METADATA
	modePreview      = transcriptv1.DescribeMode_DESCRIBE_MODE_PREVIEW
	stateNone        = transcriptv1.RunLoopState_RUN_LOOP_STATE_UNSPECIFIED
	stateOpen        = transcriptv1.RunLoopState_RUN_LOOP_STATE_OPEN
	stateClosed      = transcriptv1.RunLoopState_RUN_LOOP_STATE_CLOSED
	stateInterrupted = transcriptv1.RunLoopState_RUN_LOOP_STATE_INTERRUPTED
)

// begun is when the stores of these tests begin.
var begun = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// atBegun is the clock of stores in which no time passes: what is put after turns of a fixed age is never too old beside them.
func atBegun() time.Time { return begun }

// clock is a time that a test moves.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time             { return time.UnixMilli(c.ms.Load()) }
func (c *clock) pass(d time.Duration)       { c.ms.Add(d.Milliseconds()) }
func (c *clock) at() *timestamppb.Timestamp { return timestamppb.New(c.now()) }

// newClocked is a rig over a store in memory whose clock the test moves, and the store.
func newClocked(t *testing.T) (*rig, *clock, chainstore.Store) {
	t.Helper()
	c := &clock{}
	c.ms.Store(begun.UnixMilli())
	store := memstore.New(memstore.Options{Now: c.now})
	return newRig(t, store), c, store
}

func (r *rig) describe(req *Describe) *DescribeResponse {
	r.Helper()
	return must[*DescribeResponse](r)(r.TranscriptServiceClient.Describe(r.ctx(), req))
}

// putWith puts a node with whatever the request has under a parent, none where that is empty.
func (r *rig) putWith(parent string, req *PutNode) string {
	r.Helper()
	if parent != "" {
		req.Parent = byID(parent)
	}
	return must[*transcriptv1.PutNodeResponse](r)(r.PutNode(r.ctx(), req)).NodeId
}

func variables(pairs ...string) []*transcriptv1.MetadataEntry {
	var entries []*transcriptv1.MetadataEntry
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, &transcriptv1.MetadataEntry{Key: "var/" + pairs[i], Value: pairs[i+1]})
	}
	return entries
}

// declares is the metadata that declares a variable.
func declares(name, info string) []*transcriptv1.MetadataEntry {
	return []*transcriptv1.MetadataEntry{{Key: "varinfo/" + name, Value: info}}
}

func spawnedBy(node, call string) *transcriptv1.SpawnedFromRef {
	return &transcriptv1.SpawnedFromRef{NodeId: node, ToolCallId: &call}
}

// sameReply compares replies by their JSON.
func (r *rig) sameReply(what string, got, want proto.Message) {
	r.Helper()
	if !proto.Equal(got, want) {
		r.Errorf("%s is\n%s\nwant\n%s", what, protojson.Format(got), protojson.Format(want))
	}
}

// everyPart is a chain in which each part of a description has something to tell: a closed loop, an open one with an
// answered and an unanswered call, tools, variables, aliases, a fork, and a link to a call that started it. It returns
// the ids of the path and of the chain that its call spawned.
func everyPart(r *rig, c *clock) (path []string, spawned string) {
	r.Helper()
	root := r.put("", system("be kind"))
	c.pass(time.Second)
	first := r.putWith(root, &PutNode{
		Messages: []*Message{user("what is the weather?"), assistant("sunny")}, SpawnedFrom: spawnedBy(absent, "elsewhere"),
		Metadata: slices.Concat(variables("plan", `{"steps":3}`, "mood", `"fine"`, "draft", `"a"`), inherits("none"),
			declares("context", `{"type":"str","size":200000,"preview":"It was the best","iteration":3}`)),
	})
	c.pass(time.Second)
	r.put(first, user("the first child, which makes the next a fork"))
	asked := r.putWith(first, &PutNode{
		Messages: []*Message{user("and tomorrow?")}, Notes: []*transcriptv1.MessageNote{{SentAt: timestamppb.New(begun.Add(-time.Minute))}},
	})
	c.pass(time.Second)
	called := r.put(asked, calling("forecast", "c1", "c2"), calling("tides", "c3"))
	c.pass(time.Second)
	spawned = r.putWith("", &PutNode{Messages: []*Message{user("the forecast")}, SpawnedFrom: spawnedBy(called, "c2")})
	c.pass(time.Second)
	head := r.putWith(called, &PutNode{
		Messages: []*Message{result("c1", "rain until noon")}, Metadata: variables("plan", `null`, "draft", ""),
		Aliases: []*Update{{Name: "chat/1"}, {Name: "chat/2"}},
	})
	c.pass(3 * time.Minute)
	return []string{root, first, asked, called, head}, spawned
}

// TestDescribeTellsEveryPart: each field of the reply in each mode.
func TestDescribeTellsEveryPart(t *testing.T) {
	r, c, _ := newClocked(t)
	path, spawned := everyPart(r, c)
	head := path[4]
	headAt := begun.Add(5 * time.Second)
	counters := must[*transcriptv1.GetNodeResponse](r)(r.GetNode(r.ctx(), &transcriptv1.GetNodeRequest{Node: byID(head)})).Counters
	place := func(node string, ancestors int32) *transcriptv1.PathNode {
		return &transcriptv1.PathNode{NodeId: node, Ancestors: ancestors}
	}
	pending := func(name, id string) *transcriptv1.PendingCall {
		return &transcriptv1.PendingCall{Name: &name, Id: &id}
	}
	want := &DescribeResponse{
		HeadId: head, HeadFirstPutAt: timestamppb.New(headAt), Age: durationpb.New(3 * time.Minute), Counters: counters,
		Loop: &transcriptv1.LoopStatus{
			State: stateOpen, First: &transcriptv1.MessagePlace{NodeId: path[2]}, StartedAt: timestamppb.New(begun.Add(-time.Minute)),
			OpenFor: durationpb.New(4*time.Minute + 5*time.Second),
			Pending: []*transcriptv1.PendingCall{pending("forecast", "c2"), pending("tides", "c3")},
		},
		Lineage: &transcriptv1.Lineage{
			Ancestors: 4, Forks: 1, ForkNodes: []*transcriptv1.PathNode{place(path[2], 2)},
			SpawnedFrom: spawnedBy(absent, "elsewhere"), SpawnedNodeId: path[1],
			Inheritance: inheritsNothing, SpawnDepth: 1,
			Spawned: []*transcriptv1.SpawnedChain{{NodeId: spawned, SpawnedFrom: spawnedBy(path[3], "c2")}},
		},
		Tools:   []*transcriptv1.ToolUse{{Name: proto.String("forecast"), Calls: 2}, {Name: proto.String("tides"), Calls: 1}},
		Aliases: []string{"chat/1", "chat/2"},
		Variables: []*transcriptv1.VariableInfo{
			{Name: "plan", Type: "null", SizeBytes: 4, SetBy: place(head, 4), SetAt: timestamppb.New(headAt)},
			{
				Name: "context", Type: "str", SizeBytes: 200_000, Iteration: proto.Int64(3),
				SetBy: place(path[1], 1), SetAt: timestamppb.New(begun.Add(time.Second)),
			},
			{Name: "mood", Type: "string", SizeBytes: 6, SetBy: place(path[1], 1), SetAt: timestamppb.New(begun.Add(time.Second))},
		},
	}
	for _, mode := range []transcriptv1.DescribeMode{0, modeMetadata} {
		got := r.describe(&Describe{Head: byID(head), Mode: mode, Now: c.at()})
		want.Text = got.Text
		r.sameReply("the metadata", got, want)
	}
	want.Loop.UserPreview, want.Loop.LastPreview = "and tomorrow?", "rain until noon"
	want.Variables[0].Preview, want.Variables[1].Preview, want.Variables[2].Preview = "null", "It was the best", `"fine"`
	got := r.describe(&Describe{Head: byAlias("chat/1"), Mode: modePreview, Now: c.at()})
	want.Text = got.Text
	r.sameReply("the description with previews", got, want)
	r.sameReply("the description of nothing", r.describe(&Describe{Head: byAlias("chat/2"), Mode: modeOff}), &DescribeResponse{HeadId: head})
}

// TestDescribeLoops: where the last run loop stands, and the times and calls of it.
func TestDescribeLoops(t *testing.T) {
	tests := []struct {
		name     string
		messages []*Message
		state    transcriptv1.RunLoopState
		first    int // the index of the message that begins it
		leadIn   bool
		pending  string
		asked    string
		last     string
	}{
		{"a prompt alone", []*Message{system("s")}, stateNone, -1, false, "", "", "s"},
		{"a question", []*Message{system("s"), user("u")}, stateOpen, 1, false, "", "u", "u"},
		{"a question in two messages", []*Message{user("u1"), user("u2")}, stateOpen, 0, false, "", "u1", "u2"},
		{"an answer", []*Message{user("u"), assistant("a")}, stateClosed, 0, false, "", "u", "a"},
		{"an answer and a word of the system", []*Message{user("u"), assistant("a"), system("s")}, stateClosed, 0, false, "", "u", "s"},
		{"a call", []*Message{user("u"), calling("f", "c")}, stateOpen, 0, false, "f c", "u", "u"},
		{"a result", []*Message{user("u"), calling("f", "c"), result("c", "r")}, stateOpen, 0, false, "", "u", "r"},
		{"one of two results", []*Message{user("u"), calling("f", "c", "d", "d"), result("d", "r")}, stateOpen, 0, false, "f c, f d", "u", "r"},
		{"an answer, then more work", []*Message{user("u"), assistant("a"), calling("f", "c")}, stateOpen, 0, false, "f c", "u", "a"},
		{"an answer in spite of a call", []*Message{user("u"), calling("f", "c"), assistant("a")}, stateInterrupted, 0, false, "", "u", "a"},
		{"a question in spite of a call", []*Message{user("u"), calling("f", "c"), user("v")}, stateOpen, 2, false, "", "v", "v"},
		{"nobody asked", []*Message{system("s"), assistant("hello")}, stateOpen, 1, true, "", "", "hello"},
		{"a question after that", []*Message{assistant("hello"), user("u")}, stateOpen, 1, false, "", "u", "u"},
		{"an answer without words", []*Message{user("u"), {Role: transcriptv1.Role_ROLE_ASSISTANT}}, stateOpen, 0, false, "", "u", "u"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, c, _ := newClocked(t)
			id := r.put("", test.messages...)
			c.pass(time.Minute)
			got := r.describe(&Describe{Head: byID(id), Mode: modePreview, Now: c.at()}).Loop
			want := &transcriptv1.LoopStatus{State: test.state, LeadIn: test.leadIn, UserPreview: test.asked, LastPreview: test.last}
			if test.first >= 0 {
				want.First = &transcriptv1.MessagePlace{NodeId: id, MessageIndex: int32(test.first)}
				want.StartedAt = timestamppb.New(begun)
			}
			if test.state == stateOpen {
				want.OpenFor = durationpb.New(time.Minute)
			}
			for pair := range strings.SplitSeq(test.pending, ", ") {
				if name, id, ok := strings.Cut(pair, " "); ok {
					want.Pending = append(want.Pending, &transcriptv1.PendingCall{Name: &name, Id: &id})
				}
			}
			r.sameReply("the loop", got, want)
		})
	}
}

// TestDescribeTime: how long is told up to the request's time, is never negative, and a loop is stale once nothing was put
// for longer than the limit.
func TestDescribeTime(t *testing.T) {
	r, c, _ := newClocked(t)
	asked := r.put("", user("u"))
	c.pass(time.Hour)
	head := r.put(asked, calling("f", "c"))
	after := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(begun.Add(d)) }
	tests := []struct {
		name         string
		now          *timestamppb.Timestamp
		stale        *durationpb.Duration
		age, openFor time.Duration
		isStale      bool
	}{
		{"before everything", after(-time.Hour), nil, 0, 0, false},
		{"at the head", after(time.Hour), nil, 0, time.Hour, false},
		{"an hour later", after(2 * time.Hour), nil, time.Hour, 2 * time.Hour, false},
		{"a moment more", after(2*time.Hour + time.Millisecond), nil, time.Hour + time.Millisecond, 2*time.Hour + time.Millisecond, true},
		{"what is finer than a millisecond", after(time.Hour + 999*time.Microsecond), durationpb.New(0), 0, time.Hour, false},
		{"a limit of none", after(time.Hour + time.Millisecond), durationpb.New(0), time.Millisecond, time.Hour + time.Millisecond, true},
		{"a limit of a day", after(25 * time.Hour), durationpb.New(24 * time.Hour), 24 * time.Hour, 25 * time.Hour, false},
		{"the longest limit", after(25 * time.Hour), &durationpb.Duration{Seconds: 100 * 365 * 24 * 60 * 60}, 24 * time.Hour, 25 * time.Hour, false},
	}
	for _, test := range tests {
		got := r.describe(&Describe{Head: byID(head), Now: test.now, StaleAfter: test.stale})
		equal(r, test.name+": age", got.Age.AsDuration(), test.age)
		equal(r, test.name+": open for", got.Loop.OpenFor.AsDuration(), test.openFor)
		equal(r, test.name+": stale", got.Loop.Stale, test.isStale)
	}
	end := &timestamppb.Timestamp{Seconds: 253402300799}
	got := r.describe(&Describe{Head: byID(head), Now: end})
	equal(r, "the seconds at the end of time", got.Age.Seconds, end.Seconds-begun.Add(time.Hour).Unix())
	done := r.put(head, result("c", "r"), assistant("a"))
	if l := r.describe(&Describe{Head: byID(done), Now: end}).Loop; l.OpenFor != nil || l.Stale {
		t.Errorf("a closed loop is %v", l)
	}
	before := time.Now().Truncate(time.Millisecond)
	age := r.describe(&Describe{Head: byID(head)}).Age.AsDuration()
	least := max(0, before.Sub(begun.Add(time.Hour)))
	if most := time.Until(begun.Add(time.Hour)); age < least || age > max(0, -most) {
		t.Errorf("without a time the age is %v, want about %v", age, least)
	}
}

// TestDescribeStaleBehindACompaction: that somebody condensed a chain is no sign of life of its open loop.
func TestDescribeStaleBehindACompaction(t *testing.T) {
	r, c, _ := newClocked(t)
	r.chain("chat", concat(work("1"), []*Message{user("and now?")})...)
	c.pass(3 * time.Hour)
	for range 2 {
		got := r.describe(&Describe{Head: byAlias("chat"), Now: c.at()}).Loop
		equal(r, "open and stale", fmt.Sprint(got.State, got.Stale), "RUN_LOOP_STATE_OPEN true")
		r.compact(&Compact{Head: byAlias("chat")})
	}
}

// TestDescribeOneMoment: the same chain and time give the same bytes.
func TestDescribeOneMoment(t *testing.T) {
	r, c, _ := newClocked(t)
	path, _ := everyPart(r, c)
	req := &Describe{Head: byID(path[4]), Mode: modePreview, Now: c.at(), Redact: true}
	encode := func() string {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(r.describe(req))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	first := encode()
	c.pass(time.Hour)
	for range 5 {
		if encode() != first {
			t.Fatal("two descriptions of one chain at one time differ")
		}
	}
}

// TestDescribeVariableTypes: the type of a value, and a preview cut between code points.
func TestDescribeVariableTypes(t *testing.T) {
	r := newRig(t)
	values := []struct{ value, kind, preview string }{
		{`{}`, "object", `{}`}, {` [1, 2]`, "array", ` [1, `}, {`"日本語です"`, "string", `"日本語で`}, {`-0.5e3`, "number", `-0.5e`},
		{`true`, "boolean", `true`}, {` false `, "boolean", ` fals`}, {"\n\tnull", "null", "\n\tnul"},
		{` `, "invalid", ` `}, {`{"a":}`, "invalid", `{"a":`}, {`nul`, "invalid", `nul`}, {`1 2`, "invalid", `1 2`},
	}
	var pairs []string
	for i, v := range values {
		pairs = append(pairs, fmt.Sprintf("%02d", i), v.value)
	}
	id := r.putWith("", &PutNode{Metadata: variables(pairs...)})
	got := r.describe(&Describe{Head: byID(id), Mode: modePreview, PreviewChars: 5})
	equal(r, "the number of variables", len(got.Variables), len(values))
	for i, v := range got.Variables {
		equal(r, "the name", v.Name, fmt.Sprintf("%02d", i))
		equal(r, "the type of "+values[i].value, v.Type, values[i].kind)
		equal(r, "the preview of "+values[i].value, v.Preview, values[i].preview)
		equal(r, "the size of "+values[i].value, int(v.SizeBytes), len(values[i].value))
	}
}

// TestDescribeRedacts: secrets are replaced before anything is cut, in texts and under the names of variables.
func TestDescribeRedacts(t *testing.T) {
	r := newRig(t)
	key := "sk-proj-" + strings.Repeat("Ab3dEf6hIj", 4)
	id := r.putWith("", &PutNode{
		Messages: []*Message{user("my key is " + key + " is it not?"), assistant("it was " + key)},
		Metadata: slices.Concat(variables("db_password", `"correcthorse77"`, "list", `["`+key+`", 1]`, "api_key", `oops `+key),
			declares("far_password", `{"type":"str","size":14,"preview":"correcthorse77","iteration":1}`),
			declares("notes", `{"type":"`+key+`","size":200000,"preview":"it is `+key+` indeed","iteration":1}`)),
	})
	for _, chars := range []int32{15, 30, 200} {
		got := r.describe(&Describe{Head: byID(id), Mode: modePreview, Redact: true, PreviewChars: chars})
		all := protojson.Format(got)
		if strings.Contains(all, key[:10]) || strings.Contains(all, "correcth") {
			t.Errorf("with previews of %d there are secrets in %s", chars, all)
		}
	}
	got := r.describe(&Describe{Head: byID(id), Mode: modePreview, Redact: true})
	equal(r, "the user's text", got.Loop.UserPreview, "my key is [redacted] is it not?")
	equal(r, "the last text", got.Loop.LastPreview, "it was [redacted]")
	for i, want := range []string{"[redacted]", `"[redacted]"`, "[redacted]", `["[redacted]", 1]`, "it is [redacted] indeed"} {
		equal(r, got.Variables[i].Name, got.Variables[i].Preview, want)
	}
	if plain := r.describe(&Describe{Head: byID(id), Mode: modePreview}); !strings.Contains(plain.Loop.UserPreview, key) {
		t.Error("secrets are replaced where nobody asked for that")
	}
}

// TestDescribeWithoutContent puts a secret of its own into everything that is content: none is in a description that
// shows no content, and those that are shown with previews are.
func TestDescribeWithoutContent(t *testing.T) {
	r := newRig(t)
	n := 0
	secret := func() string { n++; return fmt.Sprintf("secret-%03d-canary", n) }
	extras := func() string { return `{"x":"` + secret() + `"}` }
	part := func(p *transcriptv1.Part) *transcriptv1.Part { p.Extras = extras(); return p }
	message := func(role transcriptv1.Role) *Message {
		m := &Message{Role: role, Name: proto.String(secret()), Extras: extras(), Parts: []*transcriptv1.Part{
			part(&transcriptv1.Part{Kind: &transcriptv1.Part_Text{Text: secret()}}),
			part(&transcriptv1.Part{Kind: &transcriptv1.Part_Reasoning{Reasoning: &transcriptv1.Reasoning{Text: secret(), Signature: secret(), RedactedData: []byte(secret())}}}),
			part(&transcriptv1.Part{Kind: &transcriptv1.Part_Json{Json: secret()}}),
			part(&transcriptv1.Part{Kind: &transcriptv1.Part_Media{Media: &transcriptv1.Media{MediaType: secret(), Source: &transcriptv1.Media_Uri{Uri: secret()}}}}),
		}}
		switch role {
		case transcriptv1.Role_ROLE_TOOL:
			m.ToolCallId = proto.String("call-1")
		case transcriptv1.Role_ROLE_ASSISTANT:
			for _, id := range []string{"call-1", "call-2"} {
				m.Parts = append(m.Parts, part(&transcriptv1.Part{Kind: &transcriptv1.Part_ToolCall{
					ToolCall: &transcriptv1.ToolCall{Id: &id, Name: proto.String("tool"), Arguments: secret() + " " + secret()},
				}}))
			}
		}
		return m
	}
	metadata := func() []*transcriptv1.MetadataEntry {
		return slices.Concat(variables("v1", secret(), "v2", `"`+secret()+`"`), []*transcriptv1.MetadataEntry{{Key: secret(), Value: secret()}},
			declares("v3", `{"type":"str","size":9,"preview":"`+secret()+`","iteration":1}`))
	}
	spawner := r.putWith("", &PutNode{Messages: []*Message{message(transcriptv1.Role_ROLE_SYSTEM), message(transcriptv1.Role_ROLE_USER), message(transcriptv1.Role_ROLE_ASSISTANT)}, Metadata: metadata()})
	node := r.putWith("", &PutNode{
		Messages: []*Message{message(transcriptv1.Role_ROLE_USER), message(transcriptv1.Role_ROLE_ASSISTANT)}, Metadata: metadata(),
		SpawnedFrom: spawnedBy(spawner, "call-1"), Salt: []byte("salt-canary-0123"),
		Aliases: []*Update{{Name: "x", Labels: &transcriptv1.Labels{Entries: map[string]string{"label": secret()}}}},
	})
	r.putWith("", &PutNode{Messages: []*Message{message(transcriptv1.Role_ROLE_USER)}, SpawnedFrom: spawnedBy(node, "call-2")})
	for _, m := range []*Message{message(transcriptv1.Role_ROLE_DEVELOPER), message(transcriptv1.Role_ROLE_TOOL)} {
		node = r.putWith(node, &PutNode{Messages: []*Message{m}, Metadata: metadata(), Aliases: []*Update{{Name: "x"}}})
	}
	for _, redact := range []bool{false, true} {
		got := r.describe(&Describe{Head: byAlias("x"), Redact: redact})
		if all := protojson.Format(got); strings.Contains(all, "canary") {
			t.Errorf("content in %s", all)
		}
		if b, err := proto.Marshal(got); err != nil || strings.Contains(string(b), "canary") {
			t.Errorf("content in the reply's bytes (%v)", err)
		}
		equal(r, "variables", len(got.Variables), 3)
		equal(r, "spawned chains", len(got.Lineage.Spawned), 1)
	}
	got := r.describe(&Describe{Head: byAlias("x"), Mode: modePreview})
	for what, preview := range map[string]string{
		"the user": got.Loop.UserPreview, "the last": got.Loop.LastPreview, "a variable": got.Variables[0].Preview, "one that is declared": got.Variables[2].Preview, "the text": got.Text,
	} {
		if !strings.Contains(preview, "canary") {
			t.Errorf("the preview of %s is %q", what, preview)
		}
	}
	if n < 60 {
		t.Errorf("only %d secrets were put", n)
	}
}
