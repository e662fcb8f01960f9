package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// loseIDs deletes the rows that find the nodes of a store by their ids, which follow from the nodes.
func loseIDs(t *testing.T, dir string) {
	t.Helper()
	db, err := badgerdb.Open(dir, badgerdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	last := db.MaxVersion()
	snapshot := db.Snapshot(last)
	rows := snapshot.Iterator([]byte{0, 0, 0, 1, 'I'}, false)
	var keys [][]byte
	for rows.Seek([]byte{0, 0, 0, 1, 'I'}); rows.Valid(); rows.Next() {
		keys = append(keys, slices.Clone(rows.Key()))
	}
	rows.Close()
	snapshot.Close()
	err = db.Write(last+1, func(b *badgerdb.Batch) (err error) {
		for _, key := range keys {
			err = errors.Join(err, b.Delete(key))
		}
		return err
	})
	if err = errors.Join(err, db.Close()); err != nil || len(keys) == 0 {
		t.Fatalf("%d rows, %v", len(keys), err)
	}
}

// TestVerifyAFolder: a store that no daemon has open is checked, and what follows from its nodes made again; beside a daemon both are
// refused, and where there is no store nothing is made.
func TestVerifyAFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	run := func(code int, says string, args ...string) {
		t.Helper()
		if out, got := runToEnd(t, append([]string{"verify", badgerFlag(dir)}, args...)...); got != code || !strings.Contains(out, says) {
			t.Errorf("verify %v: exit code %d, want %d and %q\n%s", args, got, code, says, out)
		}
	}
	run(exitFailed, "there is no store")
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
	p := startProcess(t, nil, badgerFlag(dir))
	ids := putTexts(t, p, 0, 3)
	run(exitFailed, "in use")
	run(exitFailed, "in use", "--repair")
	p.terminate(t)

	before := contentOf(t, dir)
	run(exitOK, "checked: nodes 3, index entries 8, namespaces 1, files 1; problems: 0\n")
	run(exitOK, "checked: nodes 3, index entries 3, namespaces 1, files 0; problems: 0\n", "--namespace=default")
	run(exitFailed, "has no namespace \"never\"", "--namespace=never")
	run(exitFailed, "has no namespace \"defaul\"", "--namespace=defaul")
	run(exitOK, "checked: nodes 3", "--rate=20MiB")
	run(exitUsage, "64KiB, 500MiB, 1GiB or 2TiB\nRun transcriptd verify --help", "--rate=20MB")
	if after := contentOf(t, dir); !maps.Equal(before, after) {
		t.Errorf("the folder was changed: %v, and was %v", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
	run(exitUsage, "--cursor", "--cursor=bm9uZQ")
	run(exitUsage, "--cursor", "--cursor=!")
	run(exitUsage, "--repair", "--cursor=bm9uZQ", "--repair")
	run(exitUsage, "--rate", "--rate=-1")
	loseIDs(t, dir)
	run(exitDamaged, "index\t\"default\"\t"+ids[0]+"\tan entry of table I is missing\n")
	run(exitOK, "problems: 3, repaired: 3\nchecked: nodes 3, index entries 8, namespaces 1,", "--repair")
	run(exitOK, "problems: 0, repaired: 0\n", "--repair")

	p = startProcess(t, nil, badgerFlag(dir))
	putTexts(t, p, 0, 3) // which are there
	p.terminate(t)
	run(exitOK, "checked: nodes 3")
	if out, code := runToEnd(t, "verify", "--store=memory:"); code != exitUsage || !strings.Contains(out, "badger://PATH") {
		t.Errorf("a store in memory: exit code %d\n%s", code, out)
	}
}

// contentOf are the files of a folder, by their names.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(content)
	}
	return files
}

// TestVerifyAFolderThatWasNotClosed: it is refused, and nothing is changed, unless it is to be opened as by a start.
func TestVerifyAFolderThatWasNotClosed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	p := startProcess(t, nil, badgerFlag(dir))
	putTexts(t, p, 0, 3)
	p.kill()
	p.waitExit(t)
	before := contentOf(t, dir)
	if out, code := runToEnd(t, "verify", badgerFlag(dir)); code != exitFailed || !strings.Contains(out, "--recover") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if !maps.Equal(before, contentOf(t, dir)) {
		t.Error("the folder was changed")
	}
	for _, args := range [][]string{{"--recover"}, nil} {
		if out, code := runToEnd(t, append([]string{"verify", badgerFlag(dir)}, args...)...); code != exitOK || !strings.Contains(out, "checked: nodes 3,") {
			t.Errorf("%v: exit code %d\n%s", args, code, out)
		}
	}
}

// TestVerifyByItself: a daemon that is told to verifies its store, and tells of problems in metrics and in the log.
func TestVerifyByItself(t *testing.T) {
	dir := t.TempDir()
	p := startProcess(t, nil, badgerFlag(dir))
	ids := putTexts(t, p, 0, 2)
	p.terminate(t)
	loseIDs(t, dir)
	p = startProcess(t, nil, badgerFlag(dir), "--admin-listen=127.0.0.1:0", "--verify-every=1h")
	defer p.terminate(t)
	ctx := callContext(t)
	for ctx.Err() == nil {
		metrics := get(t, p.admin+"/metrics")
		if !strings.Contains(metrics, "transcriptd_verify_finished_timestamp_seconds 0\n") {
			for _, want := range []string{`transcriptd_verify_problems{kind="index"} 2`, `transcriptd_verify_problems{kind="file"} 0`, "transcriptd_verify_nodes 2", "transcriptd_verify_running 0"} {
				if !strings.Contains(metrics, want+"\n") {
					t.Errorf("the metrics lack %q", want)
				}
			}
			break
		}
		rest(ctx, 10*time.Millisecond)
	}
	if log := p.log(); !strings.Contains(log, ids[0]) || !strings.Contains(log, "kind=index") || !strings.Contains(log, "problems=2") {
		t.Errorf("the log is\n%s", log)
	}
	if out, code := runToEnd(t, "--store=memory:", "--verify-every=1s"); code != exitUsage || !strings.Contains(out, "--verify-every") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestScrubberGoesOn: a check that fails goes on from its cursor later, one whose cursor is refused begins anew, and the next one comes
// when the time is up.
func TestScrubberGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cursors []string
		began := time.Now()
		var at []time.Duration
		fails := []error{errors.New("disk"), chainstore.ErrBadCursor, nil, nil}
		verify := func(_ context.Context, check chainstore.Check, report func(chainstore.VerifyReport) error) error {
			n := len(at)
			cursors, at = append(cursors, string(check.Cursor)), append(at, time.Since(began))
			if n == len(fails) {
				<-t.Context().Done()
			}
			problems := []chainstore.Problem{{Kind: chainstore.ProblemFold}}
			if n > 2 {
				problems = nil
			}
			_ = report(chainstore.VerifyReport{Cursor: []byte{byte('a' + n)}, Problems: problems})
			if n < len(fails) {
				return fails[n]
			}
			return t.Context().Err()
		}
		s := &scrubber{scrubFlags: scrubFlags{Every: time.Hour}, log: slog.New(slog.DiscardHandler), verify: verify}
		folds := func() int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.problems(chainstore.ProblemFold)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.run(ctx)
		}()
		rest(t.Context(), 30*time.Minute)
		if got := folds(); got != 1 {
			t.Errorf("%d problems after the first check, want those since it began anew", got)
		}
		rest(t.Context(), time.Hour)
		if got := folds(); got != 0 {
			t.Errorf("%d problems after the second check", got)
		}
		cancel()
		<-done
		if want := []string{"", "a", "", ""}; !slices.Equal(cursors, want) {
			t.Errorf("cursors %q, want %q", cursors, want)
		}
		if want := []time.Duration{0, retryAfter, 2 * retryAfter, time.Hour}; !slices.Equal(at, want) {
			t.Errorf("checks at %v, want %v", at, want)
		}
		if s.failures != 2 || s.running {
			t.Errorf("%d failures, running %v", s.failures, s.running)
		}
		prometheus.NewRegistry().MustRegister(newScrubMetrics(s))
	})
}

// TestRepairIsKilled: a repair that is killed, wherever it is, is run again, and then all is there.
func TestRepairIsKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	p := startProcess(t, nil, badgerFlag(dir))
	putTexts(t, p, 0, 300)
	p.terminate(t)
	loseIDs(t, dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		ctx, cancel := context.WithTimeout(callContext(t), time.Duration(20*i)*time.Millisecond)
		cmd := exec.CommandContext(ctx, self, "verify", badgerFlag(dir), "--repair")
		cmd.Env = append(os.Environ(), childVariable+"=1")
		_ = cmd.Run() // killed, or done
		cancel()
	}
	if out, code := runToEnd(t, "verify", badgerFlag(dir), "--repair"); code != exitOK || !strings.Contains(out, "checked: nodes 300,") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestEveryKindOfProblemHasARow: docs/operations.md says what to do about each kind of problem.
func TestEveryKindOfProblemHasARow(t *testing.T) {
	page, err := os.ReadFile(operationsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range chainstore.ProblemKinds() {
		if !strings.Contains(string(page), "\n| `"+kind.String()+"` | ") {
			t.Errorf("%s has no row for problems of kind %s", operationsPage, kind)
		}
	}
}
