package client

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestErasuresOfItsOwnEmptyTheCache: of what a client erases it keeps nothing; a dry run takes nothing from it.
func TestErasuresOfItsOwnEmptyTheCache(t *testing.T) {
	conn := &fakeConn{
		frames: func(context.Context, any) ([]proto.Message, error) {
			return []proto.Message{&transcriptv1.EraseResponse{Done: true}}, nil
		},
		invoke: func(context.Context, string, any) (proto.Message, error) {
			return &transcriptv1.DeleteNamespaceResponse{}, nil
		},
	}
	c := New(conn)
	erase := func(dryRun bool) {
		for _, err := range c.Erase(t.Context(), Erasure{Nodes: []string{}, DryRun: dryRun}) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	for what, drops := range map[string]func(){
		"an erasure":                  func() { erase(false) },
		"a deletion of the namespace": func() { _, _ = c.DeleteNamespace(t.Context(), "default") },
	} {
		c.cache.put(&view{head: "a", payload: text(10)})
		if erase(true); c.cache.get("a") == nil {
			t.Error("a dry run empties the cache")
		}
		if drops(); c.cache.get("a") != nil || c.cache.used != 0 {
			t.Errorf("%s leaves the cache what it has", what)
		}
	}
}

// TestTheCacheHasOneErasures: a view with other erasures than those before, fewer or more, stands alone in the cache.
func TestTheCacheHasOneErasures(t *testing.T) {
	c := newCache(1 << 20)
	for _, erasures := range []int64{2, 3, 1, 0} {
		if !c.put(&view{head: "a", payload: text(10), erasures: erasures}) || c.get("a").erasures != erasures {
			t.Errorf("a view of %d erasures is not kept", erasures)
		}
		c.put(&view{head: "b", base: c.get("a"), payload: text(10), erasures: erasures})
	}
	if len(c.views) != 2 {
		t.Errorf("%d views are kept", len(c.views))
	}
}
