package badgerstore

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

var crashCycles = flag.Int("crash.cycles", 3, "badgerstore: how often the writing process is killed")

// crashDirectory and crashCycle tell the child process where to write, and what.
const (
	crashDirectory = "BADGERSTORE_CRASH_DIRECTORY"
	crashCycle     = "BADGERSTORE_CRASH_CYCLE"
	crashKey       = "BADGERSTORE_CRASH_KEY" // the number of testKey; empty: plain
	crashWriters   = 8
	// crashErased begins what is said of a node that was erased.
	crashErased = "erased "
)

// TestCrash kills a writing process, again and again, and finds all that it acknowledged.
func TestCrash(t *testing.T) {
	for name, key := range map[string]string{"plain": "", "encrypted": "1"} {
		t.Run(name, func(t *testing.T) { testCrash(t, key) })
	}
}

// crashOptions open the store of TestCrash.
func crashOptions(key string) (o Options) {
	if key != "" {
		o.EncryptionKey, o.DataKeyRotation = testKey(1), time.Nanosecond
	}
	return o
}

func testCrash(t *testing.T, key string) {
	dir := t.TempDir()
	acknowledged := map[string]string{}
	for cycle := range *crashCycles {
		killedWriter(t, dir, key, cycle, 50+37*(cycle%5), acknowledged)
		s := openAt(t, dir, crashOptions(key))
		for alias, id := range acknowledged {
			if strings.HasPrefix(alias, crashErased) {
				mustBeErased(t, s, id)
				continue
			}
			mustStand(t, s, alias, id)
		}
		mustBeClean(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// mustStand: the node is there, and the alias points to it, or to a later one that was not acknowledged any more.
func mustStand(t *testing.T, s *Store, alias, hex string) {
	t.Helper()
	id, err := chainstore.ParseID(hex)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{Alias: alias}, &id)
	if err != nil {
		t.Fatalf("alias and node were acknowledged: %v", err)
	}
	if behind := c.Head().Seq - c.After(); behind > 1 {
		t.Fatalf("%d changes of a writer were never acknowledged", behind)
	}
}

// mustBeErased: the node is there, and nothing of what it said.
func mustBeErased(t *testing.T, s *Store, hex string) {
	t.Helper()
	id, err := chainstore.ParseID(hex)
	if err != nil {
		t.Fatal(err)
	}
	n := foundNode(t, s, id)
	if n.Header.Erased == nil || len(n.Payload) > 400 {
		t.Fatalf("of node %v, which was erased, there is left %d bytes", id, len(n.Payload))
	}
}

// killedWriter runs the child until it has acknowledged so many changes, and kills it.
func killedWriter(t *testing.T, dir, key string, cycle, changes int, acknowledged map[string]string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
	child.Env = append(os.Environ(), crashDirectory+"="+dir, crashKey+"="+key, crashCycle+"="+strconv.Itoa(cycle))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines, n := bufio.NewScanner(out), 0
	for lines.Scan() {
		if alias, id, ok := strings.Cut(lines.Text(), " = "); ok {
			acknowledged[alias] = id
			n++
		}
		if n == changes {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || n < changes {
		t.Fatalf("the child ended by itself after %d changes: %v", n, err)
	}
}

// TestCrashChild is the child process of TestCrash: each writer appends to a chain of its own, and says what was
// acknowledged, until the process is killed.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDirectory)
	if dir == "" {
		t.Skip("it is the child process of TestCrash")
	}
	o := crashOptions(os.Getenv(crashKey))
	o.MemtableBytes = 8 << 20
	s := openAt(t, dir, o)
	var wg sync.WaitGroup
	for w := range crashWriters {
		wg.Go(func() {
			alias := fmt.Sprintf("chat/%s-%d", os.Getenv(crashCycle), w)
			change := &chainstore.Change{
				Nodes:   []chainstore.NewNode{node(nil, alias)},
				Aliases: []chainstore.AliasChange{{Name: alias, Condition: chainstore.Condition{Kind: chainstore.MustNotExist}}},
			}
			for i := 0; ; i++ {
				out, err := s.Commit(context.Background(), testNamespace, change)
				if err != nil {
					t.Error(err)
					return
				}
				id := out.Nodes[0].ID
				fmt.Printf("%s = %s\n", alias, id)
				if i%4 == 3 {
					if _, err := s.Erase(context.Background(), testNamespace, []chainstore.ErasedNode{erasing(t, s, id)}); err != nil {
						t.Error(err)
						return
					}
					fmt.Printf("%s%s/%d = %s\n", crashErased, alias, i, id)
				}
				change.Nodes[0] = node(&id, fmt.Sprint(i), noise(1000*(i%7)))
				change.Aliases[0].Condition = chainstore.Condition{Kind: chainstore.HeadIs, Head: id}
			}
		})
	}
	wg.Wait()
}
