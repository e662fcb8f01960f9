package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/storekey"
)

var (
	killCycles    = flag.Int("kill.cycles", 2, "how often TestKill kills the daemon with SIGKILL under load")
	killEncrypted = flag.Bool("kill.encrypted", false, "TestKill's store is encrypted")
	killCollect   = flag.Bool("kill.collect", true, "TestKill's clients put what nothing keeps, too, and another one collects it all the time")
)

// The load of TestKill.
const (
	killWriters = 16
	killUptime  = 300 * time.Millisecond
	maxStartup  = 2 * time.Second
)

// TestKill kills a real transcriptd under 16 writing clients, again and again over the same directory, and finds after
// each restart every node and alias that was acknowledged. With -kill.collect what nobody keeps is collected meanwhile, and a collection at
// the end leaves that and nothing else. It says nothing about fsync: see TestSync.
func TestKill(t *testing.T) {
	args := []string{badgerFlag(t.TempDir()), "--admin-listen=off"}
	if *killEncrypted {
		key := filepath.Join(t.TempDir(), "store.key")
		if err := storekey.Create(key); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--encryption-key-file="+key)
	}
	var all []*writer
	var slowest time.Duration
	for cycle := range *killCycles {
		p := startProcess(t, nil, args...)
		if slowest = max(slowest, p.startup); p.startup > maxStartup {
			t.Errorf("cycle %d: start-up took %s, more than %s", cycle, p.startup, maxStartup)
		}
		checkCycle(t, p, all[max(0, len(all)-killWriters):])
		all = append(all, writeUntil(t, p, fmt.Sprintf("cycle-%d", cycle), killUptime, p.kill)...)
	}
	p := startProcess(t, nil, args...)
	checkCycle(t, p, all)
	if *killCollect {
		collectCycle(t, p, all)
	}
	acknowledged := 0
	for _, w := range all {
		acknowledged += len(w.acked)
	}
	if acknowledged < *killCycles*killWriters {
		t.Errorf("only %d nodes were acknowledged in %d cycles: the test shows nothing", acknowledged, *killCycles)
	}
	t.Logf("%d cycles, %d acknowledged nodes, slowest start-up %s", *killCycles, acknowledged, slowest)
	p.terminate(t)
}

// writeUntil lets the writers run until their calls fail, which they do at the latest after a while, when end is called, and
// returns what they know.
func writeUntil(t *testing.T, p *process, namespace string, after time.Duration, end func()) []*writer {
	conn := p.dial(t)
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	writers := make([]*writer, killWriters)
	var running, begun sync.WaitGroup
	if *killCollect {
		running.Go(func() {
			for reclaim := false; ctx.Err() == nil; reclaim = !reclaim {
				if _, err := collectAll(ctx, conn, reclaim); err != nil {
					return
				}
			}
		})
	}
	for i := range writers {
		writers[i] = &writer{namespace: namespace, alias: fmt.Sprintf("writer/%d", i), begun: begun.Done, litters: *killCollect}
		running.Add(1)
		begun.Add(1)
		go func() {
			defer running.Done()
			writers[i].write(ctx, conn)
		}()
	}
	begun.Wait() // every writer has something acknowledged
	ended := make(chan struct{})
	timer := time.AfterFunc(after, func() { end(); close(ended) })
	running.Wait()
	if !timer.Stop() {
		<-ended
	}
	return writers
}

// writer appends to a chain of its own and remembers what was acknowledged.
type writer struct {
	namespace, alias string
	begun            func()
	acked            []string
	failure          error
	// litters says that it puts nodes, too, that nothing keeps: children of its chain, and roots.
	litters bool
	// found is how many nodes its chain had when it was checked.
	found int
}

// write appends until a call fails, as it does once the server is killed.
func (w *writer) write(ctx context.Context, conn *grpc.ClientConn) {
	service := transcriptv1.NewTranscriptServiceClient(conn)
	for i := 0; ; i++ {
		reply, err := service.PutNode(ctx, w.request(i))
		if err == nil {
			w.acked = append(w.acked, reply.GetNodeId())
		} else {
			w.failure = err
		}
		if w.begun != nil {
			w.begun()
			w.begun = nil
		}
		if err != nil {
			return
		}
		if w.litters {
			litter := w.request(i)
			litter.Aliases = nil
			litter.Messages[0].Parts[0].Kind = &transcriptv1.Part_Text{Text: fmt.Sprintf("%s %s litter %d", w.namespace, w.alias, i)}
			if i%3 == 0 {
				litter.Parent = nil
			}
			if _, w.failure = service.PutNode(ctx, litter); w.failure != nil {
				return
			}
		}
	}
}

// request is the writer's i-th put: the alias moves from the last acknowledged node; every 50th payload is so large
// that it is stored in chunks.
func (w *writer) request(i int) *transcriptv1.PutNodeRequest {
	text := fmt.Sprintf("%s %s %d", w.namespace, w.alias, i)
	if i%50 == 25 {
		text += strings.Repeat(" large", 50_000)
	}
	request := &transcriptv1.PutNodeRequest{
		Namespace: w.namespace,
		Messages: []*transcriptv1.Message{{
			Role:  transcriptv1.Role_ROLE_USER,
			Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}},
		}},
		Aliases: []*transcriptv1.AliasUpdate{{Name: w.alias}},
	}
	if i > 0 {
		last := w.acked[i-1]
		request.Parent = nodeRef(last)
		request.Aliases[0].Precondition = &transcriptv1.AliasPrecondition{
			Condition: &transcriptv1.AliasPrecondition_HeadId{HeadId: last},
		}
	}
	return request
}

func nodeRef(id string) *transcriptv1.NodeRef {
	return &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: id}}
}

// checkCycle finds everything that the writers had acknowledged, and nothing wrong in their namespaces.
func checkCycle(t *testing.T, p *process, writers []*writer) {
	t.Helper()
	conn := p.dial(t)
	defer func() { _ = conn.Close() }()
	verified := map[string]bool{}
	for _, w := range writers {
		if len(w.acked) == 0 {
			t.Fatalf("%s %s: nothing was acknowledged: %v", w.namespace, w.alias, w.failure)
		}
		w.check(t, conn)
		if !verified[w.namespace] {
			verified[w.namespace] = true
			verifyClean(t, conn, w.namespace)
		}
	}
}

// collectAll collects every namespace without a grace, gives space back where that is asked for, and tells how many nodes that deleted.
func collectAll(ctx context.Context, conn *grpc.ClientConn, reclaim bool) (nodes int64, err error) {
	stream, err := transcriptv1.NewAdminServiceClient(conn).CollectGarbage(ctx, &transcriptv1.CollectGarbageRequest{
		Scope: transcriptv1.Scope_SCOPE_STORE, Grace: durationpb.New(0), ReclaimSpace: reclaim,
	})
	if err != nil {
		return 0, err
	}
	for {
		report, err := stream.Recv()
		if err != nil {
			return nodes, err
		}
		if nodes = report.GetNodes(); report.GetDone() {
			return nodes, nil
		}
	}
}

// collectCycle collects, and finds as many nodes as the writers' chains have, each of which is whole.
func collectCycle(t *testing.T, p *process, writers []*writer) {
	t.Helper()
	conn := p.dial(t)
	defer func() { _ = conn.Close() }()
	deleted, err := collectAll(callContext(t), conn, true)
	if err != nil {
		t.Fatal(err)
	}
	checkCycle(t, p, writers)
	kept := map[string]int64{}
	for _, w := range writers {
		kept[w.namespace] += int64(w.found)
	}
	for namespace, nodes := range kept {
		stats, err := transcriptv1.NewAdminServiceClient(conn).NamespaceStats(callContext(t), &transcriptv1.NamespaceStatsRequest{Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		if stats.GetNodes() != nodes {
			t.Errorf("%s has %d nodes, %d of them in chains", namespace, stats.GetNodes(), nodes)
		}
	}
	t.Logf("the last collection deleted %d nodes", deleted)
}

// check finds the writer's chain whole: every acknowledged node, in order, with the alias at the last of them or at the
// one that was under way when the server was killed.
func (w *writer) check(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	stream, err := transcriptv1.NewTranscriptServiceClient(conn).StreamAssemble(callContext(t), &transcriptv1.StreamAssembleRequest{
		Namespace:  w.namespace,
		Head:       &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: w.alias}},
		View:       transcriptv1.View_VIEW_FULL,
		NodeDetail: transcriptv1.NodeDetail_NODE_DETAIL_IDS,
	})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for {
		frame, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s %s: %v", w.namespace, w.alias, err)
		}
		for _, n := range frame.GetNodes() {
			found = append(found, n.GetNodeId())
		}
	}
	if len(found) != len(w.acked) && len(found) != len(w.acked)+1 {
		t.Fatalf("%s %s: %d nodes were acknowledged, the chain has %d", w.namespace, w.alias, len(w.acked), len(found))
	}
	w.found = len(found)
	for i, id := range w.acked {
		if found[i] != id {
			t.Fatalf("%s %s: node %d is %s, acknowledged was %s", w.namespace, w.alias, i, found[i], id)
		}
	}
}

// verifyClean runs Verify over a namespace and fails on any problem.
func verifyClean(t *testing.T, conn *grpc.ClientConn, namespace string) {
	t.Helper()
	stream, err := transcriptv1.NewAdminServiceClient(conn).Verify(callContext(t), &transcriptv1.VerifyRequest{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	for done := false; !done; {
		report, err := stream.Recv()
		if err != nil {
			t.Fatalf("Verify of %s ended early: %v", namespace, err)
		}
		for _, problem := range report.GetProblems() {
			t.Errorf("Verify of %s: %s %s", namespace, problem.GetNodeId(), problem.GetProblem())
		}
		done = report.GetDone()
	}
}
