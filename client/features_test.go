package client

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// first is the error that a sequence ends with.
func first[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// asked are calls that need a feature each.
func asked(ctx context.Context, c *Client) map[string]func() error {
	id := strings.Repeat("0", 64)
	return map[string]func() error{
		"alias_deletes":   func() error { _, err := c.SetAliases(ctx, AliasMove{Name: "a", Delete: true}); return err },
		"alias_order":     func() error { return first(c.Aliases(ctx, AliasesUnder("a").Reversed())) },
		"alias_revisions": func() error { _, err := c.DeleteAlias(ctx, "a", RevisionIs(1)); return err },
		"namespaces, retention": func() error {
			_, err := c.SetNamespace(ctx, &transcriptv1.NamespaceSettings{Retention: []*transcriptv1.RetentionRule{{LegalHold: true}}}, nil)
			return err
		},
		"delete_namespace": func() error { _, err := c.DeleteNamespace(ctx, "default"); return err },
		"collection":       func() error { return first(c.CollectGarbage(ctx, Collection{})) },
		"delete_aliases":   func() error { return first(c.DeleteAliases(ctx, AliasDeletion{Prefix: "a"})) },
		"erase":            func() error { _, err := c.Receipts(ctx, id); return err },
		"get_nodes":        func() error { _, err := c.Nodes(ctx, id); return err },
		"last_messages":    func() error { _, err := c.Assemble(ctx, ByID(id), Query{LastMessages: 1}); return err },
		"namespaces":       func() error { return first(c.Namespaces(ctx)) },
		"note_costs": func() error {
			_, err := c.Put(ctx, Node{Messages: []*transcriptv1.Message{User("hi")}, Notes: []*transcriptv1.MessageNote{{Model: "m"}}})
			return err
		},
		"opaque_parts": func() error {
			_, err := c.Put(ctx, Node{Messages: []*transcriptv1.Message{Opaque("kind", nil)}})
			return err
		},
		"presets": func() error {
			return first(c.Frames(ctx, ByID(id), Query{View: transcriptv1.View_VIEW_CONVERSATION, Policy: Coding()}))
		},
		"verify_cursor": func() error { return first(c.Verify(ctx, Check{WholeStore: true})) },
	}
}

// An older server refuses fields and calls that it does not know; the error names the feature. ServerInfo is asked once.
func TestAMissingFeatureIsNamed(t *testing.T) {
	for _, refused := range []error{refusal(t, codes.InvalidArgument, ErrMalformedRequest), status.Error(codes.Unimplemented, "unknown method")} {
		infos := 0
		conn := &fakeConn{
			invoke: func(_ context.Context, method string, _ any) (proto.Message, error) {
				if method == transcriptv1.TranscriptService_ServerInfo_FullMethodName {
					infos++
					return &transcriptv1.ServerInfoResponse{Features: []string{"blobs"}}, nil
				}
				return nil, refused
			},
			frames: func(context.Context, any) ([]proto.Message, error) { return nil, refused },
		}
		c := New(conn)
		for feature, ask := range asked(t.Context(), c) {
			err := ask()
			if !errors.Is(err, ErrUnsupported) || !strings.HasSuffix(err.Error(), ": "+feature) || MayHaveHappened(err) {
				t.Errorf("%s: %v", feature, err)
			}
		}
		if infos != 1 {
			t.Errorf("ServerInfo was asked %d times", infos)
		}
	}
}

// What a server that has the feature refuses stays as it is, and so does what needs no feature.
func TestOtherRefusalsStay(t *testing.T) {
	conn := &fakeConn{invoke: func(_ context.Context, method string, _ any) (proto.Message, error) {
		if method == transcriptv1.TranscriptService_ServerInfo_FullMethodName {
			return &transcriptv1.ServerInfoResponse{Features: []string{"alias_deletes"}}, nil
		}
		return nil, refusal(t, codes.InvalidArgument, ErrMalformedRequest)
	}}
	c := New(conn)
	_, err := c.SetAliases(t.Context(), AliasMove{Name: "a", Delete: true})
	if !errors.Is(err, ErrMalformedRequest) {
		t.Error(err)
	}
	calls := conn.invoked
	if _, err := c.Put(t.Context(), Node{Messages: []*transcriptv1.Message{User("hi")}}); !errors.Is(err, ErrMalformedRequest) || conn.invoked != calls+1 {
		t.Errorf("%v after %d calls", err, conn.invoked-calls)
	}
}
