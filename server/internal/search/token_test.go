package search

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// FuzzSearchCursor: a cursor of whatever bytes, in a token that is otherwise right, is refused or gives a page; and those
// that are taken come back as they were.
func FuzzSearchCursor(f *testing.F) {
	store, head := memstore.New(memstore.Options{}), chainstore.ID{7}
	s := &Search{Store: store, Tokens: wire.NewTokens(store, time.Now), Limits: DefaultLimits(), Now: time.Now}
	messages := []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER}}
	_, err := store.Commit(context.Background(), "default", &chainstore.Change{
		Nodes: []chainstore.NewNode{{
			Payload: canonical.EncodePayload(messages), Messages: canonical.Facts(messages),
			Identify: func(*chainstore.ID) chainstore.ID { return head },
		}},
		Aliases: []chainstore.AliasChange{{Name: "a", Target: chainstore.Target{Kind: chainstore.TargetNew}}},
	})
	if err != nil {
		f.Fatal(err)
	}
	place := resumePoint{head, runloop.Place{Seq: 0, Index: 3}}
	reported := &reportedRuns{runs: map[uint64]reportedRun{7: {3, 1}, 1: {0, 2}}}
	f.Add(place.cursor())
	f.Add(resumePoint{head, runloop.Place{Seq: 1}}.cursor())
	f.Add((&aliasPoint{"a", &place, reported}).cursor(10))
	f.Add((&aliasPoint{"a", nil, reported}).cursor(1))
	f.Add((&aliasPoint{"\xff", &place, reported}).cursor(10))
	f.Add((&aliasPoint{"b", &resumePoint{chainstore.ID{1}, runloop.Place{}}, newReportedRuns()}).cursor(10))
	f.Fuzz(func(t *testing.T, cursor []byte) {
		if place, err := parseResumePoint(cursor); err == nil {
			if again, err := parseResumePoint(place.cursor()); err != nil || again != place {
				t.Errorf("%v comes back as %v, %v", place, again, err)
			}
		}
		if at, err := parseAliasPoint(cursor); err == nil {
			again := at.cursor(math.MaxInt)
			if back, err := parseAliasPoint(again); err != nil || !bytes.Equal(back.cursor(math.MaxInt), again) {
				t.Errorf("%x comes back as other than it was, %v", again, err)
			}
		}
		for _, req := range []*transcriptv1.SearchRequest{
			{Scope: &transcriptv1.SearchRequest_Head{Head: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "a"}}}},
			{Scope: &transcriptv1.SearchRequest_AliasPrefix{}},
		} {
			req.Pattern = &transcriptv1.SearchRequest_Text{Text: "x"}
			q, err := parse(req)
			if err != nil {
				t.Fatal(err)
			}
			if req.PageToken, err = s.Tokens.Token(context.Background(), q.page, cursor); err != nil {
				t.Fatal(err)
			}
			_, err = s.Page(context.Background(), req)
			if err != nil && !errors.Is(err, wire.ErrPageToken) {
				t.Errorf("%v", err)
			}
		}
	})
}
