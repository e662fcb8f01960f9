package server

import (
	"context"
	"errors"
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
	maxHits        = 100
	defaultExcerpt = 200
	maxExcerpt     = 2000
	maxToolNames   = 64
)

// searchLimits end a page of Search, which then goes on with the next. A page gets at least one message further, or one
// alias.
type searchLimits struct {
	// bytes of payloads and metadata, and time, after which no more is read.
	bytes int64
	time  time.Duration
	// reply is the most bytes of hits.
	reply int
	// span is about the bytes of payloads that are read at once, forwards, to be looked at from their end; rows the
	// nodes that the first such read takes.
	span, rows int
	// runs are how many a token under a prefix has of those that were reported.
	runs int
}

func defaultSearchLimits() searchLimits {
	return searchLimits{
		bytes: 16 << 20, time: 500 * time.Millisecond, reply: 1 << 20, span: 512 << 10, rows: 16, runs: 10_000,
	}
}

// Search looks through one chain, or one chain after the other, until the page is full.
func (t *transcripts) Search(ctx context.Context, req *transcriptv1.SearchRequest) (*transcriptv1.SearchResponse, error) {
	return (&search{store: t.store, limits: defaultSearchLimits(), now: time.Now}).page(ctx, req)
}

// search is what a page of Search works with.
type search struct {
	store  chainstore.Store
	limits searchLimits
	now    func() time.Time
}

func (s *search) page(ctx context.Context, req *transcriptv1.SearchRequest) (*transcriptv1.SearchResponse, error) {
	q, err := parseSearch(req)
	if err != nil {
		return nil, err
	}
	cursor, err := q.page.Cursor(req.PageToken)
	if err != nil {
		return nil, err
	}
	p := &searchPage{
		search: s, query: q, reply: &transcriptv1.SearchResponse{}, rows: s.limits.rows, deadline: s.now().Add(s.limits.time),
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
		p.reply.NextPageToken = q.page.Token(cursor)
	}
	return p.reply, nil
}

// searchQuery is a SearchRequest that was judged.
type searchQuery struct {
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

func parseSearch(req *transcriptv1.SearchRequest) (*searchQuery, error) {
	q := &searchQuery{errorsOnly: req.ErrorsOnly}
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
	if q.size, err = wire.PageOf(req.PageSize, defaultHits, maxHits); err != nil {
		return nil, err
	}
	q.excerpt, err = wire.Bounded("excerpt_chars", req.ExcerptChars, defaultExcerpt, maxExcerpt)
	return q, err
}

// parseScope also binds tokens to the whole request, page size and token aside.
func (q *searchQuery) parseScope(req *transcriptv1.SearchRequest) (err error) {
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

func (q *searchQuery) parseFilters(req *transcriptv1.SearchRequest) error {
	for i, role := range req.Roles {
		if _, ok := transcriptv1.Role_name[int32(role)]; !ok || role == transcriptv1.Role_ROLE_UNSPECIFIED {
			return wire.InvalidField(wire.Indexed("roles", i), "must be a declared role")
		}
		q.roles |= 1 << role
	}
	if len(req.ToolNames) > maxToolNames {
		return wire.OverLimit("tool_names", "must be at most %d", maxToolNames)
	}
	q.tools = make(map[string]bool, len(req.ToolNames))
	for _, name := range req.ToolNames {
		q.tools[name] = true
	}
	return nil
}

func (q *searchQuery) parseTimes(req *transcriptv1.SearchRequest) (err error) {
	if q.since, err = searchTime("since", req.Since, math.MinInt64); err != nil {
		return err
	}
	if q.until, err = searchTime("until", req.Until, math.MaxInt64); err != nil {
		return err
	}
	if q.since >= q.until {
		return wire.InvalidField("until", "must be after since")
	}
	return nil
}

// searchTime is a bound on times, which are whole milliseconds; absent where none is given.
func searchTime(field string, t *timestamppb.Timestamp, absent int64) (int64, error) {
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

// searchPage is a page under way.
type searchPage struct {
	*search
	query    *searchQuery
	reply    *transcriptv1.SearchResponse
	size     int // of the hits, encoded
	deadline time.Time
	// readBytes are of all payloads and metadata that were read.
	readBytes int64
	// rows is how many nodes the next read takes.
	rows int
}

// ended tells whether the page takes no more.
func (p *searchPage) ended() bool {
	return p.missing() == 0 || p.size >= p.limits.reply || p.readBytes >= p.limits.bytes || !p.now().Before(p.deadline)
}

// enough tells whether the page, once it has so many hits more, takes no more.
func (p *searchPage) enough(hits int) bool {
	return hits == p.missing() || !p.now().Before(p.deadline)
}

// missing is how many hits the page still takes.
func (p *searchPage) missing() int { return p.query.size - len(p.reply.Hits) }

// chain searches one chain. The cursor is the head, which the alias may have left meanwhile, and the place to go on
// before.
func (p *searchPage) chain(ctx context.Context, cursor []byte) ([]byte, error) {
	chain, before, err := p.resume(ctx, cursor)
	if err != nil {
		return nil, err
	}
	next, done, err := p.scan(ctx, &searchChain{Chain: chain}, 0, before)
	if err != nil || done {
		return nil, err
	}
	return searchPlace{chain.Head().ID, next}.cursor(), nil
}

// resume finds the chain, and the place to begin before.
func (p *searchPage) resume(ctx context.Context, cursor []byte) (chain chainstore.Chain, before runloop.Place, err error) {
	if cursor == nil {
		if chain, err = p.store.Chain(ctx, p.query.page.Namespace, p.query.head, nil); err == nil {
			before = wholeOf(chain)
		}
		return chain, before, wire.MissingFrom("head", err)
	}
	at, err := parseSearchPlace(cursor)
	if err != nil {
		return nil, before, err
	}
	chain, err = p.query.page.Chain(ctx, p.store, p.query.head, at.head)
	if errors.Is(err, chainstore.ErrNodeNotFound) || err == nil && at.before.Seq > chain.Head().Seq {
		err = wire.BadToken()
	}
	return chain, at.before, err
}

// wholeOf is the place before which all messages of a chain lie.
func wholeOf(chain chainstore.Chain) runloop.Place {
	return runloop.Place{Seq: chain.Head().Seq, Index: math.MaxUint32}
}

// searchPlace is where the search of a chain goes on: before a message.
type searchPlace struct {
	head   chainstore.ID
	before runloop.Place
}

func (s searchPlace) cursor() []byte { return wire.HeadCursor(s.head, s.before.Seq, s.before.Index) }

func parseSearchPlace(b []byte) (s searchPlace, err error) {
	s.head, s.before.Seq, s.before.Index, err = wire.ParseHeadCursor(b)
	return s, err
}
