package server

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// FuzzSearchCursor: a cursor of whatever bytes, in a token that is otherwise right, is refused or gives a page; and those
// that are taken come back as they were.
func FuzzSearchCursor(f *testing.F) {
	store := memstore.New(memstore.Options{})
	s := &transcripts{store: store}
	put, err := s.PutNode(context.Background(), &transcriptv1.PutNodeRequest{
		Messages: []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER}}, Aliases: []*transcriptv1.AliasUpdate{{Name: "a"}},
	})
	if err != nil {
		f.Fatal(err)
	}
	head, err := chainstore.ParseID(put.NodeId)
	if err != nil {
		f.Fatal(err)
	}
	place := searchPlace{head, runloop.Place{Seq: 0, Index: 3}}
	reported := &reportedRuns{runs: map[uint64]reportedRun{7: {3, 1}, 1: {0, 2}}}
	f.Add(place.cursor())
	f.Add(searchPlace{head, runloop.Place{Seq: 1}}.cursor())
	f.Add((&aliasSearch{"a", &place, reported}).append(nil, 10))
	f.Add((&aliasSearch{"a", nil, reported}).append(nil, 1))
	f.Add((&aliasSearch{"\xff", &place, reported}).append(nil, 10))
	f.Add((&aliasSearch{"b", &searchPlace{chainstore.ID{1}, runloop.Place{}}, newReportedRuns()}).append(nil, 10))
	f.Fuzz(func(t *testing.T, cursor []byte) {
		if place, err := parseSearchPlace(cursor); err == nil {
			if again, err := parseSearchPlace(place.cursor()); err != nil || again != place {
				t.Errorf("%v comes back as %v, %v", place, again, err)
			}
		}
		if at, err := parseAliasSearch(cursor, ""); err == nil {
			again := at.append(nil, math.MaxInt)
			if back, err := parseAliasSearch(again, ""); err != nil || !bytes.Equal(back.append(nil, math.MaxInt), again) {
				t.Errorf("%x comes back as other than it was, %v", again, err)
			}
		}
		for _, req := range []*transcriptv1.SearchRequest{
			{Scope: &transcriptv1.SearchRequest_Head{Head: &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: "a"}}}},
			{Scope: &transcriptv1.SearchRequest_AliasPrefix{}},
		} {
			req.Pattern = &transcriptv1.SearchRequest_Text{Text: "x"}
			q, err := parseSearch(req)
			if err != nil {
				t.Fatal(err)
			}
			req.PageToken = q.page.Token(cursor)
			_, err = s.Search(context.Background(), req)
			if err != nil && !errors.Is(err, wire.ErrPageToken) {
				t.Errorf("%v", err)
			}
		}
	})
}
