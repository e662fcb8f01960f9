package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/client/anthropic"
	"github.com/transcriptd/transcriptd/client/internal/convtest"
	"github.com/transcriptd/transcriptd/client/internal/convtest/anthropicapi"
	"github.com/transcriptd/transcriptd/client/openai"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// TestRealViewsForAnthropic asks for the views of every real conversation before every assistant message, at which no call is
// unanswered, and checks that the API would take each, and that there is something to send in each; that what comes before
// the first user's message is left out and reported; and that reports are founded, and whole where the view is the
// conversation's last. Of the conversations as they are it would not take all.
func TestRealViewsForAnthropic(t *testing.T) {
	c := client.New(testserver.StartMemory(t))
	seen := &seen{t: t, breaches: map[string]int{}, changes: map[anthropic.ChangeKind]int{}}
	n := 0
	convtest.Conversations(t, func(id string, source json.RawMessage) {
		if n++; testing.Short() && n%10 != 0 {
			return
		}
		messages, _, err := openai.Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		raw, _, err := anthropic.Format(messages)
		if err == nil {
			err = anthropicapi.Check(raw)
		}
		if err != nil {
			seen.breaches[cause(err)]++
		}
		last := map[int][]*transcriptv1.Message{}
		testserver.Requests(t, c, messages, func(query int, view []*transcriptv1.Message) {
			last[query] = view
			seen.view(id, query, view)
		})
		for query, view := range last {
			request, report, err := anthropic.ForModel(view)
			if untold := convtest.Untold(view, report, request); err != nil || len(untold) > 0 {
				t.Errorf("%s, query %d, %d messages: %v, neither in the request nor in the report: %v", id, query, len(view), err, untold)
			}
		}
	})
	t.Logf("%d requests, %d of them with messages before a user's, changed: %v; conversations as they are would be refused for: %v",
		seen.requests, seen.leadIns, seen.changes, seen.breaches)
	if seen.requests == 0 || seen.breaches[anthropicapi.ErrUnanswered.Error()] == 0 || seen.breaches[anthropicapi.ErrCallID.Error()] == 0 ||
		!testing.Short() && seen.leadIns == 0 {
		t.Error("too little was seen: requests, messages before a user's, or what the checker finds in the conversations as they are")
	}
}

// seen counts what a test of views comes by.
type seen struct {
	t *testing.T
	// requests are all, leadIns those with messages before the first user's.
	requests, leadIns int
	breaches          map[string]int
	changes           map[anthropic.ChangeKind]int
}

// view checks one.
func (s *seen) view(id string, query int, view []*transcriptv1.Message) {
	s.requests++
	first := slices.IndexFunc(view, func(m *transcriptv1.Message) bool {
		return m.GetRole() == transcriptv1.Role_ROLE_USER && convtest.Says(m)
	})
	request, report, err := anthropic.ForModel(view)
	if err == nil {
		err = anthropicapi.Check(request)
	}
	if err != nil || first < 0 {
		s.t.Errorf("%s, query %d, %d messages, the user's first %d: %v", id, query, len(view), first, err)
		return
	}
	leftOut := map[string]bool{}
	for _, change := range report.Changes {
		s.changes[change.Kind]++
		if change.Kind == anthropic.LeftOut {
			leftOut[change.Path] = true
		}
	}
	before := 0
	for i, m := range view[:first] {
		switch m.GetRole() {
		case transcriptv1.Role_ROLE_ASSISTANT, transcriptv1.Role_ROLE_TOOL:
			before++
			if !leftOut[fmt.Sprintf("messages[%d]", i)] {
				s.t.Errorf("%s, query %d: message %d, before the user's first, is not told of", id, query, i)
			}
		}
	}
	if before > 0 {
		s.leadIns++
	}
	if unfounded := convtest.Unfounded(view, first, report, request); len(unfounded) > 0 {
		s.t.Errorf("%s, query %d, %d messages: %v", id, query, len(view), unfounded)
	}
}

// cause is what is wrong, without where.
func cause(err error) string {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err.Error()
}
