package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/deadline"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/transport/metrics"
	"github.com/transcriptd/transcriptd/server/internal/transport/receive"
)

const (
	// repliesBytes is how much replies may hold that their callers have not taken yet, and connectionBytes those of one connection.
	repliesBytes, connectionBytes = 64 << 20, 8 << 20
	// smallReply is the bytes up to which a reply is small. smallBytes is how much small replies may hold, and ownBytes how much more
	// those of each connection.
	smallReply, smallBytes, ownBytes = 64 << 10, 32 << 20, 4 * smallReply
	// tinyReply is the bytes up to which a reply is not counted: gRPC tells nobody when so small a buffer is sent.
	tinyReply = chainview.SharedBytes - 1
	// strangersBytes is how much of repliesBytes those connections may hold that have not taken connectionBytes yet: the rest is for those
	// that are known to take their replies.
	strangersBytes = repliesBytes * 3 / 4
	// takenWithin is how long a connection may take next to nothing, while it has replies and calls wait for their room: less than
	// leastTaken, which is more than what gRPC itself writes meanwhile, or than leastPart of what it holds.
	takenWithin, leastTaken, leastPart = 2 * receive.Timeout, 16 << 10, 16
	// waitingBytes is how much the requests of calls that wait for room may hold: half of what those of reads may, so that others are
	// received meanwhile.
	waitingBytes = receive.ReadsBytes / 2
)

// Why a reply is not made, or not sent.
var (
	// errNoRoomToReply: there was no room for it.
	errNoRoomToReply = errors.New("no room for the reply")
	// errBusy: it was not the call's turn to look through messages before the deadline.
	errBusy = errors.New("too many calls look through messages")
	// errGone: the caller has gone.
	errGone = errors.New("the caller has gone")
)

// outgoing bounds what replies hold in memory. gRPC takes a reply whole and the handler returns, however slowly the caller reads:
// so a reply takes room before it is made, and has it until gRPC has sent the last of it. Who finds no room waits. Where
// calls wait, a connection that takes next to nothing of its replies for takenWithin is closed. Connections that have not taken much yet
// leave some to those that have.
//
// A call begins with the room of a small reply; one that looks through messages takes its room afterwards. Where others have all of that, it takes some that only its connection has: so what
// others do not take keeps no small reply waiting. A large reply gives that back before it waits for more.
type outgoing struct {
	free, small *quota
	// strangers is what connections may take of free that have not taken much yet.
	strangers *quota
	// batches is what streams may take of free for their batches, which they hold for as long as their readers like, and while they wait
	// for the room of a large node. So some is left for other replies, and for those who wait.
	batches *quota
	// places are those of calls that look through messages, while they do.
	places *semaphore.Weighted
	// waiting has the requests of calls that wait.
	waiting *semaphore.Weighted
	buffers *buffers
	metrics *metrics.Replies
	log     *slog.Logger

	sweeping sync.Mutex
	// swept is when sweep collected garbage last.
	swept time.Time
}

func newOutgoing(buffers *buffers, m *metrics.Replies, log *slog.Logger) *outgoing {
	m.Limit.Set(repliesBytes + smallBytes)
	return &outgoing{
		places: newPlaces(),
		free:   newQuota(repliesBytes), small: newQuota(smallBytes),
		strangers: newQuota(strangersBytes), batches: newQuota(repliesBytes / 2), waiting: semaphore.NewWeighted(waitingBytes),
		buffers: buffers, metrics: m, log: log,
	}
}

// unary has a reply made in room for it. Where the call fails in the end, its room
// is given back by who called all layers. gRPC sends replies as they are: what it compresses is in memory of its own, and nobody is
// told when that is sent.
func (o *outgoing) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	c := callOf(ctx)
	if c == nil {
		return nil, fmt.Errorf("%s has no call", info.FullMethod)
	}
	c.request = req
	uncompressed(ctx)
	c.atOnce = writes(info.FullMethod)
	made := func() (any, error) { return next(ctx, req) }
	switch {
	case looksThrough(info.FullMethod): // what it has in memory is bounded by the places
		made = func() (any, error) { return o.inTurn(ctx, req, next) }
	case !tinyAnswer(info.FullMethod, req):
		h, err := o.takeSmall(ctx)
		if err != nil {
			return nil, err
		}
		c.held = h
	}
	reply, err := made()
	if err == nil && !o.settle(ctx, c, info.FullMethod, reply) {
		reply, err = o.again(ctx, c, reply, info, made)
	}
	if err != nil || c.held == nil {
		return reply, err
	}
	switch m := reply.(type) {
	case *spliced:
		m.held = c.held
		return m, nil
	case proto.Message:
		return splice(m, &chainview.Frame{}, c.held), nil
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
	case *transcriptv1.AliasRequest:
		bytes += answerOf(r.Aliases)
	case *transcriptv1.CompactRequest:
		bytes += answerOf(r.Aliases)
	default:
		return writes(method) || strings.HasPrefix(method, "/grpc.health.")
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

// settle gives a reply that is made the room that it needs; what is left over is given back. False: there is too little at once. The
// reply of a write, which took place, goes out with what it has then.
func (o *outgoing) settle(ctx context.Context, c *call, method string, reply any) bool {
	bytes := int64(size(reply))
	switch _, framed := reply.(*spliced); {
	case bytes <= tinyReply:
		c.held.release()
		c.held = nil
	case c.held.has(bytes):
		c.held.shrink(bytes)
	case framed: // what lies in its frame gives back the room that it was laid in
		return false
	default:
		larger := o.tryReply(ctx, bytes)
		if larger == nil {
			return writes(method)
		}
		c.held.release()
		c.held = larger
	}
	return true
}

// again has a reply made once more that turned out to be larger than its room, when there is room for it: until then it is forgotten.
func (o *outgoing) again(ctx context.Context, c *call, reply any, info *grpc.UnaryServerInfo, made func() (any, error)) (any, error) {
	bytes := int64(size(reply))
	if s, framed := reply.(*spliced); framed {
		s.frame.Drop()
	}
	if _, err := o.expect(ctx, bytes+bytes/8); err != nil {
		return nil, err
	}
	reply, err := made()
	if err == nil && !o.settle(ctx, c, info.FullMethod, reply) {
		return nil, errNoRoomToReply // it has grown
	}
	return reply, err
}

// uncompressed has gRPC send replies as they are.
func uncompressed(ctx context.Context) {
	_ = grpc.SetSendCompressor(ctx, encoding.Identity) // fails where the caller has gone
}

func (o *outgoing) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	uncompressed(ss.Context())
	return next(srv, &replyStream{ss, o})
}

// expect takes room for the reply of a unary call that will have so many bytes at most, in place of what the call has, unless that is
// enough. Errors are those of take. Who calls it must not be reading rows.
func (o *outgoing) expect(ctx context.Context, bytes int64) (*held, error) {
	c := callOf(ctx)
	if c == nil {
		return o.take(ctx, bytes)
	}
	if c.held.has(bytes) {
		return c.held, nil
	}
	c.held.release()
	var err error
	if bytes <= smallReply {
		c.held, err = o.takeSmall(ctx)
	} else {
		c.held, err = o.take(ctx, bytes)
	}
	return c.held, err
}

// tryReply is try for a reply of so many bytes.
func (o *outgoing) tryReply(ctx context.Context, bytes int64) *held {
	if bytes > smallReply {
		return o.try(ctx, bytes)
	}
	h := o.trySmall(ctx)
	if h == nil {
		c := connectionOf(ctx)
		h = o.tryAll(ctx, c, smallReply, c.own)
	}
	if h != nil {
		h.shrink(bytes)
	}
	return h
}

// large is what the room of a large reply is taken of, in the order in which it is waited for.
func (o *outgoing) large(c *connection) []*quota {
	if c.written.Load() < connectionBytes {
		return []*quota{c.share, o.strangers, o.free}
	}
	return []*quota{c.share, o.free}
}

// try takes room; nil: there is none at once.
func (o *outgoing) try(ctx context.Context, bytes int64) *held {
	c := connectionOf(ctx)
	return o.tryAll(ctx, c, bytes, o.large(c)...)
}

// tryBatch is try for a batch of a stream.
func (o *outgoing) tryBatch(ctx context.Context, bytes int64) *held {
	c := connectionOf(ctx)
	return o.tryAll(ctx, c, bytes, append(o.large(c), c.batches, o.batches)...)
}

// trySmall is try for a small reply, or a frame of a stream.
func (o *outgoing) trySmall(ctx context.Context) *held {
	return o.tryAll(ctx, connectionOf(ctx), smallReply, o.small)
}

func (o *outgoing) tryAll(ctx context.Context, c *connection, bytes int64, from ...*quota) *held {
	for n, q := range from {
		if !q.TryAcquire(bytes) {
			giveBack(bytes, from[:n])
			return nil
		}
	}
	return o.hold(ctx, c, bytes, from)
}

// take takes room, and waits for it: first for some of the connection's, so that one connection does not keep all others waiting.
// Errors are errNoRoomToReply shortly before the deadline, or at once where the call must not wait, or the requests of calls that wait
// have waitingBytes, and that of the context. Who waits must hold no other room but for batches.
func (o *outgoing) take(ctx context.Context, bytes int64) (*held, error) {
	if h := o.try(ctx, bytes); h != nil {
		return h, nil
	}
	c := connectionOf(ctx)
	return o.wait(ctx, c, bytes, func(ctx context.Context) []*quota { return waitForAll(ctx, bytes, o.large(c)...) })
}

// takeSmall is take for a small reply, or a frame of a stream. Where there is none it waits for some of that for all, or of what only
// its connection has, whichever comes first; and what takes nothing is closed for it, wherever that has its room from.
func (o *outgoing) takeSmall(ctx context.Context) (*held, error) {
	if h := o.trySmall(ctx); h != nil {
		return h, nil
	}
	c := connectionOf(ctx)
	if h := o.tryAll(ctx, c, smallReply, c.own); h != nil {
		return h, nil
	}
	return o.wait(ctx, c, smallReply, func(ctx context.Context) []*quota { return waitForOne(ctx, smallReply, c.own, o.small) })
}

// wait waits for what taken takes bytes of.
func (o *outgoing) wait(ctx context.Context, c *connection, bytes int64, taken func(context.Context) []*quota) (*held, error) {
	call := callOf(ctx)
	request := call.requestBytes()
	if call != nil && call.atOnce || !o.waiting.TryAcquire(request) {
		return nil, errNoRoomToReply
	}
	defer o.waiting.Release(request)
	o.metrics.Waiting.Inc()
	defer o.metrics.Waiting.Dec()
	early, cancel := deadline.Early(ctx)
	defer cancel()
	if from := taken(early); from != nil {
		return o.hold(ctx, c, bytes, from), nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, errNoRoomToReply
}

func (o *outgoing) hold(ctx context.Context, c *connection, bytes int64, from []*quota) *held {
	h := &held{outgoing: o, connection: c, from: from, bytes: bytes}
	if call := callOf(ctx); call != nil {
		h.ended = call.ended
	}
	h.refs.Store(1)
	o.metrics.Bytes.Add(float64(bytes))
	c.bytes.Add(bytes)
	if !c.add(h) {
		h.release() // nobody is there to take the reply
	}
	return h
}

// sweep collects garbage, unless that was done lately: every reply that is late is older than that.
func (o *outgoing) sweep() {
	o.sweeping.Lock()
	defer o.sweeping.Unlock()
	if time.Since(o.swept) >= receive.EndEvery {
		runtime.GC()
		o.swept = time.Now()
	}
}

// quota is a part of the room for replies.
type quota struct {
	*semaphore.Weighted
	// waiters are how many calls wait for some of it.
	waiters atomic.Int64
}

func newQuota(bytes int64) *quota { return &quota{Weighted: semaphore.NewWeighted(bytes)} }

func (q *quota) wait(ctx context.Context, bytes int64) error {
	q.waiters.Add(1)
	defer q.waiters.Add(-1)
	return q.Acquire(ctx, bytes)
}

// waitForAll takes some of each, one after the other; nil: the context ended before.
func waitForAll(ctx context.Context, bytes int64, of ...*quota) []*quota {
	for n, q := range of {
		if q.wait(ctx, bytes) != nil {
			giveBack(bytes, of[:n])
			return nil
		}
	}
	return of
}

// waitForOne takes some of either; nil: the context ended before.
func waitForOne(ctx context.Context, bytes int64, one, other *quota) []*quota {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	had := make(chan bool, 1)
	go func() {
		has := other.wait(ctx, bytes) == nil
		if has {
			cancel()
		}
		had <- has
	}()
	first := one.wait(ctx, bytes) == nil
	cancel()
	switch second := <-had; {
	case first && second:
		other.Release(bytes)
		return []*quota{one}
	case first:
		return []*quota{one}
	case second:
		return []*quota{other}
	default:
		return nil
	}
}

// giveBack gives back what was taken of each.
func giveBack(bytes int64, to []*quota) {
	for _, q := range to {
		q.Release(bytes)
	}
}
