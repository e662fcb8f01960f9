package client_test

import (
	"fmt"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// TestAliasesBehindEmptyPages: a list goes on behind pages that have nothing.
func TestAliasesBehindEmptyPages(t *testing.T) {
	store := memstore.New(memstore.Options{})
	ctx, c := t.Context(), linkTo(testserver.Start(t, store)).client()
	node := begun(t, c).Head()
	head := must(chainstore.ParseID(node))(t)
	for _, target := range []chainstore.Target{{Kind: chainstore.TargetRef, Ref: chainstore.Ref{ID: head}}, {Kind: chainstore.TargetNone}} {
		change := &chainstore.Change{}
		for i := range 2 * chainstore.AliasReach {
			change.Aliases = append(change.Aliases, chainstore.AliasChange{Name: fmt.Sprintf("chat/%06d", i), Target: target})
		}
		must(store.Commit(ctx, "default", change))(t)
	}
	must(c.SetAliases(ctx, client.AliasMove{Name: "chat/z", Target: client.ByID(node)}))(t)
	for name, scope := range map[string]client.AliasScope{"prefix": client.AliasesWithPrefix("chat/"), "folder": client.AliasesIn("chat")} {
		if all := collect(t, c.Aliases(ctx, scope)); len(all) != 1 || all[0].Name != "chat/z" {
			t.Errorf("by %s there are %v", name, all)
		}
	}
}
