package wire

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// HeadCounters are the counters of the chain of a head.
func HeadCounters(h *chainstore.Header) *transcriptv1.ChainCounters {
	return ChainCounters(h.State.Full.Totals, h.State.Effective.Totals)
}

// OptionalText is an optional as replies have it.
func OptionalText(o runloop.Optional) *string {
	if !o.Present {
		return nil
	}
	return &o.Value
}

// Roles are those of a node's messages.
func Roles(h *chainstore.Header) []transcriptv1.Role {
	roles := make([]transcriptv1.Role, len(h.Messages))
	for i := range h.Messages {
		roles[i] = transcriptv1.Role(h.Messages[i].Role)
	}
	return roles
}

const (
	// MaxReply is the most bytes of a unary reply.
	MaxReply = 4<<20 - 64<<10
	// FrameBytes is what a frame of several nodes takes at most; a node that is larger has a frame to itself.
	FrameBytes = 64 << 10
)

// Timestamp is the reverse of Milliseconds.
func Timestamp(ms int64) *timestamppb.Timestamp { return timestamppb.New(time.UnixMilli(ms)) }

// ChainCounters are the totals of both views.
func ChainCounters(full, effective runloop.Totals) *transcriptv1.ChainCounters {
	return &transcriptv1.ChainCounters{Full: counters(full), Effective: counters(effective)}
}

func counters(t runloop.Totals) *transcriptv1.Counters {
	return &transcriptv1.Counters{
		Nodes: Count(t.Nodes), Messages: Count(t.Messages), Depth: Count(t.Depth), RunLoops: Count(t.Loops), Bytes: t.Bytes,
		Tokens: t.Tokens, TokensEstimated: t.Estimated,
	}
}

// Count is a count as replies have it, so that JSON has a number. One above 2147483647 is told as that.
func Count[N int | int64 | uint32](n N) int32 { return int32(min(int64(n), math.MaxInt32)) }

// MessagePlace is where message i of a node lies, as the wire has it.
func MessagePlace(h *chainstore.Header, i int) *transcriptv1.MessagePlace {
	return &transcriptv1.MessagePlace{NodeId: h.ID.String(), MessageIndex: int32(i)}
}
