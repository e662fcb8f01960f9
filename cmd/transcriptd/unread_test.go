//go:build !race

package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var (
	unreadCalls   = flag.Int("unread.calls", 200, "how many calls of TestUnreadReplies are answered and not read, on four connections")
	unreadStreams = flag.Int("unread.streams", 40, "how many streams of TestUnreadReplies are read slowly, on as many connections")
	unreadSmall   = flag.Int("unread.small", 12, "how many connections of TestUnreadSmallReplies take nothing of 250 small replies each")
	unreadFor     = flag.Duration("unread.for", time.Second, "for how long TestUnreadReplies goes on")
)

// maxUnreadMemory is how much anonymous memory a real transcriptd may take meanwhile, however many they are: what it aims at, and a
// quarter more, since some hundred streams begin at once.
const maxUnreadMemory = 640 << 20

// TestUnreadReplies calls for large replies and takes none of them, and reads streams of large nodes slowly: the memory of the
// process that answers does not grow with their number, and others are served meanwhile. The race detector, whose own memory
// would count, is left out.
func TestUnreadReplies(t *testing.T) {
	unreadReplies(t, startProcess(t, nil, badgerFlag(t.TempDir()), "--admin-listen=off"))
}

// TestUnreadRepliesOfASocket does so over a unix socket, with TLS.
func TestUnreadRepliesOfASocket(t *testing.T) {
	s := startSecured(t, badgerFlag(t.TempDir()), "--admin-listen=off", "--listen=unix://"+filepath.Join(socketFolder(t), "s"))
	s.credentials = credentials.NewTLS(s.config(t, s.ca.Issue(t, "agent", time.Hour)))
	unreadReplies(t, s.process)
}

func unreadReplies(t *testing.T, p *process) {
	t.Helper()
	if p.anonymous(t) == 0 {
		t.Skip("the system does not tell a process's memory")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := transcriptv1.NewTranscriptServiceClient(p.dial(t))
	small, many, large := chainOf(t, client, 1, 1000), chainOf(t, client, 35, 100<<10), chainOf(t, client, 4, largeBytes)

	var running sync.WaitGroup
	for i := range 4 {
		deaf := transcriptv1.NewTranscriptServiceClient(p.dialDeaf(ctx, t))
		for range *unreadCalls / 4 {
			running.Go(func() {
				if i%2 == 0 {
					_, _ = deaf.Assemble(ctx, &transcriptv1.AssembleRequest{Head: headOf(many)})
				} else {
					_, _ = deaf.GetNode(ctx, &transcriptv1.GetNodeRequest{Node: headOf(large)})
				}
			})
		}
	}
	for range *unreadStreams {
		slow := transcriptv1.NewTranscriptServiceClient(p.dial(t))
		running.Go(func() {
			for ctx.Err() == nil {
				stream, err := slow.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Head: headOf(large)})
				for ; err == nil; _, err = stream.Recv() {
					rest(ctx, 5*time.Second)
				}
			}
		})
	}
	took, most := bystander(t, p, client, small)
	cancel()
	running.Wait()
	slices.Sort(took)
	t.Logf("beside %d calls whose replies nobody takes and %d slow streams: %d calls of others, half of them within %s, 99 in 100 within %s; %d MiB of anonymous memory at most",
		*unreadCalls, *unreadStreams, len(took), took[len(took)/2], took[len(took)*99/100], most>>20)
	if most > maxUnreadMemory {
		t.Errorf("%d MiB of memory, at most %d", most>>20, maxUnreadMemory>>20)
	}
}

// TestUnreadSmallReplies does so with replies of 60 KB, and streams of small nodes: these hold little, too, however many connections
// there are.
func TestUnreadSmallReplies(t *testing.T) {
	p := startProcess(t, nil, badgerFlag(t.TempDir()), "--admin-listen=off")
	if p.anonymous(t) == 0 {
		t.Skip("the system does not tell a process's memory")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := transcriptv1.NewTranscriptServiceClient(p.dial(t))
	small, sixty, many := chainOf(t, client, 1, 1000), chainOf(t, client, 1, 60_000), chainOf(t, client, 100, 10_000)

	var running sync.WaitGroup
	for i := range *unreadSmall {
		deaf := transcriptv1.NewTranscriptServiceClient(p.dialDeaf(ctx, t))
		for range 250 {
			running.Go(func() {
				if i%2 == 0 {
					_, _ = deaf.GetNode(ctx, &transcriptv1.GetNodeRequest{Node: headOf(sixty)})
					return
				}
				stream, err := deaf.StreamAssemble(ctx, &transcriptv1.StreamAssembleRequest{Head: headOf(many)})
				for ; err == nil; _, err = stream.Recv() {
				}
			})
		}
	}
	took, most := bystander(t, p, client, small)
	cancel()
	running.Wait()
	slices.Sort(took)
	t.Logf("beside %d connections with 250 small replies each that nobody takes: %d calls of others, half of them within %s, 99 in 100 within %s; %d MiB of anonymous memory at most",
		*unreadSmall, len(took), took[len(took)/2], took[len(took)*99/100], most>>20)
	if bound := int64(160+4**unreadSmall) << 20; most > bound { // a call holds some 12 KB whatever it replies
		t.Errorf("%d MiB of memory, at most %d", most>>20, bound>>20)
	}
}

// bystander puts and reads what is small, and tells how long each call took, and the most memory that the process took.
func bystander(t *testing.T, p *process, client transcriptv1.TranscriptServiceClient, head string) (took []time.Duration, most int64) {
	t.Helper()
	for end := time.Now().Add(*unreadFor); time.Now().Before(end); {
		began := time.Now()
		_, err := client.Assemble(t.Context(), &transcriptv1.AssembleRequest{Head: headOf(head)})
		read := time.Now()
		if err == nil {
			_, err = client.PutNode(t.Context(), &transcriptv1.PutNodeRequest{
				Parent: headOf(head), Messages: userSays(fmt.Sprint(began)),
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		took = append(took, read.Sub(began), time.Since(read))
		most = max(most, p.anonymous(t))
	}
	return took, most
}

// chainOf puts a chain of nodes of so many bytes, and gives its head.
func chainOf(t *testing.T, client transcriptv1.TranscriptServiceClient, nodes, bytes int) (head string) {
	t.Helper()
	text := words(bytes)
	for range nodes {
		req := &transcriptv1.PutNodeRequest{Messages: userSays(text)}
		if head != "" {
			req.Parent = headOf(head)
		}
		reply, err := client.PutNode(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		head = reply.NodeId
	}
	return head
}

func headOf(id string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}}
}

// deafConn takes no data from when it was told to until the end.
type deafConn struct {
	net.Conn
	told *atomic.Bool
	end  <-chan struct{}
}

func (c *deafConn) Read(b []byte) (int, error) {
	if c.told.Load() {
		<-c.end
	}
	return c.Conn.Read(b)
}

// dialDeaf is a connection that is ready, and takes no data any more until the context ends; nor do those that follow it once it is
// closed.
func (p *process) dialDeaf(ctx context.Context, t *testing.T) *grpc.ClientConn {
	t.Helper()
	var told atomic.Bool
	conn := p.dialBy(t, func(dialing context.Context, network, addr string) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(dialing, network, addr)
		return &deafConn{raw, &told, ctx.Done()}, err
	})
	_, _ = transcriptv1.NewTranscriptServiceClient(conn).ResolveAlias(ctx, &transcriptv1.ResolveAliasRequest{Name: "nobody"})
	told.Store(true)
	return conn
}
