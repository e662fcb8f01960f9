package server_test

import (
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestEraseBesideAForgottenNameThatIsHeld: an erasure that a hold on the labels of a forgotten name refuses is refused before it erases a node.
func TestEraseBesideAForgottenNameThatIsHeld(t *testing.T) {
	bothEngines(t, func(r *rig) {
		kept := r.chain("me/kept", user("a chat"))
		r.chain("me/case/gone", user("another chat"))
		must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "me/case/gone", ForgetHistory: true}))
		must[*transcriptv1.SetNamespaceResponse](r)(r.admin.SetNamespace(r.ctx(), &transcriptv1.SetNamespaceRequest{
			Settings: &transcriptv1.NamespaceSettings{Retention: []*transcriptv1.RetentionRule{held("me/case/")}},
		}))
		_, err := r.erasingCall(&Erase{Selector: prefixOf("me/"), SharedRoots: transcriptv1.SharedRoots_SHARED_ROOTS_ERASE})
		if shows := r.shows(byID(kept[0]), "a chat"); err != nil && !shows {
			r.Fatalf("the nodes are erased, and the answer is %v", err)
		} else if err != nil {
			r.heldBy(err, "alias_prefix", "alias_prefix", "me/case/") // nobody reads a name that is forgotten
		}
	})
}
