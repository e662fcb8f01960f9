package client

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// byHand is proto/testdata/messages.json.
type byHand struct {
	Made []struct {
		Name, Given string
		Message     json.RawMessage
	}
	Refused []struct{ Name, Given, Error string }
}

func readByHandCases(t testing.TB) (cases byHand) {
	t.Helper()
	data, err := os.ReadFile("../proto/testdata/messages.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases.Made) < 10 || len(cases.Refused) < 10 {
		t.Fatal("there are too few cases")
	}
	return cases
}

// TestParseMessage: the cases that all SDKs share, by themselves and in a list.
func TestParseMessage(t *testing.T) {
	cases := readByHandCases(t)
	list := "["
	for i, c := range cases.Made {
		want := &transcriptv1.Message{}
		if err := protojson.Unmarshal(c.Message, want); err != nil {
			t.Fatal(err)
		}
		got, err := ParseMessage([]byte(c.Given))
		if err != nil || !proto.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", c.Name, got, err, want)
		}
		if i > 0 {
			list += ","
		}
		list += c.Given
	}
	messages, err := ParseMessages([]byte(list + "]"))
	if err != nil || len(messages) != len(cases.Made) {
		t.Errorf("in a list: %d messages, %v", len(messages), err)
	}
	for _, c := range cases.Refused {
		m, err := ParseMessage([]byte(c.Given))
		if m != nil || !errors.Is(err, ErrInvalidMessage) || err.Error() != c.Error {
			t.Errorf("%s: %v, %v; want %s", c.Name, m, err, c.Error)
		}
	}
	for given, want := range map[string]string{
		`{}`:                                 "messages is not a list",
		`[{"role":"user","text":"a"},{}]`:    "messages[1].role is not there",
		`[{"role":"user","text":"a","b":1}]`: "messages[0].b is no member of a message of the role user, which has role, text, name",
	} {
		if m, err := ParseMessages([]byte(given)); m != nil || err == nil || err.Error() != want {
			t.Errorf("%s: %v, %v; want %s", given, m, err, want)
		}
	}
}

// TestParseMessageIsWhatOthersMake: it is the message that the functions for messages make.
func TestParseMessageIsWhatOthersMake(t *testing.T) {
	call := Call("c1", "add", `{"a":2}`)
	for given, want := range map[string]*transcriptv1.Message{
		`{"role":"system","text":"s"}`: System("s"),
		`{"role":"user","text":"u"}`:   User("u"),
		`{"role":"assistant","text":"t","calls":[{"id":"c1","name":"add","arguments":{"a":2}}]}`: Assistant("t", call),
		`{"role":"tool","call_id":"c1","name":"add","text":"4"}`:                                 Result(call, "4"),
	} {
		if got, err := ParseMessage([]byte(given)); err != nil || !proto.Equal(got, want) {
			t.Errorf("%s: %v, %v", given, got, err)
		}
	}
}
