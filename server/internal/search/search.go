// Package search looks through the messages of one chain, or of the chains of aliases, newest first, page by page.
package search

import (
	"context"
	"math"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	defaultHits    = 20
	MaxHits        = 100
	defaultExcerpt = 200
	maxExcerpt     = 2000
)

// Limits end a page of Search, which then goes on with the next. A page gets at least one message further, or one
// alias.
type Limits struct {
	// Bytes of payloads and metadata, and Time, after which no more is read.
	Bytes int64
	Time  time.Duration
	// Reply is the most bytes of hits.
	Reply int
	// Span is about the bytes of payloads that are read at once, forwards, to be looked at from their end; Rows the
	// nodes that the first such read takes.
	Span, Rows int
	// Runs are how many a token under a prefix has of those that were reported.
	Runs int
}

// DefaultLimits are those of the service.
func DefaultLimits() Limits {
	return Limits{
		Bytes: 16 << 20, Time: 500 * time.Millisecond, Reply: 1 << 20, Span: 512 << 10, Rows: 16, Runs: 10_000,
	}
}

// Search is what a page of Search works with.
type Search struct {
	Store  chainstore.Store
	Tokens *wire.Tokens
	Limits Limits
	Now    func() time.Time // that pages end by
}

// Page looks through one chain, or one chain after the other, until the page is full.
func (s *Search) Page(ctx context.Context, req *transcriptv1.SearchRequest) (*transcriptv1.SearchResponse, error) {
	q, err := parse(req)
	if err != nil {
		return nil, err
	}
	cursor, err := s.Tokens.Cursor(ctx, q.page, req.PageToken)
	if err != nil {
		return nil, err
	}
	p := &page{
		Search: s, query: q, reply: &transcriptv1.SearchResponse{}, rows: s.Limits.Rows, deadline: s.Now().Add(s.Limits.Time),
	}
	if q.byPrefix {
		cursor, err = p.aliases(ctx, cursor)
	} else {
		cursor, err = p.chain(ctx, cursor)
	}
	if err != nil {
		return nil, err
	}
	if cursor != nil {
		p.reply.NextPageToken, err = s.Tokens.Token(ctx, q.page, cursor)
	}
	return p.reply, err
}

// query is a SearchRequest that was judged.
type query struct {
	page wire.Page
	// byPrefix: the chains of the aliases that begin with prefix; else that of head.
	byPrefix bool
	prefix   string
	head     chainstore.Ref
	pattern  *pattern
	// roles has a bit for each role wanted; 0: all are.
	roles uint8
	// tools are the names of the tools wanted; empty: all messages are.
	tools map[string]bool
	// since and until bound the time of a message, in milliseconds since the epoch; until is not part of it.
	since, until int64
	errorsOnly   bool
	size         int
	excerpt      int
	redact       func(string) string
}

func parse(req *transcriptv1.SearchRequest) (*query, error) {
	q := &query{errorsOnly: req.ErrorsOnly}
	if req.Redact {
		q.redact = redact.Text
	}
	var err error
	for _, step := range []func(*transcriptv1.SearchRequest) error{q.parseScope, q.parseFilters, q.parseTimes} {
		if err = step(req); err != nil {
			return nil, err
		}
	}
	if q.pattern, err = parsePattern(req); err != nil {
		return nil, err
	}
	if q.size, err = wire.PageOf(req.PageSize, defaultHits, MaxHits); err != nil {
		return nil, err
	}
	q.excerpt, err = wire.Bounded("excerpt_chars", req.ExcerptChars, defaultExcerpt, maxExcerpt)
	return q, err
}

// parseScope also binds tokens to the whole request, page size and token aside.
func (q *query) parseScope(req *transcriptv1.SearchRequest) (err error) {
	switch s := req.Scope.(type) {
	case *transcriptv1.SearchRequest_Head:
		q.head, err = wire.ParseRef("head", s.Head)
	case *transcriptv1.SearchRequest_AliasPrefix:
		q.byPrefix, q.prefix = true, s.AliasPrefix
		if len(s.AliasPrefix) > wire.MaxAliasBytes {
			err = wire.OverLimit("alias_prefix", "must be at most %d bytes", wire.MaxAliasBytes)
		}
	default:
		err = wire.ExactlyOne("head", "alias_prefix")
	}
	if err != nil {
		return err
	}
	same := proto.CloneOf(req)
	same.PageSize, same.PageToken, same.Namespace = 0, "", ""
	scope, err := proto.MarshalOptions{Deterministic: true}.Marshal(same)
	q.page = wire.Page{RPC: "Search", Namespace: wire.Namespace(req.Namespace), Scope: string(scope)}
	return err
}

func (q *query) parseFilters(req *transcriptv1.SearchRequest) error {
	for i, role := range req.Roles {
		if _, ok := transcriptv1.Role_name[int32(role)]; !ok || role == transcriptv1.Role_ROLE_UNSPECIFIED {
			return wire.InvalidField(wire.Indexed("roles", i), "must be a declared role")
		}
		q.roles |= 1 << role
	}
	if err := wire.CheckToolNames(req.ToolNames); err != nil {
		return err
	}
	q.tools = make(map[string]bool, len(req.ToolNames))
	for _, name := range req.ToolNames {
		q.tools[name] = true
	}
	return nil
}

func (q *query) parseTimes(req *transcriptv1.SearchRequest) (err error) {
	if q.since, err = parseTime("since", req.Since, math.MinInt64); err != nil {
		return err
	}
	if q.until, err = parseTime("until", req.Until, math.MaxInt64); err != nil {
		return err
	}
	if q.since >= q.until {
		return wire.InvalidField("until", "must be after since")
	}
	return nil
}

// parseTime is a bound on times, which are whole milliseconds; absent where none is given.
func parseTime(field string, t *timestamppb.Timestamp, absent int64) (int64, error) {
	if t == nil {
		return absent, nil
	}
	ms, ok := wire.Milliseconds(t)
	if !ok {
		return 0, wire.InvalidField(field, "must be a time from 1970 to 9999")
	}
	if t.GetNanos()%int32(time.Millisecond) != 0 {
		ms++
	}
	return ms, nil
}

// page is a page under way.
type page struct {
	*Search
	query    *query
	reply    *transcriptv1.SearchResponse
	size     int // of the hits, encoded
	deadline time.Time
	// readBytes are of all payloads and metadata that were read.
	readBytes int64
	// rows is how many nodes the next read takes.
	rows int
	// ids are those of the nodes of the present span so far.
	ids []chainstore.ID
}

// ended tells whether the page takes no more.
func (p *page) ended() bool {
	return p.missing() == 0 || p.size >= p.Limits.Reply || p.readBytes >= p.Limits.Bytes || !p.Now().Before(p.deadline)
}

// enough tells whether the page, once it has so many hits more, takes no more.
func (p *page) enough(hits int) bool {
	return hits == p.missing() || !p.Now().Before(p.deadline)
}

// missing is how many hits the page still takes.
func (p *page) missing() int { return p.query.size - len(p.reply.Hits) }

// chain searches one chain. The cursor is the head, which the alias may have left meanwhile, and the place to go on
// before.
func (p *page) chain(ctx context.Context, cursor []byte) ([]byte, error) {
	chain, before, err := p.resume(ctx, cursor)
	if err != nil {
		return nil, err
	}
	next, done, err := p.scan(ctx, &scannedChain{Chain: chain}, 0, before)
	if err != nil || done {
		return nil, err
	}
	return resumePoint{chain.Head().ID, next}.cursor(), nil
}

// resume finds the chain, and the place to begin before.
func (p *page) resume(ctx context.Context, cursor []byte) (chain chainstore.Chain, before runloop.Place, err error) {
	if cursor == nil {
		if chain, err = p.Store.Chain(ctx, p.query.page.Namespace, p.query.head, nil); err == nil {
			before = wholeOf(chain)
		}
		return chain, before, wire.MissingFrom("head", err)
	}
	at, err := parseResumePoint(cursor)
	if err != nil {
		return nil, before, err
	}
	if chain, err = wire.ChainAt(ctx, p.Store, p.query.page.Namespace, at.head); err == nil {
		err = at.check(chain)
	}
	return chain, at.before, err
}

// wholeOf is the place before which all messages of a chain lie.
func wholeOf(chain chainstore.Chain) runloop.Place {
	return runloop.Place{Seq: chain.Head().Seq, Index: math.MaxUint32}
}

// resumePoint is where the search of a chain goes on: before a message.
type resumePoint struct {
	head   chainstore.ID
	before runloop.Place
}

// check refuses a place that the head's chain does not have.
func (s resumePoint) check(chain chainstore.Chain) error {
	if s.before.Seq > chain.Head().Seq {
		return wire.BadToken()
	}
	return nil
}

func (s resumePoint) cursor() []byte { return wire.HeadCursor(s.head, s.before.Seq, s.before.Index) }

func parseResumePoint(b []byte) (s resumePoint, err error) {
	s.head, s.before.Seq, s.before.Index, err = wire.ParseHeadCursor(b)
	return s, err
}
