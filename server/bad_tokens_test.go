package server_test

import (
	"strings"

	"google.golang.org/grpc/codes"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// badTokens are page tokens of all paged calls: garbage, and those of other calls.
func badTokens(w *planted) []bad {
	made := "AgAAAAE" + strings.Repeat("A", 40) // of the first key, as far as its form goes
	var cases []bad
	for _, garbage := range []string{
		"x", "Ag", "AQAAAAAAAAAA", made, made[:28], strings.Repeat("A", 5000), "%%%", made + "==", "Ag " + made, "\x00",
	} {
		for name, page := range pages(w) {
			cases = append(cases, bad{name + " of garbage", page(func(string) string { return garbage }), invalid, forged, "page_token"})
		}
	}
	return append(cases, tokensOfOthers(w)...)
}

// pages are the calls for a second page: each gets the token that the first one gave, changed.
func pages(w *planted) map[string]func(change func(string) string) func(*rig) error {
	all := map[string]func(func(string) string) func(*rig) error{}
	add := func(name string, ask func(r *rig, token string) (next string, err error)) {
		all[name] = func(change func(string) string) func(*rig) error {
			return func(r *rig) error {
				token, err := ask(r, "")
				if err == nil && token == "" {
					r.Error("there is one page only")
				}
				if err == nil {
					_, err = ask(r, change(token))
				}
				return err
			}
		}
	}
	for name, page := range pagers {
		add("a page of "+name, func(r *rig, token string) (string, error) { return page(r, "paged", token) })
	}
	add("a page of ListAliases", func(r *rig, token string) (string, error) {
		reply, err := r.ListAliases(r.ctx(), &transcriptv1.ListAliasesRequest{PageSize: 1, PageToken: token})
		return reply.GetNextPageToken(), err
	})
	add("a page of ListNamespaces", func(r *rig, token string) (string, error) {
		reply, err := r.ListNamespaces(r.ctx(), &transcriptv1.ListNamespacesRequest{PageSize: 1, PageToken: token})
		return reply.GetNextPageToken(), err
	})
	add("a page of ListAliasHistory", func(r *rig, token string) (string, error) {
		reply, err := r.ListAliasHistory(r.ctx(), &transcriptv1.ListAliasHistoryRequest{Name: "compacted", PageSize: 1, PageToken: token})
		return reply.GetNextPageToken(), err
	})
	return all
}

// tokensOfOthers are right tokens: of another call each, or spoilt.
func tokensOfOthers(w *planted) (cases []bad) {
	for name, page := range pages(w) {
		cases = append(cases,
			bad{name + " as given", page(strings.Clone), codes.OK, "", ""},
			bad{name + ", cut", page(func(t string) string { return t[:len(t)-2] }), invalid, forged, "page_token"},
			bad{name + ", longer", page(func(t string) string { return t + "AAAA" }), invalid, forged, "page_token"},
		)
		for other, of := range pages(w) {
			if other == name {
				continue
			}
			cases = append(cases, bad{other + " with that of " + name, func(r *rig) (err error) {
				var given string
				if err := page(func(t string) string { given = t; return t })(r); err != nil {
					return err
				}
				return of(func(string) string { return given })(r)
			}, invalid, forged, "page_token"})
		}
	}
	head, one := byID(w.paged), ptr("c")
	search := with(inChain(head, "needle"), func(q *SearchRequest) { q.PageSize = 1 })
	of := func(rpc func(*rig) string, call func(r *rig, token string) error) func(*rig) error {
		return func(r *rig) error { return call(r, rpc(r)) }
	}
	searched := func(change func(*SearchRequest)) func(*rig) error {
		return of(func(r *rig) string { return must[*SearchResponse](r)(r.Search(r.ctx(), search)).NextPageToken }, func(r *rig, token string) error {
			return asked((*rig).Search, with(search, func(q *SearchRequest) { q.PageToken = token; change(q) }))(r)
		})
	}
	recalled := func(change func(*Recall)) func(*rig) error {
		first := &Recall{Head: head, ToolCallId: one, PageBytes: 10}
		return of(func(r *rig) string { return r.recall(first).NextPageToken }, func(r *rig, token string) error {
			return asked((*rig).RecallToolCall, with(first, func(q *Recall) { q.PageToken = token; change(q) }))(r)
		})
	}
	looped := func(change func(*ListLoops)) func(*rig) error {
		first := &ListLoops{Head: head, PageSize: 1}
		return of(func(r *rig) string { return r.loops(first).NextPageToken }, func(r *rig, token string) error {
			return asked((*rig).ListRunLoops, with(first, func(q *ListLoops) { q.PageToken = token; change(q) }))(r)
		})
	}
	other := byID(w.chat[9])
	for name, call := range map[string]func(*rig) error{
		"a search's token with another text": searched(func(q *SearchRequest) { q.Pattern = &transcriptv1.SearchRequest_Text{Text: "needl"} }),
		"a search's token with another head": searched(func(q *SearchRequest) { q.Scope = &transcriptv1.SearchRequest_Head{Head: other} }),
		"a search's token with its alias":    searched(func(q *SearchRequest) { q.Scope = &transcriptv1.SearchRequest_Head{Head: byAlias("paged")} }),
		"a search's token with a filter":     searched(func(q *SearchRequest) { q.ErrorsOnly = true }),
		"a search's token elsewhere":         searched(func(q *SearchRequest) { q.Namespace = "other" }),
		"a recall's token with another id":   recalled(func(q *Recall) { q.ToolCallId = ptr("2") }),
		"a recall's token without id":        recalled(func(q *Recall) { q.ToolCallId = nil }),
		"a recall's token with a place":      recalled(func(q *Recall) { q.Place = w.paged + ".0" }),
		"a recall's token with another turn": recalled(func(q *Recall) { q.Occurrence = 1 }),
		"a recall's token with another head": recalled(func(q *Recall) { q.Head = other }),
		"a recall's token with its alias":    recalled(func(q *Recall) { q.Head = byAlias("paged") }),
		"a recall's token elsewhere":         recalled(func(q *Recall) { q.Namespace = "other" }),
		"a listing's token with another":     looped(func(q *ListLoops) { q.Head = other }),
		"a listing's token with its alias":   looped(func(q *ListLoops) { q.Head = byAlias("paged") }),
		"a listing's token elsewhere":        looped(func(q *ListLoops) { q.Namespace = "other" }),
	} {
		cases = append(cases, bad{name, call, invalid, forged, "page_token"})
	}
	for name, call := range map[string]func(*rig) error{
		"a search's token with another size": searched(func(q *SearchRequest) { q.PageSize = 7 }),
		"a recall's token with another size": recalled(func(q *Recall) { q.PageBytes = 7 }),
		"a listing's token with previews":    looped(func(q *ListLoops) { q.PreviewChars, q.PageSize = 7, 7 }),
	} {
		cases = append(cases, bad{name, call, codes.OK, "", ""})
	}
	return cases
}
