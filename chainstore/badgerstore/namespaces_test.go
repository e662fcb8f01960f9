package badgerstore

import (
	"context"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// In a view of before its first commit a namespace was never written to, whatever later views know.
func TestNamespacesOfLaterCommits(t *testing.T) {
	s := openStore(t, Options{})
	before, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	put(t, s, node(nil, "first"))
	stats, err := s.Stats(context.Background(), testNamespace)
	if err != nil || stats.Nodes != 1 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if before.Namespace, _, err = before.NumberOf(testNamespace); err != nil {
		t.Fatal(err)
	}
	if c, err := before.Counters(); err != nil || c.Nodes != 0 {
		t.Errorf("a view of before counts %d nodes: %v", c.Nodes, err)
	}
	after, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	gets, _, _ := s.Reads()
	if _, found, err := after.NumberOf(testNamespace); !found || err != nil {
		t.Error(found, err)
	}
	if now, _, _ := s.Reads(); now != gets {
		t.Error("a later view asks the database for the number")
	}
}

// A reader of a namespace that is written to for the first time finds it empty or whole.
func TestStatsBesideTheFirstPut(t *testing.T) {
	s := openStore(t, Options{})
	for i := range 200 {
		namespace := string(rune('a'+i%26)) + string(rune('a'+i/26))
		done := make(chan error)
		go func() {
			_, err := s.Commit(context.Background(), namespace, &chainstore.Change{Nodes: []chainstore.NewNode{node(nil, "first")}})
			done <- err
		}()
		for written := false; !written; {
			select {
			case err := <-done:
				if written = true; err != nil {
					t.Fatal(err)
				}
			default:
			}
			if _, err := s.Stats(context.Background(), namespace); err != nil {
				t.Fatalf("namespace %d: %v", i, err)
			}
		}
	}
}
