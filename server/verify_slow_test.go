package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// reporting is a store whose checks report a problem for each of some nodes, one by one, and go on until they are ended where endless.
type reporting struct {
	chainstore.Store
	nodes   int64
	endless bool
	ended   atomic.Bool
}

func (s *reporting) Verify(ctx context.Context, _ chainstore.Check, _ chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	defer s.ended.Store(true)
	for i := range s.nodes {
		problem := chainstore.Problem{What: fmt.Sprint(i, strings.Repeat(" is wrong", 20))}
		if err := report(chainstore.VerifyReport{Nodes: i + 1, Problems: []chainstore.Problem{problem}}); err != nil {
			return err
		}
	}
	if s.endless {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// unreadVerify begins a Verify of a store, through windows that do not grow and are too small for what is found, and waits until nothing moves.
func (c *crowd) unreadVerify(store *reporting) (stream grpc.ServerStreamingClient[transcriptv1.VerifyResponse], leave func()) {
	c.Helper()
	store.Store = c.store.Store
	c.store.Store = store
	conn, leave := c.connect(func(raw net.Conn) net.Conn { return raw }, grpc.WithInitialWindowSize(64<<10), grpc.WithInitialConnWindowSize(64<<10))
	stream, err := transcriptv1.NewAdminServiceClient(conn).Verify(c.Context(), &transcriptv1.VerifyRequest{})
	if err != nil {
		c.Fatal(err)
	}
	synctest.Wait()
	return stream, leave
}

// A check of the store ends while a client reads nothing of what it found; the client finds all of it when it does.
func TestChecksWaitForNoClient(t *testing.T) {
	replying(t, func(c *crowd) {
		const nodes = maxProblemsTold + 500
		store := &reporting{nodes: nodes}
		stream, leave := c.unreadVerify(store)
		defer leave()
		if !store.ended.Load() {
			t.Error("the check waits for its client")
		}
		listed, checked := 0, int64(0)
		var last *transcriptv1.VerifyResponse
		for {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range m.Problems {
				if !strings.HasPrefix(p.Problem, fmt.Sprint(listed, " ")) {
					t.Fatalf("problem %d is %q", listed, p.Problem)
				}
				listed++
			}
			if m.NodesChecked < checked || int64(listed) > m.ProblemsFound {
				t.Fatalf("after %d nodes, %v", checked, m)
			}
			last, checked = m, m.NodesChecked
		}
		if listed != maxProblemsTold || !last.Done || last.NodesChecked != nodes || last.ProblemsFound != nodes {
			t.Errorf("%d problems were listed, in the end %v", listed, last)
		}
	})
}

// maxProblemsTold is what VerifyResponse promises.
const maxProblemsTold = 10_000

// A check ends when its client goes away, though what it found was not sent.
func TestChecksEndWithTheirClient(t *testing.T) {
	replying(t, func(c *crowd) {
		store := &reporting{nodes: 5000, endless: true}
		stream, leave := c.unreadVerify(store)
		if store.ended.Load() {
			t.Fatal("the check has ended")
		}
		leave()
		synctest.Wait()
		if !store.ended.Load() {
			t.Error("the check goes on")
		}
		for {
			if _, err := stream.Recv(); err != nil {
				if status.Code(err) != codes.Canceled && status.Code(err) != codes.Unavailable {
					t.Error(err)
				}
				return
			}
		}
	})
}

// What was found before a check failed is told before its error.
func TestChecksThatFailTellWhatTheyFound(t *testing.T) {
	replying(t, func(c *crowd) {
		c.store.Store = failingCheck{c.store.Store}
		stream, err := transcriptv1.NewAdminServiceClient(c.conn).Verify(c.Context(), &transcriptv1.VerifyRequest{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := stream.Recv()
		if err != nil || m.ProblemsFound != 1 || len(m.Problems) != 1 || m.Done {
			t.Errorf("%v, %v", m, err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.DataLoss {
			t.Errorf("it failed, and %v", err)
		}
	})
}

// failingCheck is a store whose checks find a problem, and fail.
type failingCheck struct{ chainstore.Store }

func (failingCheck) Verify(_ context.Context, _ chainstore.Check, _ chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	if err := report(chainstore.VerifyReport{Problems: make([]chainstore.Problem, 1)}); err != nil {
		return err
	}
	return chainstore.ErrCorrupt
}

// sweeping is a store whose collections report often, and go on until they are ended where endless.
type sweeping struct {
	chainstore.Store
	endless bool
	ended   atomic.Bool
}

func (s *sweeping) Collect(ctx context.Context, _ string, _ chainstore.Collection, report func(chainstore.Collected) error) error {
	defer s.ended.Store(true)
	for i := range int64(50_000) {
		if err := report(chainstore.Collected{Phase: chainstore.CollectSweeping, Nodes: i, All: 50_000, Left: 50_000 - i}); err != nil {
			return err
		}
	}
	if s.endless {
		<-ctx.Done()
		return ctx.Err()
	}
	return report(chainstore.Collected{Phase: chainstore.CollectDone, Nodes: 50_000})
}

// A collection ends while its client reads nothing, and ends with a client that goes away.
func TestCollectionsWaitForNoClient(t *testing.T) {
	for _, endless := range []bool{false, true} {
		replying(t, func(c *crowd) {
			store := &sweeping{Store: c.store.Store, endless: endless}
			c.store.Store = store
			conn, leave := c.connect(func(raw net.Conn) net.Conn { return raw })
			stream, err := transcriptv1.NewAdminServiceClient(conn).CollectGarbage(c.Context(), &transcriptv1.CollectGarbageRequest{})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if endless {
				leave()
				synctest.Wait()
			} else {
				defer leave()
			}
			if !store.ended.Load() {
				t.Error("the collection goes on")
			}
			var last *transcriptv1.CollectGarbageResponse
			for m, err := stream.Recv(); err == nil; m, err = stream.Recv() {
				last = m
			}
			if !endless && (!last.GetDone() || last.GetNodes() != 50_000 || last.GetProgress() != 1) {
				t.Errorf("the last report is %v", last)
			}
		})
	}
}
