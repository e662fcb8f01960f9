// Package reply bounds what replies hold in memory: a reply takes room before it is made, and has it until gRPC has sent the last of
// it. It encodes them, and sends the messages of frames from where they lie.
package reply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/deadline"
	"github.com/transcriptd/transcriptd/server/internal/access"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/fair"
	"github.com/transcriptd/transcriptd/server/internal/transport/metrics"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

const (
	// RepliesBytes is how much replies may hold that their callers have not taken yet, and ConnectionBytes those of one connection.
	RepliesBytes, ConnectionBytes = 64 << 20, 8 << 20
	// SmallReply is the bytes up to which a reply is small. SmallBytes is how much small replies may hold, and OwnBytes how much more
	// those of each connection.
	SmallReply, SmallBytes, OwnBytes = 64 << 10, 32 << 20, 4 * SmallReply
	// tinyReply is the bytes up to which a reply is not counted: gRPC tells nobody when so small a buffer is sent.
	tinyReply = chainview.SharedBytes - 1
	// StrangersBytes is how much of RepliesBytes those connections may hold that have not taken ConnectionBytes yet: the rest is for those
	// that are known to take their replies.
	StrangersBytes = RepliesBytes * 3 / 4
	// PrincipalBytes is how much of RepliesBytes the replies to one principal may hold, over however many connections.
	PrincipalBytes = RepliesBytes * 3 / 4
	// TakenWithin is how long a connection may take next to nothing, while it has replies and calls wait for their room: less than
	// leastTaken, which is more than what gRPC itself writes meanwhile, or than leastPart of what it holds.
	TakenWithin, leastTaken, leastPart = 2 * receive.Timeout, 16 << 10, 16
	// WaitingBytes is how much the requests of calls that wait for room may hold: half of what those of reads may, so that others are
	// received meanwhile.
	WaitingBytes = receive.ReadsBytes / 2
)

// Why a reply is not made, or not sent.
var (
	// ErrNoRoom: there was no room for it.
	ErrNoRoom = errors.New("no room for the reply")
	// ErrBusy: it was not the call's turn before the deadline.
	ErrBusy = errors.New("too many calls read")
	// ErrGone: the caller has gone.
	ErrGone = errors.New("the caller has gone")
)

// Limiter bounds what replies hold in memory. gRPC takes a reply whole and the handler returns, however slowly the caller reads:
// so a reply takes room before it is made, and has it until gRPC has sent the last of it. Who finds no room waits. Where
// calls wait, a connection that takes next to nothing of its replies for TakenWithin is closed. Connections that have not taken much yet
// leave some to those that have.
//
// A call begins with the room of a small reply; one that looks through messages takes its room afterwards. Where others have all of that, it takes some that only its connection has: so what
// others do not take keeps no small reply waiting. A large reply gives that back before it waits for more.
type Limiter struct {
	Free, Small *fair.Semaphore
	// Strangers is what connections may take of free that have not taken much yet.
	Strangers *fair.Semaphore
	// shares and smallShares are what the replies to one principal may have of free, and of small.
	shares, smallShares *fair.Shares
	// Batches is what streams may take of free for their batches, which they hold for as long as their readers like, and while they wait
	// for the room of a large node. So some is left for other replies, and for those who wait.
	Batches *fair.Semaphore
	// Places are those of calls that look through messages, while they do.
	Places *fair.Semaphore
	// Running are the places of other reads, while they run and do not wait for room.
	Running *fair.Semaphore
	// Waiting has the requests of calls that wait, of which those of one principal have a share.
	Waiting       *fair.Semaphore
	waitingShares *fair.Shares
	Buffers       *buffers
	metrics       *metrics.Replies
	log           *slog.Logger

	sweeping sync.Mutex
	// swept is when sweep collected garbage last.
	swept time.Time
}

func NewLimiter(buffers *buffers, m *metrics.Replies, log *slog.Logger) *Limiter {
	m.Limit.Set(RepliesBytes + SmallBytes)
	return &Limiter{
		Places: newPlaces(), Running: newRunning(),
		Free: fair.NewSemaphore(RepliesBytes), Small: fair.NewSemaphore(SmallBytes),
		shares: fair.NewShares(PrincipalBytes), smallShares: fair.NewShares(SmallBytes * 3 / 4), waitingShares: fair.NewShares(WaitingBytes * 3 / 4),
		Strangers: fair.NewSemaphore(StrangersBytes), Batches: fair.NewSemaphore(RepliesBytes / 2), Waiting: fair.NewSemaphore(WaitingBytes),
		Buffers: buffers, metrics: m, log: log,
	}
}

// Unary has a reply made in room for it. Where the call fails in the end, its room
// is given back by who called all layers (Call.GiveBack). gRPC sends replies as they are: what it compresses is in memory of its own, and nobody is
// told when that is sent.
func (o *Limiter) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	c := CallOf(ctx)
	if c == nil {
		return nil, fmt.Errorf("%s has no call", info.FullMethod)
	}
	c.request = req
	uncompressed(ctx)
	c.atOnce = access.IsWrite(info.FullMethod)
	made := func() (any, error) { return next(ctx, req) }
	if !c.atOnce && !access.IsHealth(info.FullMethod) {
		made = func() (any, error) { return o.run(ctx, c, req, next) }
	}
	switch {
	case looksThrough(info.FullMethod): // what it has in memory is bounded by the places
		made = func() (any, error) { return o.InTurn(ctx, req, next) }
	case !tinyAnswer(info.FullMethod, req):
		h, err := o.TakeSmall(ctx)
		if err != nil {
			return nil, err
		}
		c.Held = h
	}
	reply, err := made()
	if err == nil && !o.Settle(ctx, c, info.FullMethod, reply) {
		reply, err = o.again(ctx, c, reply, info, made)
	}
	if err != nil || c.Held == nil {
		return reply, err
	}
	switch m := reply.(type) {
	case *Spliced:
		m.held = c.Held
		return m, nil
	case proto.Message:
		return Splice(m, &chainview.Frame{}, c.Held), nil
	default:
		return nil, fmt.Errorf("a reply is a %T", reply)
	}
}

// tinyAnswer tells whether the reply of a call is tiny, whatever becomes of it: that of health, and of a write of few aliases and nodes.
func tinyAnswer(method string, req any) bool {
	bytes := 512
	switch r := req.(type) {
	case *transcriptv1.PutNodeRequest:
		bytes += answerOf(r.Aliases)
	case *transcriptv1.PutNodesRequest:
		for _, n := range r.Nodes {
			bytes += 128 + answerOf(n.Aliases)
		}
	case *transcriptv1.PutArchivedNodesRequest:
		bytes += 128 * len(r.Nodes)
	case *transcriptv1.AliasRequest:
		bytes += answerOf(r.Aliases)
	case *transcriptv1.CompactRequest:
		bytes += answerOf(r.Aliases)
	default:
		return access.IsWrite(method) || strings.HasPrefix(method, "/grpc.health.")
	}
	return bytes <= tinyReply
}

// answerOf is the bytes that a reply has of so many aliases, at most.
func answerOf[A interface{ GetName() string }](aliases []A) (bytes int) {
	for _, a := range aliases {
		bytes += 128 + len(a.GetName())
	}
	return bytes
}

// Settle gives a reply that is made the room that it needs; what is left over is given back. False: there is too little at once. The
// reply of a write, which took place, goes out with what it has then.
func (o *Limiter) Settle(ctx context.Context, c *Call, method string, reply any) bool {
	bytes := int64(Size(reply))
	switch _, framed := reply.(*Spliced); {
	case bytes <= tinyReply:
		c.Held.Release()
		c.Held = nil
	case c.Held.has(bytes):
		c.Held.shrink(bytes)
	case framed: // what lies in its frame gives back the room that it was laid in
		return false
	default:
		larger := o.tryReply(ctx, bytes)
		if larger == nil {
			return access.IsWrite(method)
		}
		c.Held.Release()
		c.Held = larger
	}
	return true
}

// again has a reply made once more that turned out to be larger than its room, when there is room for it: until then it is forgotten.
func (o *Limiter) again(ctx context.Context, c *Call, reply any, info *grpc.UnaryServerInfo, made func() (any, error)) (any, error) {
	bytes := int64(Size(reply))
	if s, framed := reply.(*Spliced); framed {
		s.frame.Drop()
	}
	if _, err := o.Expect(ctx, bytes+bytes/8); err != nil {
		return nil, err
	}
	reply, err := made()
	if err == nil && !o.Settle(ctx, c, info.FullMethod, reply) {
		return nil, ErrNoRoom // it has grown
	}
	return reply, err
}

// uncompressed has gRPC send replies as they are.
func uncompressed(ctx context.Context) {
	_ = grpc.SetSendCompressor(ctx, encoding.Identity) // fails where the caller has gone
}

func (o *Limiter) Stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	uncompressed(ss.Context())
	return next(srv, &replyStream{ss, o})
}

// Expect takes room for the reply of a unary call that will have so many bytes at most, in place of what the call has, unless that is
// enough. Errors are those of take. Who calls it must not be reading rows.
func (o *Limiter) Expect(ctx context.Context, bytes int64) (*Held, error) {
	c := CallOf(ctx)
	if c == nil {
		return o.Take(ctx, bytes)
	}
	if c.Held.has(bytes) {
		return c.Held, nil
	}
	c.Held.Release()
	var err error
	if bytes <= SmallReply {
		c.Held, err = o.TakeSmall(ctx)
	} else {
		c.Held, err = o.Take(ctx, bytes)
	}
	return c.Held, err
}

// tryReply is try for a reply of so many bytes.
func (o *Limiter) tryReply(ctx context.Context, bytes int64) *Held {
	if bytes > SmallReply {
		return o.try(ctx, bytes)
	}
	h := o.TrySmall(ctx)
	if h == nil {
		c := connectionOf(ctx)
		h = o.tryAll(ctx, c, SmallReply, c.own)
	}
	if h != nil {
		h.shrink(bytes)
	}
	return h
}

// large is what the room of a large reply is taken of, in the order in which it is waited for.
func (o *Limiter) large(ctx context.Context, c *connection) []*fair.Semaphore {
	from := []*fair.Semaphore{c.share, o.shares.Of(ctx), o.Strangers, o.Free}
	if c.written.Load() >= ConnectionBytes {
		from[2] = nil
	}
	return from
}

// small is what the room of a small reply is taken of, unless it is its connection's own.
func (o *Limiter) small(ctx context.Context) []*fair.Semaphore {
	return []*fair.Semaphore{o.smallShares.Of(ctx), o.Small}
}

// try takes room; nil: there is none at once.
func (o *Limiter) try(ctx context.Context, bytes int64) *Held {
	c := connectionOf(ctx)
	return o.tryAll(ctx, c, bytes, o.large(ctx, c)...)
}

// TryBatch is try for a batch of a stream.
func (o *Limiter) TryBatch(ctx context.Context, bytes int64) *Held {
	c := connectionOf(ctx)
	return o.tryAll(ctx, c, bytes, append(o.large(ctx, c), c.batches, o.Batches)...)
}

// TrySmall is try for a small reply, or a frame of a stream.
func (o *Limiter) TrySmall(ctx context.Context) *Held {
	return o.tryAll(ctx, connectionOf(ctx), SmallReply, o.small(ctx)...)
}

func (o *Limiter) tryAll(ctx context.Context, c *connection, bytes int64, from ...*fair.Semaphore) *Held {
	if !fair.Try(bytes, from...) {
		return nil
	}
	return o.hold(ctx, c, bytes, from)
}

// Take takes room, and waits for it: first for some of the connection's, so that one connection does not keep all others waiting.
// Errors are ErrNoRoom shortly before the deadline, or at once where the call must not wait, or the requests of calls that wait
// have WaitingBytes, and that of the context. Who waits must hold no other room but for batches.
func (o *Limiter) Take(ctx context.Context, bytes int64) (*Held, error) {
	if h := o.try(ctx, bytes); h != nil {
		return h, nil
	}
	c := connectionOf(ctx)
	return o.wait(ctx, c, bytes, func(early context.Context) []*fair.Semaphore {
		from := o.large(ctx, c)
		if fair.Acquire(early, bytes, from...) != nil {
			return nil
		}
		return from
	})
}

// TakeSmall is take for a small reply, or a frame of a stream. Where there is none it waits for some of that for all, or of what only
// its connection has, whichever comes first; and what takes nothing is closed for it, wherever that has its room from.
func (o *Limiter) TakeSmall(ctx context.Context) (*Held, error) {
	if h := o.TrySmall(ctx); h != nil {
		return h, nil
	}
	c := connectionOf(ctx)
	if h := o.tryAll(ctx, c, SmallReply, c.own); h != nil {
		return h, nil
	}
	return o.wait(ctx, c, SmallReply, func(ctx context.Context) []*fair.Semaphore { return waitForOne(ctx, SmallReply, c.own, o.small(ctx)) })
}

// wait waits for what taken takes bytes of.
func (o *Limiter) wait(ctx context.Context, c *connection, bytes int64, taken func(context.Context) []*fair.Semaphore) (*Held, error) {
	call := CallOf(ctx)
	request := call.requestBytes()
	share := o.waitingShares.Of(ctx)
	if call != nil && call.atOnce || !fair.Try(request, share, o.Waiting) {
		return nil, ErrNoRoom
	}
	defer fair.Release(request, share, o.Waiting)
	o.metrics.Waiting.Inc()
	defer o.metrics.Waiting.Dec()
	early, cancel := deadline.Early(ctx)
	defer cancel()
	running := call.leave()
	if from := taken(early); from != nil {
		h := o.hold(ctx, c, bytes, from)
		if running != nil {
			if err := call.enter(ctx, running); err != nil {
				h.Release()
				return nil, err
			}
		}
		return h, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, ErrNoRoom
}

func (o *Limiter) hold(ctx context.Context, c *connection, bytes int64, from []*fair.Semaphore) *Held {
	h := &Held{limiter: o, connection: c, from: from, bytes: bytes}
	if call := CallOf(ctx); call != nil {
		h.ended = call.ended
	}
	h.refs.Store(1)
	o.metrics.Bytes.Add(float64(bytes))
	c.bytes.Add(bytes)
	if !c.add(h) {
		h.Release() // nobody is there to take the reply
	}
	return h
}

// sweep collects garbage, unless that was done lately: every reply that is late is older than that.
func (o *Limiter) sweep() {
	o.sweeping.Lock()
	defer o.sweeping.Unlock()
	if time.Since(o.swept) >= receive.EndEvery {
		runtime.GC()
		o.swept = time.Now()
	}
}

// waitForOne takes some of one, or else of each of the others; nil: the context ended before.
func waitForOne(ctx context.Context, bytes int64, one *fair.Semaphore, others []*fair.Semaphore) []*fair.Semaphore {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	had := make(chan bool, 1)
	go func() {
		has := fair.Acquire(ctx, bytes, others...) == nil
		if has {
			cancel()
		}
		had <- has
	}()
	first := one.Acquire(ctx, bytes) == nil
	cancel()
	switch second := <-had; {
	case first && second:
		fair.Release(bytes, others...)
		return []*fair.Semaphore{one}
	case first:
		return []*fair.Semaphore{one}
	case second:
		return others
	default:
		return nil
	}
}
