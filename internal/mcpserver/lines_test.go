package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

const begin = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// TestLinesEnd: what was asked before the input ends is answered, a message a line, and then it is over.
func TestLinesEnd(t *testing.T) {
	b := newBench(t)
	for end, fails := range map[string]bool{"": false, "\n\n": false, `{"jsonrpc":"2.0","id":9,"met`: true, "no message\n": true} {
		var asked, out strings.Builder
		asked.WriteString(begin)
		for i := 1; i <= 100; i++ {
			fmt.Fprintf(&asked, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_conversation","arguments":{"conversation":"chat/a"}}}`+"\n", i)
		}
		asked.WriteString(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":100}}` + "\n")
		err := New(Config{Client: b.client}).Run(t.Context(), Lines(strings.NewReader(asked.String()+end), &out))
		if clean := err == nil || errors.Is(err, io.EOF); clean == fails {
			t.Errorf("%q: %v", end, err)
		}
		answers := 0
		for lines := bufio.NewScanner(strings.NewReader(out.String())); lines.Scan(); answers++ {
			if !strings.HasPrefix(lines.Text(), `{"jsonrpc":"2.0","id":`) {
				t.Errorf("%q: a line %.200q", end, lines.Text())
			}
		}
		if answers != 101 || !strings.Contains(out.String(), `{"jsonrpc":"2.0","id":99,"result"`) {
			t.Errorf("%q: %d answers to 101 requests", end, answers)
		}
	}
}

// gone is a reader of answers who has left.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestLinesGone: who cannot be answered is not waited for, and neither is who is called off.
func TestLinesGone(t *testing.T) {
	h := &held{waiting: make(chan struct{}, 1), release: make(chan struct{})}
	ask := begin + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"describe_chain","arguments":{"conversation":"chat/a"}}}` + "\n"
	if err := New(Config{Client: h}).Run(t.Context(), Lines(strings.NewReader(begin), gone{})); err == nil {
		t.Error("an answer that cannot be written is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	in, asks := io.Pipe() // which does not end: the program is called off while it waits for more
	defer func() { _ = asks.Close() }()
	go func() { _, _ = io.WriteString(asks, ask) }()
	go func() { ended <- New(Config{Client: h}).Run(ctx, Lines(in, io.Discard)) }()
	<-h.waiting
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("called off: %v", err)
	}
}
