package server_test

import (
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// badSearches are searches that are refused.
func badSearches() []bad {
	spoilt := func(spoil func(*SearchRequest)) func(*rig) error {
		return asked((*rig).Search, with(inChain(byAlias("chat"), "needle"), spoil))
	}
	head := func(ref *NodeRef) func(*rig) error {
		return spoilt(func(q *SearchRequest) { q.Scope = &transcriptv1.SearchRequest_Head{Head: ref} })
	}
	text := func(s string) func(*rig) error {
		return spoilt(func(q *SearchRequest) { q.Pattern = &transcriptv1.SearchRequest_Text{Text: s} })
	}
	pattern := func(expr string) func(*rig) error { return spoilt(func(q *SearchRequest) { byRegexp(q, expr) }) }
	roles := func(roles ...transcriptv1.Role) func(*rig) error {
		return spoilt(func(q *SearchRequest) { q.Roles = roles })
	}
	times := func(since, until *timestamppb.Timestamp) func(*rig) error {
		return spoilt(func(q *SearchRequest) { q.Since, q.Until = since, until })
	}
	cases := []bad{
		{"search nowhere", spoilt(func(q *SearchRequest) { q.Scope = nil }), invalid, badField, "head alias_prefix"},
		{"search no head", head(&NodeRef{}), invalid, badField, "head"},
		{"search what is no id", head(byID("xyz")), invalid, badField, "head.node_id"},
		{"search what is not there", head(byID(absent)), notFound, noNode, "head"},
		{"search an alias that is not there", head(byAlias("nobody")), notFound, noAlias, "head"},
		{"search in another namespace", spoilt(func(q *SearchRequest) { q.Namespace = "other" }), notFound, noAlias, "head"},
		{"search a long prefix", asked((*rig).Search, underPrefix(strings.Repeat("x", 513), "needle")), invalid, overLimit, "alias_prefix"},
		{"search for nothing", spoilt(func(q *SearchRequest) { q.Pattern = nil }), invalid, badField, "text regexp"},
		{"search for an empty text", text(""), invalid, badField, "text"},
		{"search for a long text", text(strings.Repeat("x", 1025)), invalid, overLimit, "text"},
		{"search for an empty pattern", pattern(""), invalid, badField, "regexp"},
		{"search for a long pattern", pattern(strings.Repeat("x", 1025)), invalid, overLimit, "regexp"},
		{"search in role 0", roles(3, 0), invalid, badField, "roles[1]"},
		{"search in role 9", roles(9), invalid, badField, "roles[0]"},
		{"search in role -1", roles(-1), invalid, badField, "roles[0]"},
		{"search for 65 tools", spoilt(func(q *SearchRequest) { q.ToolNames = make([]string, 65) }), invalid, overLimit, "tool_names"},
		{"search for a tool of a long name", spoilt(func(q *SearchRequest) { q.ToolNames = []string{strings.Repeat("x", 1025)} }), invalid, overLimit, "tool_names[0]"},
		{"search before 1970", times(&timestamppb.Timestamp{Seconds: -1}, nil), invalid, badField, "since"},
		{"search after 9999", times(nil, &timestamppb.Timestamp{Seconds: 1 << 50}), invalid, badField, "until"},
		{"search at no time", times(atMinute(1), atMinute(1)), invalid, badField, "until"},
		{"search backwards", times(atMinute(2), atMinute(1)), invalid, badField, "until"},
		{"negative pages of hits", spoilt(func(q *SearchRequest) { q.PageSize = -1 }), invalid, badField, "page_size"},
		{"negative excerpts", spoilt(func(q *SearchRequest) { q.ExcerptChars = -1 }), invalid, badField, "excerpt_chars"},
		{"long excerpts", spoilt(func(q *SearchRequest) { q.ExcerptChars = 2001 }), invalid, overLimit, "excerpt_chars"},
	}
	for name, expr := range map[string]string{
		"an open group": "(x", "a look-ahead": "(?=x)", "a back-reference": `(x)\1`, "1,001 repeats": "x{1001}", "repeats of repeats": "(x{100}){100}",
		"repeats the wrong way round": "x{3,2}", "a class without end": "[x", "a class the wrong way round": "[z-a]", "a script that is none": `\p{None}`,
		"a large program": strings.Repeat("[ab]{0,900}", 4), "many large groups": strings.Repeat("(a?){999}", 100),
		"deep nesting": strings.Repeat("(", 505) + "x" + strings.Repeat("*)", 255),
	} {
		cases = append(cases, bad{"search for " + name, pattern(expr), invalid, "INVALID_PATTERN", "regexp"})
	}
	return cases
}
