package server

import (
	"context"
	"encoding/binary"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	defaultRunLoops = 20
	maxRunLoops     = 100
	maxPreviewChars = 10_000
	// runLoopPage ends a page by the bytes of the reply, runLoopRead by the bytes of the messages of its loops and of what
	// was read beside them.
	runLoopPage = 1 << 20
	runLoopRead = 16 << 20
)

// ListRunLoops hops from loop to loop: a loop tells where it began, and the node there how the loop before ended. What
// lies before the page is not read. A token holds the head, so that an alias that moves on does not change what is
// listed, and the place of the last loop given.
func (t *transcripts) ListRunLoops(ctx context.Context, req *transcriptv1.ListRunLoopsRequest) (*transcriptv1.ListRunLoopsResponse, error) {
	ref, err := parseRef("head", req.Head)
	if err != nil {
		return nil, err
	}
	size, err := pageOf(req.PageSize, defaultRunLoops, maxRunLoops)
	if err != nil {
		return nil, err
	}
	chars, err := bounded("preview_chars", req.PreviewChars, 0, maxPreviewChars)
	if err != nil {
		return nil, err
	}
	p := page{rpc: "ListRunLoops", namespace: namespaceOf(req.Namespace), scope: ref.Alias + "\x00" + ref.ID.String()}
	l, err := t.openLoops(ctx, p, ref, req.PageToken)
	if err != nil {
		return nil, err
	}
	l.preview = preview{chars: chars, redact: req.Redact}
	reply := &transcriptv1.ListRunLoopsResponse{}
	for bytes := 0; l.loop.Phase != runloop.None; {
		if len(reply.RunLoops) == size || bytes >= runLoopPage || l.read >= runLoopRead {
			reply.NextPageToken = p.token(loopCursor(l.chain.Head().ID, l.end))
			break
		}
		loop, err := l.next(ctx)
		if err != nil {
			return nil, err
		}
		bytes += proto.Size(loop)
		reply.RunLoops = append(reply.RunLoops, loop)
	}
	return reply, nil
}

// runLoops gives the run loops of a chain, newest first.
type runLoops struct {
	chain chainstore.Chain
	// loop is the next one to give, as it ended; Phase None: none is left. It ends before end.
	loop runloop.Loop
	end  runloop.Place
	// last says that no loop comes after it.
	last bool
	// read is the bytes that were read.
	read    int
	preview preview
}

// openLoops begins at the head, or behind the loop that a token names.
func (t *transcripts) openLoops(ctx context.Context, p page, ref chainstore.Ref, token string) (*runLoops, error) {
	cursor, err := p.cursor(token)
	if err != nil {
		return nil, err
	}
	if cursor == nil {
		chain, err := t.store.Chain(ctx, p.namespace, ref, nil)
		if err != nil {
			return nil, missingFrom("head", err)
		}
		h := chain.Head()
		return &runLoops{chain: chain, loop: h.State.Full.Loop, end: runloop.Place{Seq: h.Seq + 1}, last: true}, nil
	}
	head, end, ok := parseLoopCursor(cursor)
	if !ok {
		return nil, badToken()
	}
	chain, err := p.chain(ctx, t.store, ref, head)
	if errors.Is(err, chainstore.ErrNodeNotFound) {
		return nil, badToken()
	}
	if err != nil {
		return nil, err
	}
	l := &runLoops{chain: chain, end: end}
	return l, l.resume(ctx)
}

// resume finds the loop before the one that begins at end.
func (l *runLoops) resume(ctx context.Context) error {
	if l.end.Seq > l.chain.Head().Seq {
		return badToken()
	}
	h, err := chainstore.HeaderAt(ctx, l.chain, l.end.Seq)
	if err != nil {
		return err
	}
	parent, err := loopBefore(ctx, l.chain, l.end.Seq)
	if err != nil {
		return err
	}
	at := loopsIn(parent, h)
	if int64(l.end.Index) >= int64(len(at)) || !at[l.end.Index].begins {
		return badToken()
	}
	l.loop = at[l.end.Index].before
	return nil
}

// loopCursor and parseLoopCursor are a head and the place of a loop as a cursor.
func loopCursor(head chainstore.ID, at runloop.Place) []byte {
	b := binary.AppendUvarint(head[:], uint64(at.Seq))
	return binary.AppendUvarint(b, uint64(at.Index))
}

func parseLoopCursor(b []byte) (head chainstore.ID, at runloop.Place, ok bool) {
	head, seq, index, ok := parseHeadCursor(b)
	return head, runloop.Place{Seq: uint32(seq), Index: uint32(index)}, ok && seq <= 1<<32-1 && index <= 1<<32-1
}

// parseHeadCursor reads a head's id and two numbers.
func parseHeadCursor(b []byte) (head chainstore.ID, first, second uint64, ok bool) {
	if len(b) < len(head) {
		return head, 0, 0, false
	}
	b = b[copy(head[:], b):]
	first, n := binary.Uvarint(b)
	if n <= 0 {
		return head, 0, 0, false
	}
	second, k := binary.Uvarint(b[n:])
	return head, first, second, k > 0 && n+k == len(b)
}
