package client_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/client"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// emptyPages gives each list of aliases two pages without any before those that the server gives.
type emptyPages struct{ *link }

func (l emptyPages) Invoke(ctx context.Context, method string, req, reply any, opts ...grpc.CallOption) error {
	asked, ok := req.(*transcriptv1.ListAliasesRequest)
	if !ok {
		return l.link.Invoke(ctx, method, req, reply, opts...)
	}
	next := map[string]string{"": "first", "first": "second"}[asked.PageToken]
	if next != "" {
		proto.Merge(reply.(proto.Message), &transcriptv1.ListAliasesResponse{NextPageToken: next})
		return nil
	}
	if asked = proto.CloneOf(asked); asked.PageToken == "second" {
		asked.PageToken = ""
	}
	return l.link.Invoke(ctx, method, asked, reply, opts...)
}

// TestAliasesBehindEmptyPages: a list goes on behind pages that have nothing.
func TestAliasesBehindEmptyPages(t *testing.T) {
	c := client.New(emptyPages{newLink(t)})
	head := begun(t, c).Head()
	must(c.SetAliases(t.Context(), client.AliasMove{Name: "chat/z", Target: client.ByID(head)}))(t)
	for name, scope := range map[string]client.AliasScope{"prefix": client.AliasesWithPrefix("chat/"), "folder": client.AliasesUnder("chat")} {
		if all := collect(t, c.Aliases(t.Context(), scope)); len(all) != 1 || all[0].Name != "chat/z" {
			t.Errorf("by %s there are %v", name, all)
		}
	}
}
