// Package loops lists the run loops of a chain, newest first.
package loops

import (
	"context"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/chainview"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	defaultPage     = 20
	MaxPage         = 100
	maxPreviewChars = 10_000
	// maxArgumentChars keeps a loop of maxLoopCalls calls below a MiB.
	maxArgumentChars = 2000
	// pageBytes ends a page by the bytes of the reply.
	pageBytes = 1 << 20
	// DefaultMaxBytes is Lister.MaxBytes outside of tests.
	DefaultMaxBytes = 16 << 20
)

// Lister lists the run loops of chains.
type Lister struct {
	Store  chainstore.Store
	Tokens *wire.Tokens
	// MaxBytes ends a page by the bytes of the messages of its loops and of what is read beside them.
	MaxBytes int
}

// List plans the page on headers: where it begins is one question to the store, the loops from there on another. Then it reads the
// payloads that they need, newest loop first, until the page is full. What lies before the page is not read. A token holds the head,
// so that an alias that moves on does not change what is listed, and the place of the last loop given.
func (s *Lister) List(ctx context.Context, req *transcriptv1.ListRunLoopsRequest) (*transcriptv1.ListRunLoopsResponse, error) {
	ref, err := wire.ParseRef("head", req.Head)
	if err != nil {
		return nil, err
	}
	size, err := wire.PageOf(req.PageSize, defaultPage, MaxPage)
	if err != nil {
		return nil, err
	}
	chars, err := wire.Bounded("preview_chars", req.PreviewChars, 0, maxPreviewChars)
	if err != nil {
		return nil, err
	}
	arguments, err := wire.Bounded("argument_chars", req.ArgumentChars, 0, maxArgumentChars)
	if err != nil {
		return nil, err
	}
	p := wire.Page{RPC: "ListRunLoops", Namespace: wire.Namespace(req.Namespace), Scope: ref.Alias + "\x00" + ref.ID.String()}
	l, err := s.open(ctx, p, ref, req.PageToken)
	if err != nil {
		return nil, err
	}
	reply := &transcriptv1.ListRunLoopsResponse{}
	if l.loop.Phase == runloop.None {
		return reply, nil
	}
	l.preview, l.arguments, l.maxBytes = wire.Preview{Chars: chars, Redact: req.Redact}, arguments, s.MaxBytes
	planned, err := l.plan(ctx, size)
	if err != nil {
		return nil, err
	}
	given, err := l.read(ctx, planned)
	if err != nil {
		return nil, err
	}
	for _, s := range given {
		reply.RunLoops = append(reply.RunLoops, s.reply)
	}
	if last := given[len(given)-1]; last.before.Phase != runloop.None {
		reply.NextPageToken, err = s.Tokens.Token(ctx, p, wire.HeadCursor(l.chain.Head().ID, last.start.Seq, last.start.Index))
	}
	return reply, err
}

// runLoops gives run loops of a chain, newest first.
type runLoops struct {
	chain chainstore.Chain
	// loop is the newest to give, as it ended; Phase None: there is none. It ends before end.
	loop runloop.Loop
	end  runloop.Place
	// begun and bytes are the loops, the lead-in aside, and the bytes of messages that the chain has before end.
	begun, bytes int64
	// last says that no loop comes after it.
	last    bool
	preview wire.Preview
	// arguments are the code points that are shown of a call's arguments.
	arguments int
	maxBytes  int
}

// open begins at the head, or behind the loop that a token names.
func (s *Lister) open(ctx context.Context, p wire.Page, ref chainstore.Ref, token string) (*runLoops, error) {
	cursor, err := s.Tokens.Cursor(ctx, p, token)
	if err != nil {
		return nil, err
	}
	if cursor == nil {
		chain, err := s.Store.Chain(ctx, p.Namespace, ref, nil)
		if err != nil {
			return nil, wire.MissingFrom("head", err)
		}
		h := chain.Head()
		full := &h.State.Full
		return &runLoops{chain: chain, loop: full.Loop, end: runloop.Place{Seq: h.Seq + 1}, begun: full.Loops, bytes: full.Bytes, last: true}, nil
	}
	head, seq, index, err := wire.ParseHeadCursor(cursor)
	if err != nil {
		return nil, err
	}
	chain, err := wire.ChainAt(ctx, s.Store, p.Namespace, head)
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
	headers, err := l.chain.Headers(ctx, max(l.end.Seq, 1)-1, l.end.Seq)
	if err != nil {
		return err
	}
	var full runloop.View
	if l.end.Seq > 0 {
		full = headers[0].State.Full
	}
	h := headers[1]
	at := chainview.LoopsIn(full.Loop, h)
	if int64(l.end.Index) >= int64(len(at)) || !at[l.end.Index].Begins {
		return wire.BadToken()
	}
	for i := range l.end.Index {
		count(&full, &h.Messages[i], &at[i])
	}
	l.loop, l.begun, l.bytes = at[l.end.Index].Before, full.Loops, full.Bytes
	return nil
}

// count adds a message, and the loop that it begins, to those that the full view has.
func count(full *runloop.View, m *runloop.Brief, at *chainview.MessageLoop) {
	full.Bytes += int64(m.Length)
	if at.Begins && !at.In.LeadIn {
		full.Loops++
	}
}
