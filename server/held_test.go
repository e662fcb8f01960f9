package server_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// heldBy asserts that a hold refuses a call, and what it tells of that: the alias, and the prefix of the rule.
func (r *rig) heldBy(err error, field string, facts ...string) {
	r.Helper()
	f := r.fails(err, codes.FailedPrecondition, "LEGAL_HOLD", field)
	want := map[string]string{}
	for i := 0; i < len(facts); i += 2 {
		want[facts[i]] = facts[i+1]
	}
	if !maps.Equal(f.facts, want) {
		r.Errorf("%s: it tells %v, want %v", field, f.facts, want)
	}
}

// erasesNodes erases nodes by their ids, shared roots among them.
func (r *rig) erasesNodes(namespace string, ids ...string) error {
	r.Helper()
	return r.erasesNow(&transcriptv1.EraseRequest{
		Namespace: namespace, SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE,
		Selector: &transcriptv1.EraseRequest_Nodes{Nodes: &transcriptv1.NodeSelector{Ids: ids}},
	})
}

// TestHoldIsNamed: whatever a hold refuses, the error names the alias that is held and the prefix of the rule that holds, of several the shortest. Neither
// is in its text, nor in the log.
func TestHoldIsNamed(t *testing.T) {
	bothEngines(t, func(r *rig) {
		trunk := r.chain("trunk", user("one"), assistant("two"), user("three"), assistant("four"))
		r.point("case/47/head", trunk[1])
		past := r.chain("case/past", user("past"))
		r.point("case/past", trunk[0])
		gone := r.chain("box/gone", user("gone"))
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "box/gone"}))
		if err := r.putArchived("there", r.archivedNodes("default")...); err != nil {
			r.Fatal(err)
		}
		r.retain(expires("", time.Hour), held("box/gone"), expires("case", time.Hour), held("case/"), held("case/47/"))

		forgets := func(name string) error {
			_, err := r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: name, ForgetHistory: true})
			return err
		}
		r.heldBy(forgets("case/47/head"), "name", "alias", "case/47/head", "alias_prefix", "case/")
		r.heldBy(forgets("box/gone"), "name", "alias", "box/gone", "alias_prefix", "box/gone")
		_, err := r.DeleteAliases(r.ctx(), &transcriptv1.DeleteAliasesRequest{Scope: &transcriptv1.DeleteAliasesRequest_Prefix{Prefix: "case/4"}, ForgetHistory: true})
		r.heldBy(err, "prefix", "alias", "case/47/head", "alias_prefix", "case/")
		_, err = r.DeleteAliases(r.ctx(), &transcriptv1.DeleteAliasesRequest{Scope: &transcriptv1.DeleteAliasesRequest_All{All: true}, ForgetHistory: true, DryRun: true})
		r.heldBy(err, "all", "alias", "case/47/head", "alias_prefix", "case/")

		r.heldBy(r.erasesNodes("", trunk[3], trunk[1]), "nodes", "alias_prefix", "case/")
		r.heldBy(r.erasesNodes("", past[0]), "nodes", "alias_prefix", "case/")
		r.heldBy(r.erasesNodes("", gone[0]), "nodes", "alias_prefix", "box/gone")
		erase := &transcriptv1.EraseRequest{Selector: &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: "case/4"}, SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE}
		r.heldBy(r.erasesNow(erase), "alias_prefix", "alias", "case/47/head", "alias_prefix", "case/")

		if err := r.erasesNodes("there", trunk[1]); err != nil {
			r.Fatal(err)
		}
		archived := r.archivedNodes("there")
		at := 0
		for archived[at].Erasure == nil {
			at++
		}
		r.heldBy(r.putArchived("default", archived...), fmt.Sprintf("nodes[%d].erasure", at), "alias_prefix", "case/")

		id := storeID(r.T, trunk[3])
		_, err = r.admin.Restore(r.ctx(), &transcriptv1.RestoreRequest{Aliases: []*transcriptv1.ArchiveAlias{{
			Name: "case/past", Revision: 1 << 40, States: []*transcriptv1.ArchiveAliasState{{Revision: 1 << 40, Node: id[:], BeganAt: timestamppb.New(time.Unix(4e9, 0))}},
		}}})
		r.heldBy(err, "aliases[0].states", "alias", "case/past", "alias_prefix", "case/")

		deletes := func() error {
			_, err := r.admin.DeleteNamespace(r.ctx(), &transcriptv1.DeleteNamespaceRequest{Confirm: "default"})
			if text := failureOf(err).all; strings.Contains(strings.Split(text, "\n")[0], "case/") {
				r.Errorf("the text of the error names what it must not: %s", text)
			}
			return err
		}
		r.heldBy(deletes(), "namespace", "alias_prefix", "box/gone")
		if logs := r.logs.String(); !strings.Contains(logs, "legal hold") || strings.Contains(logs, "case/") || strings.Contains(logs, "box/") {
			r.Errorf("the log names what is held, or has no such call:\n%s", logs)
		}

		r.retain(held(""), held("case/"))
		r.heldBy(deletes(), "namespace", "alias_prefix", "")
		r.heldBy(forgets("trunk"), "name", "alias", "trunk", "alias_prefix", "")
		r.heldBy(r.erasesNow(erase), "alias_prefix", "alias", "case/47/head", "alias_prefix", "")
	})
}
