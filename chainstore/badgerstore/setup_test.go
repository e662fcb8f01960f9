package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

const testNamespace = "default"

// testKey is a key of a store; another for each number.
func testKey(n byte) []byte { return bytes.Repeat([]byte{n}, 32) }

// openAt opens the store in a directory and closes it with the test, if that did not.
func openAt(tb testing.TB, dir string, o Options) *Store {
	tb.Helper()
	if o.CacheBytes == 0 {
		o.CacheBytes = 16 << 20
	}
	o.noPurges = o.noPurges || o.purges == (purgeTimes{}) // tests of purges say how long they wait
	s, err := Open(dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil && !errors.Is(err, chainstore.ErrClosed) {
			tb.Error(err)
		}
	})
	return s
}

func openStore(tb testing.TB, o Options) *Store {
	tb.Helper()
	return openAt(tb, tb.TempDir(), o)
}

// openCold opens a store that was closed after a root was put, so that nothing of it is in memory.
func openCold(tb testing.TB) (s *Store, root chainstore.ID) {
	tb.Helper()
	dir := tb.TempDir()
	s = openAt(tb, dir, Options{})
	root = put(tb, s, node(nil, "root"))[0].ID
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	return openAt(tb, dir, Options{}), root
}

// node makes a node under a parent, nil for a root, of one message for each text; roles take turns.
func node(parent *chainstore.ID, texts ...string) chainstore.NewNode {
	n := storetest.Node{}
	if parent != nil {
		n.Parent = chainstore.Parent{Kind: chainstore.ParentID, ID: *parent}
	}
	for i, text := range texts {
		n.Messages = append(n.Messages, storetest.Message{Role: runloop.Role(3 + i%2), Text: text})
	}
	return storetest.Simple().Make(n)
}

// noise is text that does not compress to less than a half.
func noise(n int) string { return noiseOf(1, n) }

// noiseOf is another noise for each seed.
func noiseOf(seed uint64, n int) string {
	random, b := rand.New(rand.NewPCG(seed, 2)), make([]byte, n)
	for i := range b {
		b[i] = byte('a' + random.IntN(26))
	}
	return string(b)
}

func put(tb testing.TB, s chainstore.Store, nodes ...chainstore.NewNode) []chainstore.PutNode {
	tb.Helper()
	out, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{Nodes: nodes})
	if err != nil {
		tb.Fatal(err)
	}
	return out.Nodes
}

func setAlias(name string, id chainstore.ID, c chainstore.Condition) chainstore.AliasChange {
	target := chainstore.Target{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: id}}
	return chainstore.AliasChange{Name: name, Target: target, Condition: c}
}

func commitAliases(tb testing.TB, s chainstore.Store, aliases ...chainstore.AliasChange) {
	tb.Helper()
	if _, err := s.Commit(context.Background(), testNamespace, &chainstore.Change{Aliases: aliases}); err != nil {
		tb.Fatal(err)
	}
}

// problems are what Verify finds in a namespace.
func problems(tb testing.TB, s chainstore.Store, namespace string, judge chainstore.Judge) (found []string) {
	tb.Helper()
	err := s.Verify(context.Background(), chainstore.Check{Namespace: namespace}, judge, func(r chainstore.VerifyReport) error {
		for _, p := range r.Problems {
			found = append(found, p.What)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

func mustBeClean(tb testing.TB, s chainstore.Store) {
	tb.Helper()
	if found := problems(tb, s, testNamespace, storetest.Simple().Judge); found != nil {
		tb.Fatalf("verify found %q", found)
	}
}
