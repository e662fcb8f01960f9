package mcpserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	searchPage = 20
	// searchTime is how long pages without hits are passed over before a reply says how to go on.
	searchTime = 10 * time.Second
)

func (s *caller) searchTool() *tool {
	params := s.conversation(false,
		param{name: "query", kind: "string", says: "The text to find, in any case of its letters.", required: true},
		param{name: "regexp", kind: "boolean", says: "Whether query is a regular expression in RE2 syntax."},
		param{name: "role", kind: "string", says: "Only messages of this role.", enum: []string{"system", "developer", "user", "assistant", "tool"}},
		param{name: "tool", kind: "string", says: "Only calls of the tool of this name, and their results."},
		param{name: "errors_only", kind: "boolean", says: "Only results of tools that are errors."},
		param{name: "since", kind: "string", says: "Only messages from this time on: 2026-11-21, 2026-11-21T12:00:00Z, or how long ago, such as 24h or 3d."},
		param{name: "until", kind: "string", says: "Only messages before this time, written as in since."},
		cursorParam())
	says := "Finds messages that have a text, newest first, also those that were compacted. Each hit has its place, for read_conversation."
	if !s.cfg.Binding.bound() {
		params = append(params, param{name: "prefix", kind: "string", says: "Only conversations whose names begin with this. Not with conversation."})
		says = "Finds messages that have a text, in one conversation or in all, also those that were compacted; within a conversation newest first. " +
			"Each hit has its place, for read_conversation."
	}
	return &tool{name: "search_history", title: "Search conversations", says: says, params: params, run: s.search}
}

func (s *caller) search(ctx context.Context, a *arguments) (string, error) {
	req, err := s.searchRequest(a)
	if err != nil {
		return "", err
	}
	until := time.Now().Add(searchTime)
	reply, lines, err := fitted(searchPage, func(size int) (*transcriptv1.SearchResponse, error) {
		req.PageSize = int32(min(size, searchPage)) // at most searchPage
		for {
			got, err := s.searchOnce(ctx, req)
			if err != nil || len(got.GetHits()) > 0 || got.GetNextPageToken() == "" || time.Now().After(until) {
				return got, err
			}
			req.PageToken = got.GetNextPageToken()
		}
	}, func(r *transcriptv1.SearchResponse) []string {
		lines := make([]string, len(r.GetHits()))
		for i, h := range r.GetHits() {
			lines[i] = hit(h)
		}
		return lines
	}, MaxReplyChars-headRoom-maxCursor)
	if err != nil {
		return "", err
	}
	token := reply.GetNextPageToken()
	switch {
	case len(token) > maxCursor:
		lines = append(lines, "there may be more, in more conversations than a cursor can keep: call search_history with a longer prefix, or with one conversation")
	case token != "" && len(lines) == 0:
		lines = append(lines, "nothing found yet, and not all is searched", next("search_history", token, "to go on"))
	case token != "":
		lines = append(lines, next("search_history", token, "for more"))
	case len(lines) == 0 && a.Cursor == "":
		lines = append(lines, "nothing found: try another query, or fewer conditions")
	case len(lines) == 0:
		lines = append(lines, "nothing more found")
	}
	return strings.Join(lines, "\n"), nil
}

func (s *caller) searchOnce(ctx context.Context, req *transcriptv1.SearchRequest) (*transcriptv1.SearchResponse, error) {
	ctx, cancel := s.call(ctx)
	defer cancel()
	return s.cfg.Client.Search(ctx, req)
}

func (s *caller) searchRequest(a *arguments) (*transcriptv1.SearchRequest, error) {
	req := &transcriptv1.SearchRequest{
		Namespace: s.cfg.Namespace, Pattern: &transcriptv1.SearchRequest_Text{Text: a.Query}, PageToken: a.Cursor,
		ErrorsOnly: a.ErrorsOnly, ExcerptChars: 300, Redact: !s.cfg.Plain,
	}
	if a.Query == "" {
		return nil, refuse("query: must not be empty; to read messages, call read_conversation")
	}
	if a.Regexp {
		req.Pattern = &transcriptv1.SearchRequest_Regexp{Regexp: a.Query}
	}
	if a.Role != "" {
		req.Roles = []transcriptv1.Role{transcriptv1.Role(transcriptv1.Role_value["ROLE_"+strings.ToUpper(a.Role)])}
	}
	if a.Tool != "" {
		req.ToolNames = []string{a.Tool}
	}
	for name, bound := range map[string]struct {
		text string
		to   **timestamppb.Timestamp
	}{"since": {a.Since, &req.Since}, "until": {a.Until, &req.Until}} {
		if bound.text == "" {
			continue
		}
		t, err := moment(name, bound.text, time.Now())
		if err != nil {
			return nil, err
		}
		*bound.to = timestamppb.New(t)
	}
	if a.Conversation != "" && a.Prefix != "" {
		return nil, refuse("prefix: not together with conversation; leave out either")
	}
	if a.Conversation != "" || s.cfg.Binding.bound() {
		head, err := s.cfg.Binding.head(a.Conversation)
		req.Scope = &transcriptv1.SearchRequest_Head{Head: head}
		return req, err
	}
	prefix, err := s.cfg.Binding.narrowed(a.Prefix)
	req.Scope = &transcriptv1.SearchRequest_AliasPrefix{AliasPrefix: prefix}
	return req, err
}

// hit is a hit in two lines. The server has left out secrets.
func hit(h *transcriptv1.SearchHit) string {
	line := fmt.Sprintf("[%s] %s, %s", place(h.GetPlace()), roleName(h.GetRole()), clock(h.GetSentAt()))
	if h.GetAlias() != "" {
		line += ", in " + oneLine(h.GetAlias())
	}
	if h.ToolName != nil {
		line += ", tool " + clip(fmt.Sprintf("%q", h.GetToolName()), 200)
	}
	if h.ToolCallId != nil {
		line += fmt.Sprintf(", call %q", h.GetToolCallId())
	}
	return line + "\n " + inline(h.GetExcerpt(), 600)
}
