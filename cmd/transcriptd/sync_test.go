package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var withStrace = flag.Bool("sync.strace", false, "run the tests that watch the daemon's system calls with strace")

// needStrace skips without the flag; with it, strace has to be there.
func needStrace(t *testing.T) {
	t.Helper()
	if !*withStrace {
		t.Skip("needs strace and leave to trace: run with -sync.strace (.ci/run does)")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatal(err)
	}
}

// TestSync watches the system calls of a real transcriptd: between the arrival of each put and its reply lies a
// successful msync (or fdatasync, fsync) of the log, begun after the put arrived. The log is written through a mapping,
// so its writes are no system calls; they can only lie between the put's arrival and its reply, too, since what they
// write came with the put. That they come before the sync is for badgerstore's own tests.
func TestSync(t *testing.T) {
	needStrace(t)
	for _, callers := range []int{1, 8} {
		t.Run(fmt.Sprintf("%d callers", callers), func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			p := startProcess(t, []string{"strace", "-f", "-y", "-s", "8192", "-o", trace,
				"-e", "trace=mmap,munmap,msync,fdatasync,fsync,read,write"}, badgerFlag(t.TempDir()), "--admin-listen=off")
			puts := putMarked(t, p.dial(t), callers, 25)
			terminateGroup(t, p)
			calls := readTrace(t, trace)
			for mark, id := range puts {
				calls.checkSynced(t, mark, id)
			}
		})
	}
}

// putMarked puts nodes whose texts can be found in a trace, and returns their ids by these texts.
func putMarked(t *testing.T, conn *grpc.ClientConn, callers, each int) map[string]string {
	t.Helper()
	service := transcriptv1.NewTranscriptServiceClient(conn)
	ctx := callContext(t)
	var mu sync.Mutex
	var running sync.WaitGroup
	puts := map[string]string{}
	for c := range callers {
		running.Add(1)
		go func() {
			defer running.Done()
			for i := range each {
				mark := fmt.Sprintf("<put %d of caller %d>", i, c)
				reply, err := putText(ctx, service, mark)
				if err != nil {
					t.Errorf("%s: %v", mark, err)
					return
				}
				mu.Lock()
				puts[mark] = reply.GetNodeId()
				mu.Unlock()
			}
		}()
	}
	running.Wait()
	return puts
}

func putText(ctx context.Context, service transcriptv1.TranscriptServiceClient, text string) (*transcriptv1.PutNodeResponse, error) {
	return service.PutNode(ctx, &transcriptv1.PutNodeRequest{Messages: []*transcriptv1.Message{{
		Role:  transcriptv1.Role_ROLE_USER,
		Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}},
	}}})
}

// terminateGroup drains a daemon that runs under strace: strace itself does not act on the signal.
func terminateGroup(t *testing.T, p *process) {
	t.Helper()
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.waitExit(t)
}

// systemCall is one call of a trace: the lines at which it begins and ends, and its text with the result.
type systemCall struct {
	begins, ends int
	text         string
}

type systemCalls []systemCall

var (
	traceLine = regexp.MustCompile(`^(\d+) +(.*)$`)
	resumed   = regexp.MustCompile(`^<\.\.\. \w+ resumed>(.*)$`)
	mapped    = regexp.MustCompile(`^mmap\(.*MAP_SHARED.*<(.*\.(?:mem|vlog|sst))>.* = (0x[0-9a-f]+)$`)
	mapSynced = regexp.MustCompile(`^msync\((0x[0-9a-f]+), .* = 0$`)
	fileSync  = regexp.MustCompile(`^f(?:data)?sync\(\d+<.*\.mem>\) += 0$`)
)

// readTrace reads strace's output and joins calls that other threads' calls interrupted.
func readTrace(t *testing.T, path string) systemCalls {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var calls systemCalls
	unfinished := map[string]systemCall{}
	for n, line := range strings.Split(string(text), "\n") {
		found := traceLine.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		thread, call := found[1], systemCall{begins: n, ends: n, text: found[2]}
		if head, ok := strings.CutSuffix(call.text, " <unfinished ...>"); ok {
			call.text = head
			unfinished[thread] = call
			continue
		}
		if rest := resumed.FindStringSubmatch(call.text); rest != nil {
			call.begins, call.text = unfinished[thread].begins, unfinished[thread].text+rest[1]
		}
		calls = append(calls, call)
	}
	return calls
}

// checkSynced finds the put that carries mark, the reply that carries id, and a sync of the log between them.
func (calls systemCalls) checkSynced(t *testing.T, mark, id string) {
	t.Helper()
	arrived, replied := -1, -1
	for _, c := range calls {
		switch {
		case strings.HasPrefix(c.text, "read(") && strings.Contains(c.text, mark):
			arrived = c.ends
		case strings.HasPrefix(c.text, "write(") && strings.Contains(c.text, id):
			replied = c.begins
		}
	}
	if arrived < 0 || replied < arrived {
		t.Fatalf("%s: the trace does not show the put and its reply (lines %d, %d)", mark, arrived, replied)
	}
	log := map[string]bool{} // addresses at which a log is mapped
	for _, c := range calls {
		if found := mapped.FindStringSubmatch(c.text); found != nil {
			log[found[2]] = strings.HasSuffix(found[1], ".mem")
		}
		synced := fileSync.MatchString(c.text)
		if found := mapSynced.FindStringSubmatch(c.text); found != nil {
			synced = log[found[1]]
		}
		if synced && c.begins > arrived && c.ends < replied {
			return
		}
	}
	t.Errorf("%s: no successful sync of the log between its arrival (line %d) and its reply (line %d)", mark, arrived, replied)
}

// TestSyncFails lets every sync of the log fail from some point on, or succeed though the file system takes no more writes:
// the put under way is not acknowledged, no later write is taken, reads go on, and everything that was acknowledged is
// there after a restart.
func TestSyncFails(t *testing.T) {
	needStrace(t)
	for name, fault := range map[string]string{
		"sync fails":                       "msync,fdatasync,fsync:error=EIO:when=30+",
		"file system takes no more writes": "utimensat:error=EROFS:when=30+",
	} {
		t.Run(name, func(t *testing.T) { syncFails(t, fault) })
	}
}

func syncFails(t *testing.T, fault string) {
	dir := t.TempDir()
	calls, _, _ := strings.Cut(fault, ":")
	p := startProcess(t, []string{"strace", "-f", "-o", os.DevNull, "-e", "trace=" + calls, "-e", "inject=" + fault},
		badgerFlag(dir), "--admin-listen=off")
	conn := p.dial(t)
	service := transcriptv1.NewTranscriptServiceClient(conn)
	acked, err := putUntilError(t, service)
	if len(acked) == 0 || status.Code(err) != codes.Unavailable {
		t.Fatalf("%d puts were acknowledged and then: %v; want some, then UNAVAILABLE", len(acked), err)
	}
	if _, err := putText(callContext(t), service, "after the failure"); status.Code(err) != codes.Unavailable {
		t.Errorf("a put after the failure: %v; want UNAVAILABLE", err)
	}
	findAll(t, service, acked)
	p.kill()

	p = startProcess(t, nil, badgerFlag(dir), "--admin-listen=off")
	conn = p.dial(t)
	findAll(t, transcriptv1.NewTranscriptServiceClient(conn), acked)
	verifyClean(t, conn, "")
}

func putUntilError(t *testing.T, service transcriptv1.TranscriptServiceClient) (acked []string, err error) {
	ctx := callContext(t)
	for i := range 1000 {
		reply, err := putText(ctx, service, fmt.Sprintf("put %d", i))
		if err != nil {
			return acked, err
		}
		acked = append(acked, reply.GetNodeId())
	}
	return acked, nil
}

func findAll(t *testing.T, service transcriptv1.TranscriptServiceClient, ids []string) {
	t.Helper()
	for i, id := range ids {
		if _, err := service.GetNode(callContext(t), &transcriptv1.GetNodeRequest{Node: nodeRef(id)}); err != nil {
			t.Errorf("acknowledged put %d is gone: %v", i, err)
		}
	}
}
