package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"regexp"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/transcriptd/transcriptd/client/openai"
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
	return data, place, err
}

// readMessages reads messages in OpenAI's form (a message, a list, or an object with messages) or as protojson.
func readMessages(data []byte, format string, s *session) ([]*transcriptv1.Message, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, usagef("there are no messages: give a FILE, pipe JSON in, or use --text")
	}
	if format == "protojson" {
		payload := &transcriptv1.Payload{}
		if err := protojson.Unmarshal(data, payload); err != nil {
			return nil, inputf("not {\"messages\": [...]} as protojson%s", linePlace(err))
		}
		return payload.GetMessages(), nil
	}
	messages, report, err := readOpenAI(data)
	if err != nil {
		return nil, &inputError{err}
	}
	if len(report.Changes) > 0 {
		s.remark("lone surrogates in %s became U+FFFD", count(int64(len(report.Changes)), "string"))
	}
	return messages, nil
}

// linePlace is the place that an error of protojson names; the rest of it shows content.
func linePlace(err error) string {
	if place := regexp.MustCompile(`\(line \d+:\d+\)`).FindString(err.Error()); place != "" {
		return " " + place
	}
	return ""
}

func readOpenAI(data []byte) ([]*transcriptv1.Message, openai.Report, error) {
	if data[0] == '[' {
		return openai.Parse(data)
	}
	members, err := topMembers(data)
	if err != nil {
		return nil, openai.Report{}, err
	}
	if list, ok := members["messages"]; ok {
		return openai.Parse(list)
	}
	m, report, err := openai.ParseMessage(data)
	return []*transcriptv1.Message{m}, report, err
}
