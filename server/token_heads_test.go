package server_test

import (
	"fmt"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// pagers are the paged calls that take an alias, each as the call for a page of one entry: it returns the next token. All
// have a second page where nextPages are put.
var pagers = map[string]func(r *rig, alias, token string) (string, error){
	"ListChildren": func(r *rig, alias, token string) (string, error) {
		reply, err := r.ListChildren(r.ctx(), &transcriptv1.ListChildrenRequest{Node: byAlias(alias), PageSize: 1, PageToken: token})
		return reply.GetNextPageToken(), err
	},
	"ListRunLoops": func(r *rig, alias, token string) (string, error) {
		reply, err := r.ListRunLoops(r.ctx(), &ListLoops{Head: byAlias(alias), PageSize: 1, PageToken: token})
		return reply.GetNextPageToken(), err
	},
	"RecallToolCall": func(r *rig, alias, token string) (string, error) {
		reply, err := r.RecallToolCall(r.ctx(), &Recall{Head: byAlias(alias), ToolCallId: ptr("c"), PageBytes: 10, PageToken: token})
		return reply.GetNextPageToken(), err
	},
	"Search of a chain": func(r *rig, alias, token string) (string, error) {
		req := inChain(byAlias(alias), "needle")
		req.PageSize, req.PageToken = 1, token
		reply, err := r.Search(r.ctx(), req)
		return reply.GetNextPageToken(), err
	},
	"Search under a prefix": func(r *rig, alias, token string) (string, error) {
		req := underPrefix(alias, "needle")
		req.PageSize, req.PageToken = 1, token
		reply, err := r.Search(r.ctx(), req)
		return reply.GetNextPageToken(), err
	},
}

// paged puts a chain of which every pager has more than a page, and sets an alias to it.
func (r *rig) paged(alias, salt string) (head string) {
	r.Helper()
	ids := r.chain(alias, user("needle "+salt), calling("f", "c"), result("c", "a needle in a long result"), user("another needle"))
	head = ids[len(ids)-1]
	for _, s := range []string{"one child", "another"} {
		r.put(head, user(s))
	}
	return head
}

// firstTokens are the tokens of each pager's second page.
func (r *rig) firstTokens(alias string) map[string]string {
	r.Helper()
	tokens := map[string]string{}
	for name, page := range pagers {
		if tokens[name] = must[string](r)(page(r, alias, "")); tokens[name] == "" {
			r.Fatalf("%s has one page only", name)
		}
	}
	return tokens
}

// TestTokensOutliveMoves: whatever becomes of an alias, further pages are of the chain that it had on the first.
func TestTokensOutliveMoves(t *testing.T) {
	r := newRig(t)
	r.paged("chat", "")
	elsewhere := r.chain("elsewhere", user("root"))[0]
	tokens := r.firstTokens("chat")
	right := func(what string) {
		t.Helper()
		for name, page := range pagers {
			if _, err := page(r, "chat", tokens[name]); err != nil {
				t.Errorf("%s, %s: %v", what, name, err)
			}
		}
	}
	right("where nothing happened")
	r.put2("chat", assistant("more"))
	right("after an append")
	r.point("chat", elsewhere)
	right("moved off the chain")
	must[*transcriptv1.DeleteAliasResponse](r)(r.DeleteAlias(r.ctx(), &transcriptv1.DeleteAliasRequest{Name: "chat"}))
	right("deleted")
	r.point("chat", elsewhere)
	for i := range 110 {
		r.put2("chat", user(fmt.Sprint(i)))
	}
	right("after more moves than a history has states")
}

// TestTokensOfServers: a token is good at every server over its store, also after a restart of the store, and at none over another
// store, though that has the same chains.
func TestTokensOfServers(t *testing.T) {
	dir := t.TempDir()
	open := func() (*badgerstore.Store, *rig) {
		store, err := badgerstore.Open(dir, badgerstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return store, newRig(t, store)
	}
	store, r := open()
	r.paged("chat", "")
	tokens := r.firstTokens("chat")
	takes := func(what string, r *rig, reason string) {
		t.Helper()
		for name, page := range pagers {
			if _, err := page(r, "chat", tokens[name]); failureOf(err).reason != reason {
				t.Errorf("%s: %s: %v, want %q", what, name, err, reason)
			}
		}
	}
	takes("its server", r, "")
	takes("another server over its store", newRig(t, store), "")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store, r = open()
	takes("its store, opened again", r, "")
	other := newRig(t)
	other.paged("chat", "")
	takes("another store", other, forged)
	other.firstTokens("chat")
	takes("another store with tokens of its own", other, forged)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}
