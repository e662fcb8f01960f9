package server_test

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// badCompactions are compactions that are refused.
func badCompactions(w *planted) []bad {
	call := func(req *Compact) func(*rig) error { return asked((*rig).Compact, req) }
	head, last := byID(w.chat[9]), byID(w.chat[len(w.chat)-1])
	through := func(id string) func(*rig) error { return call(&Compact{Head: last, ThroughId: id}) }
	set := func(updates ...*Update) func(*rig) error { return call(&Compact{Head: head, Aliases: updates}) }
	on := func(p *transcriptv1.AliasPrecondition, name string) func(*rig) error {
		return set(&Update{Name: "new"}, &Update{Name: name, Precondition: p})
	}
	var many []*Update
	for i := range 1001 {
		many = append(many, &Update{Name: fmt.Sprint(i)})
	}
	mustExist := &transcriptv1.AliasPrecondition{Condition: &transcriptv1.AliasPrecondition_MustExist{MustExist: true}}
	cases := []bad{
		{"compact nothing", call(&Compact{}), invalid, badField, "head"},
		{"compact an empty head", call(&Compact{Head: &NodeRef{}}), invalid, badField, "head"},
		{"compact a prefix", call(&Compact{Head: byID("abcdef")}), invalid, badField, "head.node_id"},
		{"compact a nameless alias", call(&Compact{Head: byAlias("")}), invalid, badField, "head.alias"},
		{"compact what is not there", call(&Compact{Head: byID(absent)}), notFound, noNode, "head"},
		{"compact an alias that is not there", call(&Compact{Head: byAlias("nobody")}), notFound, noAlias, "head"},
		{"compact in another namespace", call(&Compact{Head: head, Namespace: "other"}), notFound, noNode, "head"},
		{"compact through no id", through("x"), invalid, badField, "through_id"},
		{"compact through capitals", through(strings.ToUpper(w.chat[5])), invalid, badField, "through_id"},
		{"compact through what is not there", through(absent), notFound, noNode, "through_id"},
		{"compact through a branch", through(w.elsewhere), unfit, "NOT_AN_ANCESTOR", ""},
		{"compact through the preamble", through(w.chat[0]), unfit, "ALREADY_COVERED", ""},
		{"compact a preamble", call(&Compact{Head: byID(w.preamble), ThroughId: w.preamble}), codes.OK, "", ""},
		{"compact through what is covered", call(&Compact{Head: byAlias("compacted"), ThroughId: w.chat[4]}), unfit, "ALREADY_COVERED", ""},
		{"compact through an open call", through(w.chat[3]), unfit, "OPEN_TOOL_CALLS", ""},
		{"compact through the last call", through(w.chat[len(w.chat)-1]), unfit, "OPEN_TOOL_CALLS", ""},
		{"compact open calls alone", call(&Compact{Head: byID(w.open)}), unfit, "OPEN_TOOL_CALLS", ""},
		{"a blank summary", call(&Compact{Head: head, Summary: " \n\u2003"}), invalid, badField, "summary"},
		{"a long summary", call(&Compact{Head: head, Summary: strings.Repeat("x", 1<<20+1)}), invalid, overLimit, "summary"},
		{"a summary of nobody knows what", call(&Compact{Head: head, Summary: "s"}), invalid, badField, "through_id"},
		{"a summary alone of nobody knows what", call(&Compact{Head: head, Summary: "s", SummaryOnly: true}), invalid, badField, "through_id"},
		{"no loops of nobody knows what", call(&Compact{Head: byAlias("chat"), SummaryOnly: true}), invalid, badField, "through_id"},
		{"a dry run of a summary", call(&Compact{Head: byAlias("chat"), Summary: "s", SummaryOnly: true, DryRun: true}), codes.OK, "", ""},
		{"compact with a salt of 15", call(&Compact{Head: head, Salt: make([]byte, 15)}), invalid, badField, "salt"},
		{"compact with a salt of 33", call(&Compact{Head: head, Salt: make([]byte, 33)}), invalid, badField, "salt"},
		{"compact to a nameless alias", set(&Update{}), invalid, badField, "aliases[0].name"},
		{"compact to a long alias", set(&Update{Name: strings.Repeat("x", 513)}), invalid, overLimit, "aliases[0].name"},
		{"compact to an alias twice", set(&Update{Name: "a"}, &Update{Name: "a"}), invalid, "DUPLICATE_ALIAS", "aliases[1].name"},
		{"compact to the head's alias", call(&Compact{Head: byAlias("chat"), Aliases: []*Update{{Name: "chat"}}}), invalid, "DUPLICATE_ALIAS", "aliases[0].name"},
		{"compact to 1,001 aliases", set(many...), invalid, overLimit, "aliases"},
		{"compact to a head that is no id", on(headIs("x"), "chat"), invalid, badField, "aliases[1].precondition.head_id"},
		{"compact to an alias that is there", on(mustNotExist(), "chat"), codes.AlreadyExists, "ALIAS_EXISTS", ""},
		{"compact to an alias that is not", on(mustExist, "nobody"), notFound, noAlias, ""},
		{"compact to an alias elsewhere", on(headIs(w.chat[0]), "chat"), codes.Aborted, "ALIAS_MOVED", ""},
		{"a compaction over a node's limit", call(&Compact{Head: byAlias("large"), Policy: &Policy{MaxUserChars: proto.Int32(0)}}), invalid, "COMPACTION_TOO_LARGE", ""},
	}
	for _, c := range badPolicies() {
		cases = append(cases, bad{"compact with " + c.name, call(&Compact{Head: head, Policy: c.policy}), invalid, badField, c.field})
	}
	for _, p := range goodPolicies() {
		cases = append(cases, bad{"compact with a policy in range", call(&Compact{Head: head, Policy: p, DryRun: true}), codes.OK, "", ""})
	}
	return cases
}
