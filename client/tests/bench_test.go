package client_test

import (
	"strings"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// BenchmarkAssemble is a stream of 1,000 nodes of four messages, 3.5 KB, from a store in memory in this process: as it came,
// verified, and decoded; and what came after the last node but one.
func BenchmarkAssemble(b *testing.B) {
	conn := testserver.StartMemory(b)
	head, before, size := benchmarkChain(b, client.New(conn), 1000)
	for _, form := range []struct {
		name    string
		options []client.Option
		query   client.Query
		decode  bool
	}{
		{"raw", nil, client.Query{}, false},
		{"verified", []client.Option{client.WithVerification()}, client.Query{}, false},
		{"decoded", nil, client.Query{}, true},
		{"after", nil, client.Query{After: before}, true},
	} {
		b.Run(form.name, func(b *testing.B) {
			c := client.New(conn, form.options...)
			if form.query.After == "" {
				b.SetBytes(size)
			}
			b.ReportAllocs()
			for b.Loop() {
				a, err := c.Assemble(b.Context(), client.ByID(head), form.query)
				if err == nil && form.decode {
					_, err = a.Messages()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchmarkChain puts a chain of n turns, and returns its head, the node before, and its bytes.
func benchmarkChain(b *testing.B, c *client.Client, n int) (head, before string, size int64) {
	b.Helper()
	call := client.Call("c", "read", `{"path":"main.go"}`)
	turn := messages{
		client.User(strings.Repeat("question ", 50)), client.Assistant("", call),
		client.Result(call, strings.Repeat("a line of a file\n", 150)), client.Assistant(strings.Repeat("answer ", 60)),
	}
	for done := 0; done < n; {
		var nodes []client.Node
		for ; done < n && len(nodes) < 250; done++ {
			nodes = append(nodes, client.Node{Previous: len(nodes) > 0, Messages: turn})
		}
		if head != "" {
			nodes[0].Parent = client.ByID(head)
		}
		res, err := c.PutAll(b.Context(), nodes...)
		if err != nil {
			b.Fatal(err)
		}
		head, before = res[len(res)-1].NodeId, res[len(res)-2].NodeId
	}
	a, err := c.Assemble(b.Context(), client.ByID(head), client.Query{View: transcriptv1.View_VIEW_FULL})
	if err != nil {
		b.Fatal(err)
	}
	return head, before, a.Bytes()
}
