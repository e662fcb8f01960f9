package bench

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// bystanderPause is how long a bystander waits after a put that failed: about as long as one takes that is served. Who asked
// again at once would ask most while others are refused, and the share of its puts that are served would be no part of time.
const bystanderPause = 100 * time.Millisecond

// bystander is an ordinary client beside a flood: a caller with a connection of its own that puts one turn after the other,
// with a pause where one failed.
type bystander struct {
	rpc  transcriptv1.TranscriptServiceClient
	all  *conversations
	stop context.CancelFunc
	done chan error
	// puts are all that it began, in order. They are read once it has ended.
	puts []bystanderPut
}

// bystanderPut is what became of one of its puts.
type bystanderPut struct {
	ended  time.Time
	took   time.Duration
	served bool
}

// bystander begins to put on a connection of its own, until end.
func (s *server) bystander(ctx context.Context) (*bystander, error) {
	rpc, err := s.rpc()
	if err != nil {
		return nil, err
	}
	b := &bystander{
		rpc: rpc, all: newConversations(s.namespace, s.e.seeds(differentTurns), 1), done: make(chan error, 1),
	}
	ctx, b.stop = context.WithCancel(ctx)
	go func() {
		var err error
		for err == nil && (ctx.Err() == nil || len(b.puts) == 0) {
			if err = b.put(context.WithoutCancel(ctx)); !b.puts[len(b.puts)-1].served {
				_ = pause(ctx, bystanderPause) // or until the end
			}
		}
		b.done <- err
	}()
	return b, nil
}

// put puts a turn. What a flood does to it is counted; anything else is an error.
func (b *bystander) put(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callDeadline)
	defer cancel()
	begin := time.Now()
	err := b.all.put(ctx, b.rpc, 0)
	now := time.Now()
	b.puts = append(b.puts, bystanderPut{ended: now, took: now.Sub(begin), served: err == nil})
	switch status.Code(err) {
	case codes.OK, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Unavailable:
		return nil
	default:
		return err
	}
}

// end waits until the last put has ended.
func (b *bystander) end() error {
	b.stop()
	return <-b.done
}

// between is how many of its puts ended between two times, and how long those took that succeeded.
func (b *bystander) between(from, to time.Time) (calls int, took []time.Duration) {
	for _, p := range b.puts {
		if p.ended.After(from) && p.ended.Before(to) {
			calls++
			if p.served {
				took = append(took, p.took)
			}
		}
	}
	return calls, took
}
