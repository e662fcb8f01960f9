package badgerstore

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// deletionDirectory, deletionStage and deletionAlone tell the child process where to write, where it waits to be killed, and whether it drops alone.
const (
	deletionDirectory = "BADGERSTORE_DELETION_DIRECTORY"
	deletionStage     = "BADGERSTORE_DELETION_STAGE"
	deletionAlone     = "BADGERSTORE_DELETION_ALONE"
)

// TestDeletionKilled kills a process that deletes a namespace, at every stage of that, on one folder: a deletion that is not written leaves it whole, one
// that is written goes on and ends at the next start. Nothing of the namespace is then in tables and logs, and others have all that was acknowledged,
// also one of the same name that was begun meanwhile.
func TestDeletionKilled(t *testing.T) {
	for _, alone := range []string{"", "alone"} {
		dir, gone, others := t.TempDir(), 0, []chainstore.ID(nil)
		for _, stage := range []string{"before the commit", "behind the commit", "pending", "dropping", "before it is told"} {
			times := 1
			if stage == "dropping" {
				times = *crashCycles
			}
			for i := range times {
				said := deletionKilled(t, dir, stage, alone, time.Duration(i*29%100)*time.Millisecond)
				o := promptly()
				o.onlyPublic = alone != ""
				s := openAt(t, dir, o)
				if stage == "before the commit" {
					if found := stillSinging(t, s); len(found) < 6 {
						t.Errorf("%s: %d nodes are left", stage, len(found))
					}
					deleteWhole(t, s)
				}
				waitPurged(t, s)
				mustBeSilent(t, s, nil)
				if gone++; mustHaveNoneOfTheGone(t, s) != gone {
					t.Errorf("%s: not %d namespaces were deleted", stage, gone)
				}
				for _, id := range said["anew"] {
					foundNode(t, s, id)
				}
				others = append(others, said["other"]...)
				mustHave(t, s, "other", others)
				soundAll(t, s)
				if len(said["anew"]) > 0 { // for the next one
					deleteWhole(t, s)
					gone++
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func mustHave(t *testing.T, s *Store, namespace string, ids []chainstore.ID) {
	t.Helper()
	for _, id := range ids {
		if _, err := s.Chain(t.Context(), namespace, chainstore.Ref{ID: id}, nil); err != nil {
			t.Errorf("%s has lost a node: %v", namespace, err)
		}
	}
}

// deletionKilled runs the child process, kills it so long behind a stage, and returns which nodes it acknowledged in which namespace.
func deletionKilled(t *testing.T, dir, stage, alone string, behind time.Duration) map[string][]chainstore.ID {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestDeletionChild$")
	child.Env, child.Stderr = append(os.Environ(), deletionDirectory+"="+dir, deletionStage+"="+stage, deletionAlone+"="+alone), os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := map[string][]chainstore.ID{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		switch what, hex, _ := strings.Cut(lines.Text(), " = "); what {
		case "stage":
			time.AfterFunc(behind, func() { _ = child.Process.Kill() })
		case "anew", "other":
			id, err := chainstore.ParseID(hex)
			if err != nil {
				t.Fatal(err)
			}
			said[what] = append(said[what], id)
		}
	}
	if err := child.Wait(); err == nil {
		t.Fatalf("%s: the child ended by itself", stage)
	}
	return said
}

// TestDeletionChild is the child process of TestDeletionKilled.
func TestDeletionChild(t *testing.T) {
	dir, stage := os.Getenv(deletionDirectory), os.Getenv(deletionStage)
	if dir == "" {
		t.Skip("it is the child process of TestDeletionKilled")
	}
	o := promptly()
	o.noPurges, o.onlyPublic = true, os.Getenv(deletionAlone) != ""
	s := openAt(t, dir, o)
	reached := func(now string) {
		if now == stage {
			fmt.Println("stage = ")
			select {} // until it is killed
		}
	}
	durable := s.committer.Durable
	s.committer.Durable = func(writes map[string]commit.Write, ts uint64) error {
		for key := range writes {
			if strings.HasPrefix(key, string(layout.TableKey(layout.OwnNamespace, layout.TableGone))) {
				reached("before the commit")
				if err := durable(writes, ts); err != nil {
					return err
				}
				reached("behind the commit")
				return nil
			}
			if strings.HasPrefix(key, string(layout.PurgedKey(0)[:layout.KeyPrefix+1])) {
				reached("before it is told")
			}
		}
		return durable(writes, ts)
	}
	write := func(namespace, name string) {
		for i := range 50 {
			out, err := s.Commit(t.Context(), namespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, fmt.Sprint("of ", stage, i), noiseOf(uint64(i), 10_000))}})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("%s = %s\n", name, out.Nodes[0].ID)
		}
	}
	write("other", "other")
	whole(t, s)
	write(testNamespace, "old")
	deleteWhole(t, s)
	write(testNamespace, "anew")
	reached("pending")
	o.noPurges = false
	if stage == "dropping" {
		fmt.Println("stage = ")
	}
	s.startPurges(&o)
	for {
		write("other", "other")
	}
}
