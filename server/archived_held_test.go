package server_test

import (
	"math/rand/v2"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestArchivedAgainUnderAHold: nodes that are there as they are archived, erased ones among them, can be put again where all of them are held: nothing is taken.
func TestArchivedAgainUnderAHold(t *testing.T) {
	bothEngines(t, func(r *rig) {
		head := r.randomCompacted(rand.New(rand.NewPCG(1, 2)))
		r.point("chat", head)
		some := false
		for i, n := range r.path("", head) {
			if n.Copies != nil || i%3 == 0 {
				some = some || n.Copies != nil
				r.erase(n.Info.NodeId)
			}
		}
		if !some {
			t.Fatal("no compaction was erased")
		}
		archived := r.archivedNodes("default")
		if err := r.putArchived("there", archived...); err != nil {
			r.Fatal(err)
		}
		_, err := r.Alias(r.ctx(), &transcriptv1.AliasRequest{Namespace: "there", Aliases: []*transcriptv1.AliasMove{{Name: "chat", Target: byID(head)}}})
		if err != nil {
			r.Fatal(err)
		}
		_, err = r.admin.SetNamespace(r.ctx(), &transcriptv1.SetNamespaceRequest{
			Namespace: "there", Settings: &transcriptv1.NamespaceSettings{Retention: []*transcriptv1.RetentionRule{held("chat")}},
		})
		if err != nil {
			r.Fatal(err)
		}
		if err := r.putArchived("there", archived...); err != nil {
			r.Fatalf("putting again what is there as it is: %v", err)
		}
	})
}
