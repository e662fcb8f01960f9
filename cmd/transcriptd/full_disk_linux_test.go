package main

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

var fullDisks = flag.String("full.disks", "", "the disks that TestFullDisk fills, as root: "+
	"FILESYSTEM:MB of ext4 or tmpfs, with commas between them, such as ext4:330,tmpfs:450")

// What TestFullDisk does on each disk.
const (
	fullWriters = 8
	fullFor     = 6 * time.Second // how long all writers go on being refused
	fullBallast = 24 << 20        // the file that makes room as it is removed
	fullKills   = 3
)

// liveShare is how much of a disk live rows take at the least before the first refusal.
func liveShare(megabytes int) float64 {
	if megabytes < 700 {
		return 0.3
	}
	return 0.4
}

// TestFullDisk fills small disks under load until puts are refused. The daemon does not end; reads and deletes go on; puts are taken
// again once there is room; each start after a kill serves, and no acknowledged node is lost.
func TestFullDisk(t *testing.T) {
	onDisks(t, *fullDisks, "-full.disks=ext4:330", func(t *testing.T, kind string, megabytes int, seed uint64) {
		fillDisk(t, mountDisk(t, kind, megabytes), megabytes, seed)
	})
}

// onDisks runs a test for each disk that a flag lists: KIND:MB, with commas between them. example is the flag as it may be given.
func onDisks(t *testing.T, disks, example string, test func(t *testing.T, kind string, megabytes int, seed uint64)) {
	t.Helper()
	if disks == "" {
		t.Skip("mounts small disks, which needs root: ask for it with " + example)
	}
	for i, disk := range strings.Split(disks, ",") {
		t.Run(fmt.Sprintf("%d-%s", i, strings.ReplaceAll(disk, ":", "-")), func(t *testing.T) {
			var megabytes int
			kind, size, _ := strings.Cut(disk, ":")
			if _, err := fmt.Sscan(size, &megabytes); err != nil {
				t.Fatalf("the flag has %q, not such as %s", disk, example)
			}
			test(t, kind, megabytes, uint64(i))
		})
	}
}

// mountDisk mounts a new file system of so many millions of bytes; of the kind "inodes" a tmpfs of few files.
func mountDisk(t *testing.T, kind string, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	image, mounted := filepath.Join(dir, "image"), filepath.Join(dir, "mounted")
	if err := os.Mkdir(mounted, 0o700); err != nil {
		t.Fatal(err)
	}
	size := fmt.Sprint(megabytes * 1_000_000)
	commands := [][]string{{"mount", "-t", "tmpfs", "-o", "size=" + size, "tmpfs", mounted}}
	switch kind {
	case "inodes":
		commands = [][]string{{"mount", "-t", "tmpfs", "-o", "nr_inodes=1500,size=" + size, "tmpfs", mounted}}
	case "ext4":
		commands = [][]string{
			{"truncate", "-s", size, image}, {"mkfs.ext4", "-q", "-m", "0", image}, {"mount", "-o", "loop", image, mounted},
		}
	}
	for _, c := range commands {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", c, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", mounted).CombinedOutput(); err != nil {
			t.Errorf("umount: %v\n%s", err, out)
		}
	})
	return mounted
}

// fillDisk runs the daemon on a disk until it is full, and further.
func fillDisk(t *testing.T, disk string, megabytes int, seed uint64) {
	ballast, flags := filepath.Join(disk, "ballast"), []string{badgerFlag(filepath.Join(disk, "store")), "--admin-listen=off"}
	if err := os.WriteFile(ballast, make([]byte, fullBallast), 0o600); err != nil {
		t.Fatal(err)
	}
	fill := newFilling(seed)
	p := startProcess(t, nil, flags...)
	fill.untilFull(t, p, fullFor)
	share := float64(fill.textAtFirst.Load()) / float64(megabytes*1_000_000)
	t.Logf("%d nodes, %.1f %% of the disk is live rows at the first refusal", fill.acknowledged(), 100*share)
	if share < liveShare(megabytes) {
		t.Errorf("%.1f %% of the disk is live rows at the first refusal", 100*share)
	}
	fill.readsAndDeletes(t, p)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	before := fill.acknowledged()
	fill.untilFull(t, p, fullFor)
	if after := fill.acknowledged(); after == before {
		t.Errorf("with %d MB more room no put was taken", fullBallast/1_000_000)
	}
	for i := range fullKills {
		wait := time.Duration(rand.New(rand.NewPCG(seed, uint64(i))).Int64N(int64(2 * time.Second)))
		fill.killedIn(t, p, wait)
		p = startProcess(t, nil, flags...)
	}
	fill.check(t, p)
	p.terminate(t)
	p = startProcess(t, nil, flags...)
	fill.check(t, p)
	fill.readsAndDeletes(t, p)
	p.terminate(t)
	fill.isStored(t, filepath.Join(disk, "store"))
	p = startProcess(t, nil, flags...)
	fill.collects(t, p)
	p.terminate(t)
}

// filling is the load: each writer puts roots and continues them, each with a random text, which is stored as it is.
type filling struct {
	writers [fullWriters]fillingWriter
	// text is the bytes of the texts of acknowledged nodes; textAtFirst is that at the first refusal.
	text, textAtFirst atomic.Int64
	deleted           int
}

type fillingWriter struct {
	rand  *rand.Rand
	acked []string
}

func newFilling(seed uint64) *filling {
	f := &filling{}
	for i := range f.writers {
		f.writers[i].rand = rand.New(rand.NewPCG(seed, uint64(i)))
	}
	return f
}

func (f *filling) acknowledged() (n int) {
	for i := range f.writers {
		n += len(f.writers[i].acked)
	}
	return n
}

// untilFull lets the writers write until each was refused for a while, and fails where one hears anything but DISK_FULL.
func (f *filling) untilFull(t *testing.T, p *process, refusedFor time.Duration) {
	t.Helper()
	var first time.Time
	var once sync.Once
	f.run(t, p, func(err error) bool {
		if err == nil {
			return true
		}
		if !isDiskFull(err) {
			t.Errorf("a put: %v\n%s", err, p.log())
			return false
		}
		once.Do(func() { first = time.Now(); f.textAtFirst.CompareAndSwap(0, f.text.Load()) })
		return time.Since(first) < refusedFor
	})
}

// killedIn kills the daemon after a while, under load.
func (f *filling) killedIn(t *testing.T, p *process, after time.Duration) {
	t.Helper()
	timer := time.AfterFunc(after, p.kill)
	defer timer.Stop()
	f.run(t, p, func(err error) bool { return err == nil || isDiskFull(err) })
	<-p.exited
	if state, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || state.Signal() != syscall.SIGKILL {
		t.Fatalf("the daemon ended by itself: %v\n%s", p.exit, p.log())
	}
}

// run lets the writers write for as long as goOn says so of what they hear.
func (f *filling) run(t *testing.T, p *process, goOn func(error) bool) {
	conn := p.dial(t)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var running sync.WaitGroup
	for i := range f.writers {
		running.Go(func() {
			for w := &f.writers[i]; ; {
				err := f.put(ctx, conn, w, fmt.Sprintf("writer/%d", i))
				if !goOn(err) {
					return
				}
				if err != nil { // refused
					select {
					case <-ctx.Done():
					case <-time.After(10 * time.Millisecond):
					}
				}
			}
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		t.Error("the disk is not full after five minutes")
	}
}

func (f *filling) put(ctx context.Context, conn *grpc.ClientConn, w *fillingWriter, alias string) error {
	text := w.text()
	request := &transcriptv1.PutNodeRequest{
		Messages: []*transcriptv1.Message{{
			Role: transcriptv1.Role_ROLE_USER, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: text}}},
		}},
	}
	if n := len(w.acked); n%40 != 0 { // each 40th begins a chain
		request.Parent = nodeRef(w.acked[n-1])
	}
	if n := len(w.acked); n%10 == 0 {
		request.Aliases = []*transcriptv1.AliasUpdate{{Name: fmt.Sprintf("%s/%d", alias, n)}}
	}
	reply, err := transcriptv1.NewTranscriptServiceClient(conn).PutNode(ctx, request)
	if err == nil {
		w.acked = append(w.acked, reply.GetNodeId())
		f.text.Add(int64(len(text)))
	}
	return err
}

// text is random, mostly of a few kilobytes and sometimes of some hundred.
func (w *fillingWriter) text() string {
	size := 500 + w.rand.IntN(8000)
	if w.rand.IntN(10) == 0 {
		size = 10_000 + w.rand.IntN(300_000)
	}
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(w.rand.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}

func isDiskFull(err error) bool {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetReason() == "DISK_FULL" {
			return true
		}
	}
	return false
}

// readsAndDeletes reads some nodes and deletes some aliases.
func (f *filling) readsAndDeletes(t *testing.T, p *process) {
	t.Helper()
	conn := p.dial(t)
	defer conn.Close()
	service := transcriptv1.NewTranscriptServiceClient(conn)
	for i := range f.writers {
		acked := f.writers[i].acked
		findAll(t, service, []string{acked[0], acked[len(acked)/2], acked[len(acked)-1]})
		name := fmt.Sprintf("writer/%d/%d", i, f.deleted)
		if _, err := service.DeleteAlias(callContext(t), &transcriptv1.DeleteAliasRequest{
			Name: name, Precondition: &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustExist{MustExist: true}},
		}); err != nil {
			t.Errorf("an alias cannot be deleted: %v", err)
		}
	}
	f.deleted += 10
}

// collects forgets what the first writer put, and collects it on the full disk; what aliases of others keep stays.
func (f *filling) collects(t *testing.T, p *process) {
	t.Helper()
	conn := p.dial(t)
	defer conn.Close()
	service := transcriptv1.NewTranscriptServiceClient(conn)
	page := &transcriptv1.DeleteAliasesRequest{Scope: &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: "writer/0/"}, PageSize: 1000, ForgetHistory: true}
	for more := true; more; more = page.PageToken != "" {
		reply, err := service.DeleteAliases(callContext(t), page)
		if err != nil {
			t.Fatal(err)
		}
		page.PageToken = reply.GetNextPageToken()
	}
	deleted, err := collectAll(callContext(t), conn, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d nodes were collected on the full disk", deleted, f.acknowledged())
	for i := range f.writers {
		acked := f.writers[i].acked
		if i > 0 {
			var kept []string
			for n := range acked {
				if aliased := (n + 9) / 10 * 10; aliased < len(acked) && aliased/40 == n/40 { // of the same chain
					kept = append(kept, acked[n])
				}
			}
			findAll(t, service, kept)
			continue
		}
		_, err := service.GetNode(callContext(t), &transcriptv1.GetNodeRequest{Node: nodeRef(acked[len(acked)-1])})
		if deleted == 0 || status.Code(err) != codes.NotFound {
			t.Errorf("of %d nodes the last one of the first writer is there, which nothing keeps: %v", deleted, err)
		}
	}
	verifyClean(t, conn, "")
}

// check finds every acknowledged node.
func (f *filling) check(t *testing.T, p *process) {
	t.Helper()
	conn := p.dial(t)
	defer conn.Close()
	for i := range f.writers {
		findAll(t, transcriptv1.NewTranscriptServiceClient(conn), f.writers[i].acked)
	}
	verifyClean(t, conn, "")
}

// isStored fails where the texts take less in a store that was closed than they have bytes: then they say nothing of what lives on
// the disk.
func (f *filling) isStored(t *testing.T, store string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(store, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	var stored int64
	for _, path := range tables {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		stored += info.Size()
	}
	if texts := f.text.Load(); stored < texts*95/100 {
		t.Errorf("texts of %d bytes are stored in %d", texts, stored)
	}
}
