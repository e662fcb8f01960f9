package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// patience is how long a call of a connection may take: one that takes longer is not served.
const patience = 60 * time.Second

// dialers is how many connections are made, or closed, at once.
const dialers = 64

// lean are connections that take little of this process's memory.
type lean struct {
	conns []*grpc.ClientConn
	// made counts the connections that were made, again where one was dropped.
	made atomic.Int64
}

// connectLean prepares n lean connections. Each is made at its first call.
func (s *server) connectLean(n int) (*lean, error) {
	l := &lean{conns: make([]*grpc.ClientConn, n)}
	dial := func(ctx context.Context, target string) (net.Conn, error) {
		conn, err := dialTarget(ctx, target)
		if err == nil {
			l.made.Add(1)
		}
		return conn, err
	}
	s.e.ends(l.close)
	for i := range l.conns {
		conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial),
			grpc.WithDisableServiceConfig(), // which a DNS server would be asked for, for each of them
			grpc.WithDisableRetry(), grpc.WithReadBufferSize(2<<10), grpc.WithWriteBufferSize(2<<10))
		if err != nil {
			return nil, err
		}
		l.conns[i] = conn
	}
	return l, nil
}

// close closes all connections, many at once: each takes about a millisecond.
func (l *lean) close() error {
	group := new(errgroup.Group)
	group.SetLimit(dialers)
	for _, conn := range l.conns {
		if conn != nil {
			group.Go(conn.Close)
		}
	}
	return group.Wait()
}

// dropped counts connections that did not last: a call on one that had to be made again is not served by an idle one.
func (l *lean) dropped() tally {
	again := int(l.made.Load()) - len(l.conns)
	if again <= 0 {
		return tally{}
	}
	return tally{served: -again, fault: fmt.Errorf("%d connections had to be made again", again)}
}

// tally counts calls.
type tally struct {
	calls, served int
	// fault is one of those that were not served.
	fault error
}

func (t *tally) add(other tally) {
	t.calls += other.calls
	t.served += other.served
	if t.fault == nil {
		t.fault = other.fault
	}
}

func (t *tally) count(err error) {
	t.calls++
	if err == nil {
		t.served++
	} else if t.fault == nil {
		t.fault = err
	}
}

// callEach makes one call on each connection. Once one was not served for as long as while, patience that is, the others are
// given up: a server that takes no more connections would have each of them wait.
func callEach(ctx context.Context, conns []*grpc.ClientConn, req *transcriptv1.GetNodeRequest, while time.Duration) (all tally) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	group := new(errgroup.Group)
	group.SetLimit(dialers)
	errs := make([]error, len(conns))
	for i, conn := range conns {
		group.Go(func() error {
			if errs[i] = context.Cause(ctx); errs[i] != nil {
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, while)
			defer cancel()
			_, errs[i] = transcriptv1.NewTranscriptServiceClient(conn).GetNode(ctx, req, grpc.WaitForReady(true))
			if status.Code(errs[i]) == codes.DeadlineExceeded {
				giveUp(fmt.Errorf("no answer within %s: %w", while, errs[i]))
			}
			return nil
		})
	}
	_ = group.Wait() // they are in errs
	for _, err := range errs {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		all.count(err)
	}
	return all
}

// readStream reads a stream to its end and tells its bytes. Messages stay bytes. Errors are the SDK's.
func readStream(ctx context.Context, conn *grpc.ClientConn, req *transcriptv1.StreamAssembleRequest) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, transcriptv1.TranscriptService_StreamAssemble_FullMethodName)
	if err != nil {
		return 0, told(err)
	}
	if err = errors.Join(stream.SendMsg(req), stream.CloseSend()); err != nil {
		return 0, told(err)
	}
	frame := new(emptypb.Empty)
	for {
		if err = stream.RecvMsg(frame); err != nil {
			break
		}
		n += len(frame.ProtoReflect().GetUnknown())
	}
	if errors.Is(err, io.EOF) {
		return n, nil
	}
	return n, told(err)
}

const (
	// settleTime is the most that memory is given to settle, settleStep how often it is looked at.
	settleTime = 10 * time.Second
	settleStep = 500 * time.Millisecond
)

// settledMemory is the anonymous memory of transcriptd after a collection of its garbage, once what the collector gives
// back has been given back: once it fell by less than a hundredth in half a second.
func (s *server) settledMemory(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	tick := time.NewTicker(settleStep)
	defer tick.Stop()
	for last := int64(0); ; {
		if err := s.e.collect(ctx, s.process.admin); err != nil {
			return last, err
		}
		now, err := memoryOf(s.process.cmd.Process.Pid)
		if err != nil || last > 0 && now.anonymous > last-last/100 {
			return now.anonymous, err
		}
		last = now.anonymous
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last, nil
		}
	}
}
