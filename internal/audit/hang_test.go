package audit_test

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/transcriptd/transcriptd/internal/audit"
)

// hanging is a disk whose writes, or syncs, wait for as long as it hangs.
type hanging struct{ writes, syncs atomic.Pointer[chan struct{}] }

func (h *hanging) open(name string, flag int, perm os.FileMode) (audit.File, error) {
	f, err := os.OpenFile(name, flag, perm)
	return &hangingFile{f, h}, err
}

type hangingFile struct {
	*os.File
	disk *hanging
}

func (f *hangingFile) Write(b []byte) (int, error) {
	wait(&f.disk.writes)
	return f.File.Write(b)
}

func (f *hangingFile) Sync() error {
	wait(&f.disk.syncs)
	return nil
}

func wait(for_ *atomic.Pointer[chan struct{}]) {
	if c := for_.Load(); c != nil {
		<-*c
	}
}

// hang has what it is told wait, until resume.
func hang(what *atomic.Pointer[chan struct{}]) (resume func()) {
	c := make(chan struct{})
	what.Store(&c)
	return func() { what.Store(nil); close(c) }
}

// TestADiskThatHangs: nobody waits long for a disk that does not answer, memory is bounded meanwhile, and lines are written when it does.
func TestADiskThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, d := filepath.Join(t.TempDir(), "audit.jsonl"), &hanging{}
		l := open(t, path, audit.Options{OpenFile: d.open})
		add(t, l, 2)
		resume := hang(&d.writes)
		refused := &audit.Record{Method: "m", Code: "UNAUTHENTICATED", Reason: "UNAUTHENTICATED", Unchanged: true}
		began := time.Now()
		for i := range 5 {
			if err := l.Add(record(i)); !errors.Is(err, audit.ErrUnwritten) {
				t.Errorf("while the disk hangs: %v", err)
			}
			_ = l.Add(refused)
			if err := l.Ready(); !errors.Is(err, audit.ErrUnwritten) {
				t.Errorf("ready: %v", err)
			}
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("calls waited for %s", took)
		}
		for i := 0; l.Numbers().Lost < 5 && i < 1_000_000; i++ {
			_ = l.Add(record(i))
		}
		if n := l.Numbers(); n.WaitingBytes > 10<<20 || n.Lost != 5 {
			t.Errorf("%+v", n)
		}
		resume()
		synctest.Wait()
		add(t, l, 1)
		closeLog(t, l)
		if verdict := clean(t, audit.Check{}, path); verdict.Lost != 5 {
			t.Errorf("%+v", verdict)
		}
	})
}

// TestASyncThatHangs: where lines are required, a call whose line is not synced does not wait for ever, nothing is ready meanwhile, and all goes on
// once the disk answers.
func TestASyncThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, d := filepath.Join(t.TempDir(), "audit.jsonl"), &hanging{}
		l := open(t, path, audit.Options{OpenFile: d.open, Required: true})
		add(t, l, 2)
		resume := hang(&d.syncs)
		began := time.Now()
		for i := range 3 {
			if err := l.Add(record(i)); !errors.Is(err, audit.ErrUnwritten) {
				t.Errorf("while syncs hang: %v", err)
			}
			if err := l.Ready(); !errors.Is(err, audit.ErrUnwritten) {
				t.Errorf("ready: %v", err)
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("calls waited for %s", took)
		}
		resume()
		synctest.Wait()
		if err := l.Ready(); err != nil {
			t.Error(err)
		}
		add(t, l, 1)
		closeLog(t, l)
		clean(t, audit.Check{}, path)
	})
}

// TestEndsWhileTheDiskHangs: who ends the audit does not wait for ever.
func TestEndsWhileTheDiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, d := filepath.Join(t.TempDir(), "audit.jsonl"), &hanging{}
		l := open(t, path, audit.Options{OpenFile: d.open})
		resume := hang(&d.writes)
		_ = l.Add(record(1))
		began := time.Now()
		if err := l.Close(); !errors.Is(err, audit.ErrUnwritten) || time.Since(began) > time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if err := l.Add(record(2)); !errors.Is(err, audit.ErrUnwritten) {
			t.Error(err)
		}
		resume()
	})
}

// failingOnce is a disk one of whose syncs fails, without another one that tells of it.
type failingOnce struct{ fails atomic.Bool }

func (d *failingOnce) open(name string, flag int, perm os.FileMode) (audit.File, error) {
	f, err := os.OpenFile(name, flag, perm)
	return &failingFile{f, d}, err
}

type failingFile struct {
	*os.File
	disk *failingOnce
}

func (f *failingFile) Sync() error {
	if f.disk.fails.CompareAndSwap(true, false) {
		return syscall.EIO
	}
	return nil
}

// TestASyncThatFailsAtTheEndOfAFile: where lines are required, one that fails as a file is full, or was moved away, counts like any other.
func TestASyncThatFailsAtTheEndOfAFile(t *testing.T) {
	small := &audit.Record{Method: "m", Code: "PERMISSION_DENIED", Unchanged: true}
	for name, end := range map[string]func(path string, l *audit.Log){
		"full": func(path string, l *audit.Log) {
			for range 10 {
				_ = l.Add(small)
			}
		},
		"moved away": func(path string, _ *audit.Log) {
			if err := os.Rename(path, path+".away"); err != nil {
				t.Error(err)
			}
			<-time.After(2 * time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path, d := filepath.Join(t.TempDir(), "audit.jsonl"), &failingOnce{}
				l := open(t, path, audit.Options{OpenFile: d.open, Required: true, MaxBytes: 2000})
				_ = l.Add(small)
				<-time.After(2 * time.Second) // all is synced
				d.fails.Store(true)
				end(path, l)
				if d.fails.Load() {
					t.Fatal("nothing was synced")
				}
				if err := l.Ready(); !errors.Is(err, audit.ErrUnwritten) {
					t.Errorf("ready: %v", err)
				}
				if err := l.Add(record(1)); !errors.Is(err, audit.ErrUnwritten) || !errors.Is(err, syscall.EIO) {
					t.Errorf("after a sync that failed: %v", err)
				}
				_ = l.Close() // tells the same
			})
		})
	}
}

// TestManyAtOnce: however many lines are made at once, none is lost on a disk that takes them.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a disk that takes its time is none that hangs
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		l := open(t, path, audit.Options{MaxBytes: 200_000})
		var callers sync.WaitGroup
		for i := range 4000 {
			callers.Go(func() {
				if err := l.Add(record(i)); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		closeLog(t, l)
		all := files(t, path)
		if verdict := clean(t, audit.Check{}, all...); verdict.Lost != 0 || verdict.Lines != 4000+2+len(all) {
			t.Errorf("%+v", verdict)
		}
	})
}
