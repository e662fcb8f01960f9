package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// badTokens are page tokens of all paged calls: garbage, those of other calls, and those that somebody made up who knows how.
func badTokens(w *planted) []bad {
	var cases []bad
	for _, garbage := range []string{
		"x", "AQ", "AQAAAAAAAAAA", "AQAAAAAAAAAAAA", strings.Repeat("A", 5000), "%%%", "AQAAAAAAAAAAAA==", "AQ AAAAAAAAAAAA", "\x00",
	} {
		for name, page := range pages(w) {
			cases = append(cases, bad{name + " of garbage", page(func(string) string { return garbage }), invalid, forged, "page_token"})
		}
	}
	return slices.Concat(cases, tokensOfOthers(w), tokensOfLists(w), tokensOfLoops(w), tokensOfRecalls(w), tokensOfSearches(w))
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

// forge makes a token with a right checksum: a head's digits, or none, and what comes behind.
func forge(rpc, scope, head string, tail ...byte) string {
	cursor, _ := hex.DecodeString(head)
	cursor = append(cursor, tail...)
	h := sha256.New()
	h.Write([]byte("transcript.page.v1\x00"))
	for _, part := range []string{rpc, "default", scope, string(cursor)} {
		h.Write(append(binary.AppendUvarint(nil, uint64(len(part))), part...))
	}
	return base64.RawURLEncoding.EncodeToString(append(append([]byte{1}, h.Sum(nil)[:8]...), cursor...))
}

// farOff and noNumber are numbers that are too large for a place, and for 64 bits.
var (
	farOff   = binary.AppendUvarint(nil, 1<<63)
	noNumber = bytes.Repeat([]byte{0xff}, 11)
)

// made is a forged token's case; right ones show that the others are made as they should be.
func made(name string, call func(*rig) error, right bool) bad {
	if right {
		return bad{"forged: " + name, call, codes.OK, "", ""}
	}
	return bad{"forged: " + name, call, invalid, forged, "page_token"}
}

// tokensOfLists are forged tokens of ListChildren, ListAliases and ListAliasHistory.
func tokensOfLists(w *planted) (cases []bad) {
	children := func(name string, right bool, node string, tail ...byte) {
		token := forge("ListChildren", "\x00"+w.chat[2], node, tail...)
		cases = append(cases, made("children, "+name, asked((*rig).ListChildren, &transcriptv1.ListChildrenRequest{
			Node: byID(w.chat[2]), PageToken: token,
		}), right))
	}
	id := func(digits string) []byte {
		b, _ := hex.DecodeString(digits)
		return b
	}
	children("the first child", true, w.chat[2], id(w.chat[3])...)
	children("no child", false, w.chat[2], id(w.chat[1])...)
	children("a child that is not there", false, w.chat[2], id(absent)...)
	children("of another node", false, w.chat[3], id(w.chat[4])...)
	children("of a node that is not there", false, absent, id(w.chat[3])...)
	children("no second id", false, w.chat[2])
	children("a longer one", false, w.chat[2], append(id(w.chat[3]), 0)...)

	aliases := func(name string, right, folder bool, at []byte, alias string) {
		req, scope := &transcriptv1.ListAliasesRequest{Scope: &transcriptv1.ListAliasesRequest_Prefix{Prefix: "c"}}, "pc"
		if folder {
			req.Scope, scope = &transcriptv1.ListAliasesRequest_Folder{Folder: ""}, "f"
		}
		req.PageToken = forge("ListAliases", scope, "", append(at, alias...)...)
		cases = append(cases, made("aliases, "+name, asked((*rig).ListAliases, req), right))
	}
	now := binary.AppendVarint(nil, 1_800_000_000_000)
	aliases("by name", true, false, now, "chat")
	aliases("by folder", true, true, now, "chat")
	aliases("none", false, false, now, "")
	aliases("none in the folder", false, true, now, "")
	aliases("not of the prefix", false, false, now, "large")
	aliases("not of the folder", false, true, now, "folder/chat")
	aliases("a long one", false, false, now, strings.Repeat("c", 513))
	aliases("of no UTF-8", false, false, now, "c\xff")
	aliases("with a line break", false, false, now, "c\n")
	aliases("before 1970", false, false, binary.AppendVarint(nil, -1), "chat")
	aliases("at no time", false, false, noNumber, "chat")

	history := func(name string, right bool, cursor ...byte) {
		cases = append(cases, made("history, "+name, asked((*rig).ListAliasHistory, &transcriptv1.ListAliasHistoryRequest{
			Name: "compacted", PageToken: forge("ListAliasHistory", "compacted", "", cursor...),
		}), right))
	}
	history("the second state", true, 2)
	history("state 0", false, 0)
	history("a state to come", false, 3)
	history("a state far off", false, farOff...)
	history("no state", false, noNumber...)
	history("two states", false, 2, 1)
	return cases
}

// tokensOfLoops are forged tokens of ListRunLoops.
func tokensOfLoops(w *planted) (cases []bad) {
	const loop = 6 // the second begins in this node
	head := w.chat[9]
	add := func(name string, right bool, at string, tail ...byte) {
		cases = append(cases, made("loops, "+name, asked((*rig).ListRunLoops, &ListLoops{
			Head: byID(head), PageToken: forge("ListRunLoops", "\x00"+head, at, tail...),
		}), right))
	}
	add("the last loop", true, head, loop, 0)
	add("the first loop", true, head, 2, 0)
	for name, tail := range map[string][]byte{
		"no place": {}, "half a place": {loop}, "more behind": {loop, 0, 0}, "a system message": {0, 0}, "a reply": {loop + 3, 0},
		"behind a node": {loop, 1}, "behind the head": {10, 0}, "far behind": append(slices.Clone(farOff), 0),
		"far behind a node": append([]byte{loop}, farOff...), "no number": noNumber, "no index": append([]byte{loop}, noNumber...),
	} {
		add(name, false, head, tail...)
	}
	for name, at := range map[string]string{"no head": "", "an absent head": absent, "a branch": w.elsewhere, "an ancestor": w.chat[8], "a descendant": w.chat[10]} {
		add(name, false, at, 2, 0)
	}
	return cases
}

// tokensOfRecalls are forged tokens of RecallToolCall, for the result of w.results: text of which the second code point
// begins with the second byte and ends with the fourth, and JSON.
func tokensOfRecalls(w *planted) (cases []bad) {
	add := func(name string, right bool, call, head string, tail ...byte) {
		token := forge("RecallToolCall", fmt.Sprintf("%q %s true %q %q 0", "", w.results, call, ""), head, tail...)
		cases = append(cases, made("recall, "+name, asked((*rig).RecallToolCall, &Recall{Head: byID(w.results), ToolCallId: &call, PageToken: token}), right))
	}
	add("the second code point", true, "1", w.results, 0, 1)
	add("the second part", true, "1", w.results, 1, 0)
	for name, tail := range map[string][]byte{
		"no offset": {0}, "more behind": {0, 1, 1}, "within a code point": {0, 2}, "behind the text": {0, 0xff, 0x7f}, "behind the parts": {2, 0},
		"within JSON": {1, 1}, "a part far behind": append(slices.Clone(farOff), 0), "an offset far behind": append([]byte{0}, farOff...),
		"no part": noNumber, "no number": append([]byte{0}, noNumber...),
	} {
		add(name, false, "1", w.results, tail...)
	}
	add("no result", false, "2", w.results, 0, 0)
	for name, head := range map[string]string{"no head": "", "an absent head": absent, "another chain": w.paged} {
		add(name, false, "1", head, 0, 1)
	}
	return cases
}

// tokensOfSearches are forged tokens of Search, of a chain by its head and by an alias, and under a prefix.
func tokensOfSearches(w *planted) (cases []bad) {
	add := func(name string, right bool, req *SearchRequest, head string, tail ...byte) {
		scope, _ := proto.MarshalOptions{Deterministic: true}.Marshal(req)
		req = with(req, func(q *SearchRequest) { q.PageToken = forge("Search", string(scope), head, tail...) })
		cases = append(cases, made("search, "+name, asked((*rig).Search, req), right))
	}
	byHead, byName := inChain(byID(w.chat[9]), "bulk"), inChain(byAlias("chat"), "bulk")
	last := w.chat[len(w.chat)-1]
	add("a place", true, byHead, w.chat[9], 8, 0)
	add("a place by alias", true, byName, last, 8, 0)
	for name, tail := range map[string][]byte{
		"no place": {}, "half a place": {1}, "more behind": {1, 0, 0}, "behind the head": {12, 0}, "far behind": append(slices.Clone(farOff), 0),
		"far behind a node": append([]byte{1}, farOff...), "no number": noNumber, "no index": append([]byte{1}, noNumber...),
	} {
		add(name, false, byHead, w.chat[9], tail...)
		add(name+" by alias", false, byName, last, tail...)
	}
	for name, head := range map[string]string{"an absent head": absent, "a branch": w.elsewhere, "another chain": w.paged} {
		add(name, false, byHead, head, 0, 0)
		add(name+" by alias", false, byName, head, 0, 0)
	}
	add("an ancestor", false, byHead, w.chat[8], 0, 0)

	cursor := func(alias string, place []byte, runs ...byte) (cursor []byte) {
		for _, part := range []string{alias, string(place)} {
			cursor = append(binary.AppendUvarint(cursor, uint64(len(part))), part...)
		}
		return append(cursor, runs...)
	}
	under := func(name string, right bool, cursor []byte) {
		add("under a prefix, "+name, right, underPrefix("c", "bulk"), "", cursor...)
	}
	place := func(head string, tail ...byte) []byte {
		id, _ := hex.DecodeString(head)
		return append(id, tail...)
	}
	under("behind an alias", true, cursor("chat", nil))
	under("behind none that is there", true, cursor("common", nil))
	under("a place", true, cursor("chat", place(last, 8, 0)))
	under("an absent head", true, cursor("chat", place(absent, 8, 0))) // as where it was collected
	under("a branch", false, cursor("chat", place(w.elsewhere, 0, 0)))
	under("another chain", false, cursor("chat", place(w.paged, 0, 0)))
	under("an alias that was never there", false, cursor("common", place(last, 0, 0)))
	under("behind the head", false, cursor("chat", place(last, 12, 0)))
	under("half a place", false, cursor("chat", place(last, 1)))
	under("more than a place", false, cursor("chat", place(last, 8, 0, 0)))
	for name, alias := range map[string]string{
		"no alias": "", "not of the prefix": "paged", "of no UTF-8": "c\xff", "a line break": "c\n", "too long": strings.Repeat("c", 513),
	} {
		under(name, false, cursor(alias, nil))
	}
	under("runs", true, cursor("chat", nil, 1, 0, 99, 7))
	under("the last of all runs", true, cursor("chat", nil, append(binary.AppendUvarint(nil, math.MaxUint64), 0)...))
	under("half a run", false, cursor("chat", nil, 1, 0, 2))
	under("a run that is no number", false, cursor("chat", nil, noNumber...))
	under("a run through no number", false, cursor("chat", nil, append([]byte{1}, noNumber...)...))
	under("a run too long", false, cursor("chat", nil, binary.AppendUvarint([]byte{1}, math.MaxUint32)...))
	under("a name cut short", false, []byte{9, 'c', 'h', 'a', 't'})
	under("no place behind the name", false, []byte{4, 'c', 'h', 'a', 't'})
	return cases
}
