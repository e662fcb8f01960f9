package client_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Whatever threads do side by side, and whatever the cache keeps meanwhile, each shows just what a client that holds
// nothing is given for its head.
func TestThreadsShowWhatTheirHeadsAre(t *testing.T) {
	for _, limit := range []int64{0, 5_000, 1 << 20} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, uint64(limit)))
			ctx, l := t.Context(), newLink(t)
			c := l.client(client.WithCacheBytes(limit), client.WithVerification())
			threads, compacted := []*client.Thread{begun(t, c)}, 0
			for step := range 200 {
				i := random.IntN(len(threads))
				thread := threads[i]
				switch random.IntN(10) {
				case 0:
					threads = append(threads, must(thread.Fork(ctx, fmt.Sprint("fork/", step)))(t))
				case 1:
					reply := fmt.Sprint("o", step)
					ok(t, thread.Reply(ctx, reply, answer))
					threads = append(threads, must(c.Start(ctx, turn(fmt.Sprint("m", step+1), reply, hello)))(t))
				case 2:
					threads[i] = must(c.Open(ctx, thread.Alias()))(t)
				case 3, 4: // by this thread, or by another that it knows nothing of
					compactor := thread
					if random.IntN(2) == 0 {
						compactor = must(c.Open(ctx, thread.Alias()))(t)
					}
					res, err := compactor.Compact(ctx, keepAll)
					if err != nil {
						fails(t, err, client.ErrOpenToolCalls)
					}
					compacted += min(1, len(res.GetNodeId()))
				case 5:
					shows(t, thread, whole(t, l, thread)...)
				default:
					ok(t, thread.Append(ctx, something(random)...))
				}
				if threads = threads[max(0, len(threads)-6):]; random.IntN(4) == 0 {
					shows(t, thread, whole(t, l, thread)...)
				}
			}
			if compacted < 10 {
				t.Errorf("%d compactions", compacted)
			}
		})
	}
}

// something is one to three messages, as often as not such that views have to be repaired.
func something(random *rand.Rand) []*transcriptv1.Message {
	other := client.Call("call-2", "write", "{}")
	all := []*transcriptv1.Message{
		hello, answer, asks, result, client.Assistant("", call, other), client.Result(other, "done"), system,
	}
	var some []*transcriptv1.Message
	for range 1 + random.IntN(3) {
		some = append(some, all[random.IntN(len(all))])
	}
	return some
}
