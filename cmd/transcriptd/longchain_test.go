package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var chainNodes = flag.Int("chain.nodes", 3000, "how many nodes TestLongChain streams")

// maxHeapGrowth is how much more heap a real transcriptd may hold while it streams a chain, its cache included.
const maxHeapGrowth = 64 << 20

// TestLongChain streams a long chain out of a real transcriptd and watches the heap of its process.
func TestLongChain(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, nil, badgerFlag(dir), "--admin-listen=off")
	putChain(t, transcriptv1.NewTranscriptServiceClient(p.dial(t)), *chainNodes)
	p.terminate(t)

	p = startProcess(t, nil, badgerFlag(dir), "--admin-listen=127.0.0.1:0", "--cache-mib=16")
	service := transcriptv1.NewTranscriptServiceClient(p.dial(t))
	if _, err := service.ResolveAlias(callContext(t), &transcriptv1.ResolveAliasRequest{Name: "long"}); err != nil {
		t.Fatal(err)
	}
	idle, most, messages := p.heap(t), int64(0), 0
	stream, err := service.StreamAssemble(callContext(t), &transcriptv1.StreamAssembleRequest{
		Head: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "long"}},
	})
	for next := 0; err == nil; {
		var frame *transcriptv1.StreamAssembleResponse
		if frame, err = stream.Recv(); err != nil {
			break
		}
		if messages += len(frame.GetMessages()); messages >= next {
			most = max(most, p.heap(t))
			next += *chainNodes / 20
		}
	}
	if !errors.Is(err, io.EOF) || messages != *chainNodes {
		t.Fatalf("%d of %d messages, then %v", messages, *chainNodes, err)
	}
	t.Logf("%d nodes: idle heap %d KiB, %d KiB at most while streaming", *chainNodes, idle>>10, most>>10)
	if most-idle > maxHeapGrowth {
		t.Errorf("the heap grew by %d KiB while a chain of %d nodes was streamed", (most-idle)>>10, *chainNodes)
	}
}

// putChain puts a chain of nodes of about a kilobyte, under the alias "long".
func putChain(t *testing.T, service transcriptv1.TranscriptServiceClient, nodes int) {
	t.Helper()
	for put := 0; put < nodes; {
		request := &transcriptv1.PutNodesRequest{}
		for ; put < nodes && len(request.Nodes) < 500; put++ {
			n := &transcriptv1.NewNode{Previous: len(request.Nodes) > 0, Messages: []*transcriptv1.Message{{
				Role:  transcriptv1.Role_ROLE_USER,
				Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: strings.Repeat(fmt.Sprintf("message %d ", put), 80)}}},
			}}}
			if !n.Previous && put > 0 {
				n.Parent = &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "long"}}
			}
			request.Nodes = append(request.Nodes, n)
		}
		request.Nodes[len(request.Nodes)-1].Aliases = []*transcriptv1.AliasUpdate{{Name: "long"}}
		if _, err := service.PutNodes(callContext(t), request); err != nil {
			t.Fatal(err)
		}
	}
}

var heapAlloc = regexp.MustCompile(`(?m)^go_memstats_heap_alloc_bytes (\S+)$`)

// heap is what the process holds on its heap after a collection.
func (p *process) heap(t *testing.T) int64 {
	t.Helper()
	get(t, p.admin+"/debug/pprof/heap?gc=1")
	found := heapAlloc.FindStringSubmatch(get(t, p.admin+"/metrics"))
	if found == nil {
		t.Fatal("the metrics do not tell the heap")
	}
	bytes, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(bytes)
}
