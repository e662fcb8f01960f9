package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"pgregory.net/rapid"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// timedMessage is a message, and the members behind its content as they are written.
func timedMessage(role, content, members string) string {
	if members != "" {
		members = "," + members
	}
	return fmt.Sprintf(`{"role":%q,"content":%q%s}`, role, content, members)
}

// timedLine is a conversation of user messages with these further members.
func timedLine(id string, members ...string) string {
	var messages []string
	for i, m := range members {
		messages = append(messages, timedMessage("user", fmt.Sprint(id, " ", i), m))
	}
	return chatOf(id, messages)
}

func chatOf(id string, messages []string) string {
	return fmt.Sprintf(`{"id":%q,"messages":[%s]}`, id, strings.Join(messages, ",")) + "\n"
}

// sentAt are the times of a chat's messages as its notes have them, "-" where there is none.
func (s *stack) sentAt(id string) (times []string) {
	s.tb.Helper()
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	reply, err := transcriptv1.NewTranscriptServiceClient(conn).Assemble(context.Background(), &transcriptv1.AssembleRequest{
		Head: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "chat/" + id}},
		View: transcriptv1.View_VIEW_FULL, NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS,
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, n := range reply.Nodes {
		for i := range int(n.MessageCount) {
			at := "-"
			if i < len(n.Notes) && n.Notes[i].SentAt != nil {
				at = n.Notes[i].SentAt.AsTime().Format("2006-01-02T15:04:05.999Z")
			}
			times = append(times, at)
		}
	}
	return times
}

// TestImportReadsTimes in every form, of messages that have some, and others that have none.
func TestImportReadsTimes(t *testing.T) {
	const at, millis = "2023-11-14T22:13:20Z", "2023-11-14T22:13:20.123Z"
	forms := []struct{ member, want string }{
		{`"timestamp":1700000000`, at}, {`"created_at":1700000000`, at}, {`"timestamp":1700000000000`, at},
		{`"timestamp":1700000000123`, millis}, {`"timestamp":1700000000.123999`, millis}, {`"timestamp":1700000000.1`, "2023-11-14T22:13:20.1Z"},
		{`"timestamp":"1700000000"`, at}, {`"timestamp":"1700000000.123456"`, millis}, {`"timestamp":"1700000000123"`, millis},
		{`"timestamp":"2023-11-14T22:13:20Z"`, at}, {`"timestamp":"2023-11-14t22:13:20z"`, at}, {`"timestamp":"2023-11-14 22:13:20Z"`, at},
		{`"created_at":"2023-11-15T03:43:20.123456789+05:30"`, millis}, {`"timestamp":"2023-11-14T22:13:20-00:00"`, at},
		{`"timestamp":1`, "1970-01-01T00:00:01Z"}, {`"timestamp":0.001`, "1970-01-01T00:00:00.001Z"},
		{`"timestamp":99999999999`, "5138-11-16T09:46:39Z"}, {`"timestamp":100000000000`, "1973-03-03T09:46:40Z"},
		{`"timestamp":253402300799999`, "9999-12-31T23:59:59.999Z"}, {`"timestamp":"9999-12-31T23:59:59.999Z"`, "9999-12-31T23:59:59.999Z"},
		{`"timestamp":1700000000,"created_at":5`, at}, {`"created_at":5,"timestamp":1700000000`, at},
		{`"timestamp":null,"created_at":1700000000`, at}, {`"timestamp":"soon","created_at":1700000000`, at},
		{``, "-"}, {`"timestamp":null`, "-"}, {`"x":{"timestamp":1700000000}`, "-"},
	}
	var members, want []string
	read := int64(0)
	for _, f := range forms {
		members, want = append(members, f.member), append(want, f.want)
		if f.want != "-" {
			read++
		}
	}
	s := newStack(t)
	r := s.importText(timedLine("1", members...))
	if got := r.sums(t); got.Times != read || got.TimesNotRead != 0 || strings.Contains(r.notes, "not read") {
		t.Errorf("%d times read, %d not; want %d: %s", got.Times, got.TimesNotRead, read, r.notes)
	}
	if got := s.sentAt("1"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the times are\n%v\nwant\n%v", got, want)
	}
	checkExport(t, s, timedLine("1", members...))
}

// TestImportTellsOfTimesNotRead: how many of which form, without what they say; the messages are stored all the same.
func TestImportTellsOfTimesNotRead(t *testing.T) {
	for member, form := range map[string]string{
		`"timestamp":"2023-11-14T22:13:20"`:             `timestamp is the text 0000-00-00a00:00:00`,
		`"timestamp":"Nov 14, 2023"`:                    `timestamp is the text aaa 00, 0000`,
		`"created_at":"2023-13-14T22:13:20Z"`:           `created_at is the text 0000-00-00a00:00:00a`,
		`"timestamp":"2023-11-14T2:13:20Z"`:             `timestamp is the text 0000-00-00a0:00:00a`,
		`"timestamp":"1969-12-31T23:59:59Z"`:            `timestamp is the text 0000-00-00a00:00:00a`,
		`"timestamp":""`:                                `timestamp is an empty text`,
		`"timestamp":"été\n\u001b[1m 1"`:                `timestamp is the text aaa??[0a 0`,
		`"timestamp":0`:                                 `timestamp is the number 0`,
		`"timestamp":-1700000000`:                       `timestamp is the number -0000000000`,
		`"timestamp":1.7e9`:                             `timestamp is the number 0.0e0`,
		`"timestamp":1700000000123456`:                  `timestamp is the number 0000000000000000`,
		`"timestamp":253402300800000`:                   `timestamp is the number 000000000000000`,
		`"timestamp":1e999999999`:                       `timestamp is the number 0e000000000`,
		`"timestamp":{"seconds":1}`:                     `timestamp is an object`,
		`"timestamp":[1700000000]`:                      `timestamp is a list`,
		`"timestamp":false`:                             `timestamp is true or false`,
		`"timestamp":"x","created_at":[]`:               `timestamp is the text a`,
		`"timestamp":"x","create_time":1700000000`:      `timestamp is the text a`,
		`"timestamp":"` + strings.Repeat("9", 50) + `"`: `timestamp is the text ` + strings.Repeat("0", 40) + `...`,
	} {
		s := newStack(t)
		r := s.importText(timedLine("1", member, "", member))
		if got := r.sums(t); got.Times != 0 || got.TimesNotRead != 2 || got.New != 1 {
			t.Errorf("%s: %+v", member, got)
		}
		if want := "standard input: 2 times not read: the member " + form + "\n"; !strings.Contains(r.notes, want) {
			t.Errorf("%s: it says %q, want %q", member, r.notes, want)
		}
		if got := fmt.Sprint(s.sentAt("1")); got != "[- - -]" {
			t.Errorf("%s: the times are %s", member, got)
		}
		checkExport(t, s, timedLine("1", member, "", member))
	}
}

// TestImportTellsOfTimesInOtherMembers, which it reads where --time-member names them.
func TestImportTellsOfTimesInOtherMembers(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	for file, text := range map[string]string{
		a: timedLine("1", `"create_time":1700000000`, `"create_time":1700000001.5`, `"created":"soon"`) + timedLine("2", `"create_time":1700000002`),
		b: timedLine("3", `"timestamp":"x 1"`, `"timestamp":1700000000,"create_time":1700000003`, `"mine":1700000004`),
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := newStack(t)
	r := s.run("import", a, b)
	want := "transcriptctl: " + a + ": 3 times not read: they are in the member create_time: see --time-member\n" +
		"transcriptctl: " + b + ": 1 time not read: the member timestamp is the text a 0\n"
	if r.code != exitOK || r.notes != want || !strings.Contains(r.out, "times          1 read, 4 not read\n") {
		t.Errorf("exit code %d, %s\n%s\nwant\n%s", r.code, r.out, r.notes, want)
	}
	named := newStack(t)
	if r := named.run("import", "--time-member", "create_time", a, b); r.code != exitOK || strings.Contains(r.notes, "create_time") {
		t.Errorf("exit code %d: %s", r.code, r.notes)
	}
	for id, want := range map[string]string{
		"1": "[2023-11-14T22:13:20Z 2023-11-14T22:13:21.5Z -]", "2": "[2023-11-14T22:13:22Z]",
		"3": "[- 2023-11-14T22:13:23Z -]", // the named one is before the others
	} {
		if got := fmt.Sprint(named.sentAt(id)); got != want {
			t.Errorf("the times of %s are %s, want %s", id, got, want)
		}
	}
	own := newStack(t)
	own.must("import", "--time-member", "mine", a, b)
	if got := fmt.Sprint(own.sentAt("3")); got != "[- 2023-11-14T22:13:20Z 2023-11-14T22:13:24Z]" {
		t.Errorf("the times of a member of one's own are %s", got)
	}
}

// TestImportBoundsTimesNotRead: so many forms are told, and the rest is counted.
func TestImportBoundsTimesNotRead(t *testing.T) {
	var members []string
	for i := range 3 * maxUnread {
		members = append(members, fmt.Sprintf(`"timestamp":%q`, strings.Repeat("x", i%30+1)))
	}
	r := newStack(t).importText(timedLine("1", members...))
	if got := r.sums(t); got.TimesNotRead != 3*maxUnread || strings.Count(r.notes, "2 times not read: the member") != maxUnread ||
		!strings.Contains(r.notes, "20 times more not read, in other files or of other forms\n") {
		t.Errorf("%d not read: %s", got.TimesNotRead, r.notes)
	}
}

// TestImportAgainKeepsTimes: on random conversations with times of every form, bad ones and none, importing again changes nothing,
// whatever member times are read from then, and importing in two goes leaves what one leaves.
func TestImportAgainKeepsTimes(t *testing.T) {
	whole, parts := newStack(t), newStack(t)
	n := 0
	member := rapid.SampledFrom([]string{
		"", "", `"timestamp":17%08d`, `"timestamp":17%08d123`, `"created_at":"17%08d.5"`, `"created_at":"2023-11-14T22:13:20.%08dZ"`,
		`"timestamp":"no %08d"`, `"timestamp":{"n":%d}`, `"create_time":17%08d`, `"timestamp":17%08d,"create_time":1600000000`,
	})
	role := rapid.SampledFrom([]string{"user", "assistant", "tool", "tool"})
	rapid.Check(t, func(t *rapid.T) {
		n++
		id := fmt.Sprint(n)
		var messages []string
		for i := range rapid.IntRange(1, 8).Draw(t, "messages") {
			m := member.Draw(t, "member")
			if strings.Contains(m, "%") {
				m = fmt.Sprintf(m, rapid.IntRange(0, 99_999_999).Draw(t, "time"))
			}
			messages = append(messages, timedMessage(role.Draw(t, "role"), fmt.Sprint(id, i), m))
		}
		line := chatOf(id, messages)
		imports := func(s *stack, line string, args ...string) result {
			r := s.importText(line, args...)
			if r.code != exitOK {
				t.Fatalf("exit code %d: %s", r.code, r.notes)
			}
			return r
		}
		first := imports(whole, line)
		times, export, head := whole.sentAt(id), whole.must("export", "--chat", id), whole.head(id)
		again := imports(whole, line, rapid.SampledFrom([][]string{nil, {"--time-member", "create_time"}, {"--move"}}).Draw(t, "args")...)
		if !strings.Contains(first.out, `"new":"1"`) || !strings.Contains(again.out, `"unchanged":"1"`) || !strings.Contains(again.out, `"nodesCreated":"0"`) {
			t.Fatalf("first %s, again %s", first.out, again.out)
		}
		if got := whole.sentAt(id); fmt.Sprint(got) != fmt.Sprint(times) || whole.must("export", "--chat", id) != export || whole.head(id) != head {
			t.Fatalf("the times were %v, and are %v", times, got)
		}
		cut := rapid.IntRange(1, len(messages)).Draw(t, "cut")
		for cut < len(messages) && strings.Contains(messages[cut], `"role":"tool"`) {
			cut++ // results that follow each other are one node
		}
		imports(parts, chatOf(id, messages[:cut]))
		imports(parts, line)
		if got := parts.sentAt(id); fmt.Sprint(got) != fmt.Sprint(times) || parts.head(id) != head {
			t.Fatalf("in two goes the times are %v, want %v", got, times)
		}
	})
}
