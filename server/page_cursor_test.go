package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// FuzzPageCursors: a cursor of whatever bytes, in a token that is otherwise right, is refused or gives a page. FuzzSearchCursor
// does the same for Search.
func FuzzPageCursors(f *testing.F) {
	ctx := context.Background()
	store := memstore.New(memstore.Options{})
	t := &transcripts{store: store, tokens: wire.NewTokens(store, time.Now)}
	callID, name := "1", "a/b"
	put := func(parent string, aliases ...*transcriptv1.AliasUpdate) (id chainstore.ID) {
		req := &transcriptv1.PutNodeRequest{Aliases: aliases, Messages: []*transcriptv1.Message{
			{Role: transcriptv1.Role_ROLE_ASSISTANT, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_ToolCall{ToolCall: &transcriptv1.ToolCall{Id: &callID}}}}},
			{Role: transcriptv1.Role_ROLE_TOOL, ToolCallId: &callID, Parts: []*transcriptv1.Part{{Kind: &transcriptv1.Part_Text{Text: "h\u00e9"}}}},
		}}
		if parent != "" {
			req.Parent = &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_NodeId{NodeId: parent}}
		}
		reply, err := t.PutNode(ctx, req)
		if err == nil {
			id, err = wire.ParseID("", reply.NodeId)
		}
		if err != nil {
			f.Fatal(err)
		}
		return id
	}
	head := put("", &transcriptv1.AliasUpdate{Name: name})
	child := put(head.String())
	ref := &transcriptv1.NodeRef{Ref: &transcriptv1.NodeRef_Alias{Alias: name}}
	byAlias, byID := name+"\x00"+chainstore.ID{}.String(), fmt.Sprintf("%q %s true %q %q 0", name, chainstore.ID{}, callID, "")
	ask := func(cursor []byte) []error {
		token := func(rpc, scope string) string {
			token, err := t.tokens.Token(ctx, wire.Page{RPC: rpc, Namespace: wire.DefaultNamespace, Scope: scope}, cursor)
			if err != nil {
				f.Fatal(err)
			}
			return token
		}
		_, children := t.ListChildren(ctx, &transcriptv1.ListChildrenRequest{Node: ref, PageToken: token("ListChildren", byAlias)})
		_, loops := t.ListRunLoops(ctx, &transcriptv1.ListRunLoopsRequest{Head: ref, PageToken: token("ListRunLoops", byAlias)})
		_, aliases := t.ListAliases(ctx, &transcriptv1.ListAliasesRequest{PageToken: token("ListAliases", "p")})
		_, folder := t.ListAliases(ctx, &transcriptv1.ListAliasesRequest{
			Scope: &transcriptv1.ListAliasesRequest_Folder{Folder: "a"}, PageToken: token("ListAliases", "fa"),
		})
		_, history := t.ListAliasHistory(ctx, &transcriptv1.ListAliasHistoryRequest{Name: name, PageToken: token("ListAliasHistory", name)})
		_, recall := t.RecallToolCall(ctx, &transcriptv1.RecallToolCallRequest{Head: ref, ToolCallId: &callID, PageToken: token("RecallToolCall", byID)})
		return []error{children, loops, aliases, folder, history, recall}
	}
	right := make([]bool, 6)
	byName := append(binary.AppendVarint(nil, 1_800_000_000_000), name...)
	for _, cursor := range [][]byte{append(head[:], child[:]...), append(head[:], 0, 0), append(head[:], 0, 1), byName, {1}, {0xff}} {
		f.Add(cursor)
		for i, err := range ask(cursor) {
			right[i] = right[i] || err == nil
		}
	}
	if slices.Contains(right, false) {
		f.Fatalf("of the right cursors these are taken: %v", right)
	}
	f.Fuzz(func(tt *testing.T, cursor []byte) {
		for _, err := range ask(cursor) {
			if err != nil && !errors.Is(err, wire.ErrPageToken) {
				tt.Error(err)
			}
		}
	})
}
