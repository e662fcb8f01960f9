//go:build !race

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var largeCallers = flag.Int("large.callers", 60, "how many callers of TestLargeRequests call at once")

const (
	// largeBytes is what each of them sends.
	largeBytes = 2900 << 10
	// smallBytes is what eight callers send many of.
	smallBytes = 64 << 10
	// largeConnections they have.
	largeConnections = 8
	// maxLargeMemory is how much anonymous memory a real transcriptd may take meanwhile, however many they are; maxSmallMemory with
	// texts of smallBytes of a repeated word.
	maxLargeMemory = 768 << 20
	maxSmallMemory = 256 << 20
)

// TestLargeRequests lets many callers send large requests to a real transcriptd at once. All are answered, and its memory does
// not grow with their number, however well their text compresses. The race detector, whose own memory would count, is left out.
func TestLargeRequests(t *testing.T) {
	salted := func(i int) proto.Message { return &transcriptv1.PutNodeRequest{Salt: fmt.Appendf(nil, "%016d", i)} }
	put := load{method: transcriptv1.TranscriptService_PutNode_FullMethodName, want: codes.OK, own: salted, callers: *largeCallers, each: 1, most: maxLargeMemory}
	t.Run("writes", func(t *testing.T) { // nodes, which are stored
		put.common = userNode(words(largeBytes))
		put.send(t)
	})
	t.Run("writes of a repeated word", func(t *testing.T) {
		put.common = userNode(strings.Repeat("word ", largeBytes/5))
		put.send(t)
	})
	t.Run("writes of numbered lines", func(t *testing.T) {
		put.common = userNode(lines(largeBytes))
		put.send(t)
	})
	t.Run("many writes of a repeated word", func(t *testing.T) { // as many bytes
		put.common = userNode(strings.Repeat("word ", smallBytes/5))
		put.callers, put.each = largeConnections, *largeCallers*largeBytes/smallBytes/largeConnections
		put.most = maxSmallMemory
		put.send(t)
	})
	t.Run("reads", func(t *testing.T) { // which are refused once they were read whole
		search := load{
			method: transcriptv1.TranscriptService_Search_FullMethodName, want: codes.InvalidArgument,
			own: func(int) proto.Message { return &transcriptv1.SearchRequest{} }, callers: *largeCallers, each: 1, most: maxLargeMemory,
		}
		search.common = &transcriptv1.SearchRequest{
			Pattern: &transcriptv1.SearchRequest_Text{Text: words(largeBytes)},
			Scope: &transcriptv1.SearchRequest_Head{Head: &transcriptv1.NodeRef{
				Ref: &transcriptv1.NodeRef_Alias{Alias: "nobody"},
			}},
		}
		search.send(t)
	})
}

// userNode puts a node of one text.
func userNode(text string) *transcriptv1.PutNodeRequest {
	return &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{{
		Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}},
	}}}
}

// load is what callers send: each so many calls of a method, one after the other, of what they share and what the nth call of all
// has of its own. The process that answers may take the most memory.
type load struct {
	method        string
	want          codes.Code
	common        proto.Message
	own           func(n int) proto.Message
	callers, each int
	most          int64
}

// send lets all callers call at once, and holds the memory of the process that answers to its bound.
func (l load) send(t *testing.T) {
	t.Helper()
	p := startProcess(t, nil, badgerFlag(t.TempDir()), "--admin-listen=off")
	if p.anonymous(t) == 0 {
		t.Skip("the system does not tell a process's memory")
	}
	shared, err := proto.Marshal(l.common)
	if err != nil {
		t.Fatal(err)
	}
	var connections []*grpc.ClientConn
	for range largeConnections {
		connections = append(connections, p.dial(t))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var callers sync.WaitGroup
	var answered atomic.Int64
	for i := range l.callers {
		callers.Go(func() {
			for n := range l.each {
				err := connections[i%largeConnections].Invoke(ctx, l.method, l.own(i*l.each+n), &emptypb.Empty{},
					grpc.ForceCodecV2(behind{encoding.GetCodecV2(grpcproto.Name), shared}))
				if status.Code(err) != l.want {
					t.Errorf("caller %d: %v", i, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	done := make(chan struct{})
	go func() { callers.Wait(); close(done) }()
	began, most := time.Now(), int64(0)
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		most = max(most, p.anonymous(t))
		select {
		case <-done:
			t.Logf("%d of %d requests of %d KiB in %s: %d MiB of anonymous memory at most", answered.Load(), l.callers*l.each,
				len(shared)>>10, time.Since(began).Round(time.Millisecond), most>>20)
			if most > l.most {
				t.Errorf("%d callers took %d MiB", l.callers, most>>20)
			}
			return
		case <-tick.C:
		}
	}
}

// words are as many bytes of text, which compresses about three times.
func words(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, "word%d ", random.IntN(2000))
	}
	return b.String()[:n]
}

// lines are as many bytes of numbered lines, which compress about 25 times, though hardly anything in them repeats.
func lines(n int) string {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%07d\n", i)
	}
	return b.String()[:n]
}

// behind is a codec that sends bytes in front of each request, so that callers need not each have what they share.
type behind struct {
	encoding.CodecV2
	shared []byte
}

func (b behind) Marshal(v any) (mem.BufferSlice, error) {
	own, err := b.CodecV2.Marshal(v)
	return append(mem.BufferSlice{mem.SliceBuffer(b.shared)}, own...), err
}

var rssAnon = regexp.MustCompile(`(?m)^RssAnon:\s+(\d+) kB$`)

// anonymous is the process's anonymous memory in bytes; 0 where the system does not tell.
func (p *process) anonymous(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	found := rssAnon.FindSubmatch(status)
	if found == nil {
		return 0
	}
	kib, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
