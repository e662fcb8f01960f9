// Package loops lists the run loops of a chain, newest first.
package loops

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	defaultPage     = 20
	maxPage         = 100
	maxPreviewChars = 10_000
	// pageBytes ends a page by the bytes of the reply, readBytes by the bytes of the messages of its loops and of what
	// was read beside them.
	pageBytes = 1 << 20
	readBytes = 16 << 20
)

// List hops from loop to loop: a loop tells where it began, and the node there how the loop before ended. What
// lies before the page is not read. A token holds the head, so that an alias that moves on does not change what is
// listed, and the place of the last loop given.
func List(ctx context.Context, store chainstore.Store, req *transcriptv1.ListRunLoopsRequest) (*transcriptv1.ListRunLoopsResponse, error) {
	ref, err := wire.ParseRef("head", req.Head)
	if err != nil {
		return nil, err
	}
	size, err := wire.PageOf(req.PageSize, defaultPage, maxPage)
	if err != nil {
		return nil, err
	}
	chars, err := wire.Bounded("preview_chars", req.PreviewChars, 0, maxPreviewChars)
	if err != nil {
		return nil, err
	}
	p := wire.Page{RPC: "ListRunLoops", Namespace: wire.Namespace(req.Namespace), Scope: ref.Alias + "\x00" + ref.ID.String()}
	l, err := open(ctx, store, p, ref, req.PageToken)
	if err != nil {
		return nil, err
	}
	l.preview = wire.Preview{Chars: chars, Redact: req.Redact}
	reply := &transcriptv1.ListRunLoopsResponse{}
	for bytes := 0; l.loop.Phase != runloop.None; {
		if len(reply.RunLoops) == size || bytes >= pageBytes || l.read >= readBytes {
			reply.NextPageToken = p.Token(wire.HeadCursor(l.chain.Head().ID, l.end.Seq, l.end.Index))
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
	preview wire.Preview
}

// open begins at the head, or behind the loop that a token names.
func open(ctx context.Context, store chainstore.Store, p wire.Page, ref chainstore.Ref, token string) (*runLoops, error) {
	cursor, err := p.Cursor(token)
	if err != nil {
		return nil, err
	}
	if cursor == nil {
		chain, err := store.Chain(ctx, p.Namespace, ref, nil)
		if err != nil {
			return nil, wire.MissingFrom("head", err)
		}
		h := chain.Head()
		return &runLoops{chain: chain, loop: h.State.Full.Loop, end: runloop.Place{Seq: h.Seq + 1}, last: true}, nil
	}
	head, seq, index, err := wire.ParseHeadCursor(cursor)
	if err != nil {
		return nil, err
	}
	chain, err := p.Chain(ctx, store, ref, head)
	if errors.Is(err, chainstore.ErrNodeNotFound) {
		return nil, wire.BadToken()
	}
	if err != nil {
		return nil, err
	}
	l := &runLoops{chain: chain, end: runloop.Place{Seq: seq, Index: index}}
	return l, l.resume(ctx)
}

// resume finds the loop before the one that begins at end.
func (l *runLoops) resume(ctx context.Context) error {
	if l.end.Seq > l.chain.Head().Seq {
		return wire.BadToken()
	}
	h, err := chainstore.HeaderAt(ctx, l.chain, l.end.Seq)
	if err != nil {
		return err
	}
	parent, err := chainview.LoopBefore(ctx, l.chain, l.end.Seq)
	if err != nil {
		return err
	}
	at := chainview.LoopsIn(parent, h)
	if int64(l.end.Index) >= int64(len(at)) || !at[l.end.Index].Begins {
		return wire.BadToken()
	}
	l.loop = at[l.end.Index].Before
	return nil
}

func redactCalls(calls []*transcriptv1.ToolCallSummary) {
	for _, c := range calls {
		c.Id, c.Name = wire.RedactedName(c.Id), wire.RedactedName(c.Name)
	}
}
