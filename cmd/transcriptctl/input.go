package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// maxInput is the most that put reads; a request is at most 4 MiB, and JSON can be a few times as long.
const maxInput = 64 << 20

// openInput opens a file, or standard input for "-" and "". Place is its name in errors.
func (s *session) openInput(ctx context.Context, file string) (r io.ReadCloser, place string, err error) {
	if file == "-" || file == "" {
		return io.NopCloser(&interruptible{ctx, s.in}), "standard input", nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, file, &inputError{err}
	}
	return f, file, nil
}

// interruptible ends a read that waits for input, as a terminal's does, when the context ends. What was being read then
// is lost.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

// Read reads through memory of its own, since the read that it waits for may go on after it returned.
func (i *interruptible) Read(p []byte) (int, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data := make([]byte, len(p))
		n, err := i.r.Read(data)
		done <- result{data[:n], err}
	}()
	select {
	case r := <-done:
		return copy(p, r.data), r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}

// readAll reads a whole file, or standard input.
func (s *session) readAll(ctx context.Context, file string) (data []byte, place string, err error) {
	r, place, err := s.openInput(ctx, file)
	if err != nil {
		return nil, place, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	data, err = io.ReadAll(io.LimitReader(r, maxInput+1))
	if len(data) > maxInput {
		return nil, place, inputf("%s: holds more than %d MiB; a node's messages are at most 4 MiB", place, maxInput>>20)
	}
	if err != nil {
		err = &inputError{err}
	}
	return data, place, err
}

// readMessages reads messages in the form of a provider or of people (a message, a list, or an object with the list), or as protojson. Without a
// name the messages tell which it is.
func readMessages(data []byte, name string, s *session) ([]*transcriptv1.Message, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, usagef("there are no messages: give a FILE, pipe JSON in, or use --text")
	}
	if name == formProtoJSON {
		payload := &transcriptv1.Payload{}
		if err := protojson.Unmarshal(data, payload); err != nil {
			return nil, inputf("not {\"messages\": [...]} as protojson%s", linePlace(err))
		}
		return payload.GetMessages(), nil
	}
	if name == "" {
		name = formOpenAI
		if isSimple(data) {
			name = formSimple
		}
	}
	if name == formSimple {
		messages, err := readSimple(data)
		if err != nil {
			return nil, &inputError{err}
		}
		return messages, nil
	}
	messages, report, err := formNamed(name).read(data)
	if err != nil {
		return nil, &inputError{err}
	}
	var changes changes
	changes.report(0, "", report)
	changes.remark(s)
	return messages, nil
}

// isSimple tells whether messages are of the form for people: one of them has a member that only this form has, and none that OpenAI's has in
// its place.
func isSimple(data []byte) bool {
	type members = map[string]json.RawMessage
	var object struct{ Messages []members }
	var list []members
	if data[0] == '[' {
		if json.Unmarshal(data, &list) != nil {
			return false
		}
	} else if json.Unmarshal(data, &object) == nil && object.Messages != nil {
		list = object.Messages
	} else {
		var one members
		if json.Unmarshal(data, &one) != nil {
			return false
		}
		list = []members{one}
	}
	has := func(m members, names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { _, there := m[name]; return there })
	}
	return slices.ContainsFunc(list, func(m members) bool { return has(m, "text", "calls", "call_id") && !has(m, "content", "tool_calls") })
}

// readSimple reads a message of the form for people, a list, or an object with the list and nothing else.
func readSimple(data []byte) ([]*transcriptv1.Message, error) {
	if data[0] == '[' {
		return client.ParseMessages(data)
	}
	members, err := topMembers(data)
	if list, there := members["messages"]; err == nil && there {
		if len(members) > 1 {
			return nil, fmt.Errorf("%w: beside messages of the form simple no other member may stand", errNotJSON)
		}
		return client.ParseMessages(list)
	}
	m, err := client.ParseMessage(data)
	return []*transcriptv1.Message{m}, err
}

// linePlace is the place that an error of protojson names; the rest of it shows content.
func linePlace(err error) string {
	if place := regexp.MustCompile(`\(line \d+:\d+\)`).FindString(err.Error()); place != "" {
		return " " + place
	}
	return ""
}
