package badgerstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// closing calls Close and returns once it waits for reads under way; its outcome comes from the channel. It fails the
// test if Close does not wait.
func closing(t *testing.T, s *Store) <-chan error {
	t.Helper()
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	waitFor(t, s.source.Versions.IsShut)
	<-s.committer.Done
	select {
	case err := <-closed:
		t.Errorf("closed under a read: %v", err)
		closed <- err
	case <-time.After(100 * time.Millisecond):
	}
	return closed
}

// Close returns only when the reads under way have, and those end with ErrClosed at their next step.
func TestCloseWaitsForReadsAndEndsThem(t *testing.T) {
	for name, read := range map[string]func(s *Store, head chainstore.ID, step func()) error{
		"rows": func(s *Store, head chainstore.ID, step func()) error {
			c, err := s.Chain(context.Background(), testNamespace, chainstore.Ref{ID: head}, nil)
			if err != nil {
				return err
			}
			return c.Rows(context.Background(), []chainstore.Span{{Through: c.Head().Seq}}, func(*chainstore.Row) error {
				step()
				return nil
			})
		},
		"verify": func(s *Store, _ chainstore.ID, step func()) error {
			judge := func(h *chainstore.Header, payload, metadata []byte, parent, covers *chainstore.ID) (chainstore.Judgement, error) {
				step()
				return storetest.Simple().Judge(h, payload, metadata, parent, covers)
			}
			return s.Verify(context.Background(), chainstore.Check{Namespace: testNamespace}, judge, func(chainstore.VerifyReport) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{})
			var nodes []chainstore.NewNode
			for i := range 10 {
				n := node(nil, fmt.Sprint(i))
				if i > 0 {
					n.Parent = chainstore.Parent{Kind: chainstore.ParentPrevious}
				}
				nodes = append(nodes, n)
			}
			head := put(t, s, nodes...)[9].ID
			steps := 0
			var closed <-chan error
			err := read(s, head, func() {
				if steps++; steps == 1 {
					closed = closing(t, s)
				}
			})
			if !errors.Is(err, chainstore.ErrClosed) || steps != 1 {
				t.Errorf("the read ended after %d steps: %v", steps, err)
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
		})
	}
}
