package conforms

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"

	"github.com/transcriptd/transcriptd/conformance"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

// violation is a promise that is broken, and the check that is there for it.
type violation struct {
	name, check string
	breaks      func() breaks
}

// TestViolations: the kit fails on each of these, by the check that is meant for it. TestMemory shows that the same checks pass where
// nothing is broken.
func TestViolations(t *testing.T) {
	conn := testserver.StartMemory(t)
	for _, v := range violations() {
		t.Run(v.name, func(t *testing.T) {
			results := run(t, &broken{conn: conn, breaks: v.breaks()}, "^"+regexp.QuoteMeta(v.check)+"$")
			if len(results) != 1 || results[0].Status != conformance.Failed || results[0].Reason == "" {
				t.Errorf("the kit says %v", results)
			}
			t.Log(results[0])
		})
	}
}

func violations() []violation {
	return slices.Concat(writeViolations(), readViolations(), listViolations(), errorViolations(), collectViolations(), eraseViolations())
}

// on breaks calls of one method; others pass.
func on[Q, R proto.Message](does func(c *call, request Q, reply R) error) func() breaks {
	return func() breaks {
		return breaks{call: func(c *call) error {
			request, isRequest := c.request.(Q)
			reply, isReply := c.reply.(R)
			if !isRequest || !isReply {
				return c.pass()
			}
			return does(c, proto.CloneOf(request), reply)
		}}
	}
}

type (
	putRequest      = *transcriptv1.PutNodeRequest
	putReply        = *transcriptv1.PutNodeResponse
	nodesRequest    = *transcriptv1.PutNodesRequest
	nodesReply      = *transcriptv1.PutNodesResponse
	aliasRequest    = *transcriptv1.AliasRequest
	aliasReply      = *transcriptv1.AliasResponse
	assembleRequest = *transcriptv1.AssembleRequest
	assembleReply   = *transcriptv1.AssembleResponse
)

type (
	setRequest = transcriptv1.SetNamespaceRequest
	setReply   = transcriptv1.SetNamespaceResponse

	deleteRequest = transcriptv1.DeleteNamespaceRequest
	deleteReply   = transcriptv1.DeleteNamespaceResponse
)

func writeViolations() []violation {
	return []violation{
		{"the salt is not hashed", "identity/vectors", on(func(c *call, q putRequest, _ putReply) error {
			q.Salt = nil
			return c.send(q)
		})},
		{"a reply names another id", "identity/vectors", on(func(c *call, q putRequest, r putReply) error {
			err := c.send(q)
			if id := []byte(r.GetNodeId()); len(id) == 64 {
				slices.Reverse(id)
				r.NodeId = string(id)
			}
			return err
		})},
		{"text is trimmed", "identity/vectors", on(func(c *call, q putRequest, _ putReply) error {
			for _, m := range q.GetMessages() {
				for _, part := range m.GetParts() {
					if k, ok := part.GetKind().(*transcriptv1.Part_Text); ok {
						k.Text = strings.TrimSpace(strings.TrimPrefix(k.Text, "\ufeff"))
					}
				}
			}
			return c.send(q)
		})},
		{"conditions of a put are not looked at", "put-node/loser-learns-the-head", on(func(c *call, q putRequest, _ putReply) error {
			for _, a := range q.GetAliases() {
				a.Precondition = nil
			}
			return c.send(q)
		})},
		{"a repeat makes a second node", "put-node/repeat-is-harmless", repeatsAnew},
		{"a repeat moves an alias back", "put-node/repeat-undoes-nothing", repeatsMoveBack},
		{"of a call of several nodes some are written", "put-nodes/all-or-nothing", on(func(c *call, q nodesRequest, _ nodesReply) error {
			for i := range q.GetNodes() {
				one := proto.CloneOf(q)
				one.Nodes = one.Nodes[:i+1]
				if err := c.send(one); err != nil {
					return err
				}
			}
			return nil
		})},
		{"an archived node is put now", "put-archived-nodes/keeps", on(func(c *call, q *transcriptv1.PutArchivedNodesRequest, _ *transcriptv1.PutArchivedNodesResponse) error {
			for _, n := range q.GetNodes() {
				n.FirstPutAt = nil
			}
			return c.send(q)
		})},
		{"an erased node does not say so", "put-archived-nodes/erased", on(func(c *call, q *transcriptv1.GetNodeRequest, a *transcriptv1.GetNodeResponse) error {
			err := c.send(q)
			if a.GetErasure() != nil {
				a.GetInfo().Content = transcriptv1.NodeContent_NODE_CONTENT_MADE
			}
			return err
		})},
		{"a restored alias has no labels", "restore/keeps", on(func(c *call, q *transcriptv1.RestoreRequest, _ *transcriptv1.RestoreResponse) error {
			for _, a := range q.GetAliases() {
				a.Labels = nil
			}
			return c.send(q)
		})},
		{"labels are lost with a move", "alias/labels", on(func(c *call, q aliasRequest, _ aliasReply) error {
			for _, a := range q.GetAliases() {
				if a.Labels == nil {
					a.Labels = &transcriptv1.Labels{}
				}
			}
			return c.send(q)
		})},
		{"a revision is not looked at", "revision/labels-compare-and-set", on(func(c *call, q aliasRequest, _ aliasReply) error {
			for _, a := range q.GetAliases() {
				a.Precondition = nil
			}
			return c.send(q)
		})},
		{"notes are lost", "identity/notes-are-not-hashed", on(func(c *call, q putRequest, _ putReply) error {
			q.Notes = nil
			return c.send(q)
		})},
		{"a compaction covers what was said since", "compact/repeat", on(func(c *call, q *transcriptv1.CompactRequest, _ *transcriptv1.CompactResponse) error {
			q.ThroughId = ""
			return c.send(q)
		})},
		{"a limit is lower", "limits/messages-of-a-node", on(func(c *call, q putRequest, _ putReply) error {
			if len(q.GetMessages()) == 1000 {
				q.Messages = append(q.Messages, q.Messages[0])
			}
			return c.send(q)
		})},
	}
}

// repeatsAnew gives a put that came before another salt.
func repeatsAnew() breaks {
	var mu sync.Mutex
	seen := map[string]bool{}
	return breaks{call: func(c *call) error {
		q, ok := c.request.(putRequest)
		if !ok {
			return c.pass()
		}
		mu.Lock()
		before := seen[protojson.Format(q)]
		seen[protojson.Format(q)] = true
		mu.Unlock()
		if before {
			q = proto.CloneOf(q)
			q.Salt = []byte(rand.Text())
			for _, a := range q.GetAliases() {
				a.Precondition = nil
			}
		}
		return c.send(q)
	}}
}

// repeatsMoveBack sets the aliases of a put that wrote nothing, whatever they say.
func repeatsMoveBack() breaks {
	return on(func(c *call, q putRequest, r putReply) error {
		if err := c.send(q); err != nil || r.GetCreated() {
			return err
		}
		proto.Reset(r)
		for _, a := range q.GetAliases() {
			a.Precondition = nil
		}
		return c.send(q)
	})()
}

// onView breaks replies of Assemble.
func onView(does func(q assembleRequest, r assembleReply)) func() breaks {
	return on(func(c *call, q assembleRequest, r assembleReply) error {
		err := c.send(q)
		if err == nil {
			does(q, r)
		}
		return err
	})
}

func readViolations() []violation {
	return []violation{
		{"a call is without its result", "views/repair", onView(func(_ assembleRequest, r assembleReply) {
			r.Messages = slices.DeleteFunc(r.GetMessages(), func(m *transcriptv1.Message) bool { return m.GetOrigin() == transcriptv1.Origin_ORIGIN_STUB })
		})},
		{"stubs say something else", "views/repair", onView(func(_ assembleRequest, r assembleReply) {
			for _, m := range r.GetMessages() {
				if m.GetOrigin() == transcriptv1.Origin_ORIGIN_STUB {
					m.Parts[0].Kind = &transcriptv1.Part_Text{Text: "[no result]"}
				}
			}
		})},
		{"opaque messages are shown to a model", "views/opaque", on(func(c *call, q assembleRequest, _ assembleReply) error {
			if q.GetView() != transcriptv1.View_VIEW_CONVERSATION {
				q.View = transcriptv1.View_VIEW_FULL
			}
			return c.send(q)
		})},
		{"the left-out line counts wrong", "views/max-run-loops", onView(func(_ assembleRequest, r assembleReply) {
			for _, m := range r.GetMessages() {
				if m.GetOrigin() == transcriptv1.Origin_ORIGIN_LEFT_OUT {
					m.Parts[0].Kind = &transcriptv1.Part_Text{Text: "[1 earlier turns are not shown]"}
				}
			}
		})},
		{"the etag does not name the policy", "assemble/etag-names-what-is-held", onView(func(q assembleRequest, r assembleReply) {
			q.Policy = nil
			r.Etag = fmt.Sprintf("%x", sha256.Sum256([]byte(protojson.Format(q))))
		})},
		{"after_id gives everything", "assemble/after-id", on(func(c *call, q assembleRequest, r assembleReply) error {
			after := q.GetAfterId()
			q.AfterId = ""
			err := c.send(q)
			r.BaseId = after
			return err
		})},
		{"a page of the end of a view parts a call from its result", "end-of-view/no-group-is-parted", onView(func(q assembleRequest, r assembleReply) {
			if n := int(q.GetLastMessages()); n > 0 && n < len(r.GetMessages()) {
				r.Messages = r.GetMessages()[len(r.GetMessages())-n:]
			}
		})},
		{"frames cut a node", "stream-assemble/whole-nodes", func() breaks { return breaks{frames: cutFrame} }},
		{"search minds the case", "search/any-case", on(func(c *call, q *transcriptv1.SearchRequest, _ *transcriptv1.SearchResponse) error {
			if q.GetText() != "" {
				q.Pattern = &transcriptv1.SearchRequest_Regexp{Regexp: regexp.QuoteMeta(q.GetText())}
			}
			return c.send(q)
		})},
		{"secrets are replayed", "recall-tool-call/redact", on(func(c *call, q *transcriptv1.RecallToolCallRequest, _ *transcriptv1.RecallToolCallResponse) error {
			q.Redact = false
			return c.send(q)
		})},
		{"a past call is told with its last result", "recall-tool-call/occurrence", on(func(c *call, q *transcriptv1.RecallToolCallRequest, _ *transcriptv1.RecallToolCallResponse) error {
			q.Occurrence = 0
			return c.send(q)
		})},
		{"a preview is told that nobody asked for", "describe/loop", on(func(c *call, q *transcriptv1.DescribeRequest, _ *transcriptv1.DescribeResponse) error {
			q.Mode = transcriptv1.DescribeMode_DESCRIBE_MODE_PREVIEW
			return c.send(q)
		})},
	}
}

// cutFrame makes two frames of one, and parts a node's messages.
func cutFrame(f *transcriptv1.StreamAssembleResponse) []*transcriptv1.StreamAssembleResponse {
	if len(f.GetMessages()) < 2 {
		return []*transcriptv1.StreamAssembleResponse{f}
	}
	second := &transcriptv1.StreamAssembleResponse{Messages: f.GetMessages()[1:], Nodes: f.GetNodes()[1:], Report: f.GetReport()}
	f.Messages, f.Nodes, f.Report = f.GetMessages()[:1], f.GetNodes()[:1], nil
	return []*transcriptv1.StreamAssembleResponse{f, second}
}

func listViolations() []violation {
	return []violation{
		{"a namespace leaks", "namespaces/apart", on(func(c *call, q *transcriptv1.GetNodeRequest, _ *transcriptv1.GetNodeResponse) error {
			q.Namespace = strings.TrimSuffix(q.GetNamespace(), "-wall")
			return c.send(q)
		})},
		{"a search goes over all namespaces", "namespaces/lists-apart", on(func(c *call, q *transcriptv1.SearchRequest, _ *transcriptv1.SearchResponse) error {
			q.Namespace = strings.TrimSuffix(q.GetNamespace(), "-wall")
			return c.send(q)
		})},
		{"a token works anywhere", "page-tokens/bound", on(func(c *call, q *transcriptv1.ListAliasesRequest, _ *transcriptv1.ListAliasesResponse) error {
			err := c.send(q)
			if reason(err) == "INVALID_PAGE_TOKEN" {
				q.PageToken = ""
				return c.send(q)
			}
			return err
		})},
		{"a folder is listed by name", "list-aliases/folder", on(func(c *call, q *transcriptv1.ListAliasesRequest, r *transcriptv1.ListAliasesResponse) error {
			err := c.send(q)
			slices.SortFunc(r.GetAliases(), func(a, b *transcriptv1.AliasInfo) int { return cmp.Compare(a.GetName(), b.GetName()) })
			return err
		})},
		{"an entry of a page is lost", "list-children/stable", on(func(c *call, q *transcriptv1.ListChildrenRequest, r *transcriptv1.ListChildrenResponse) error {
			err := c.send(q)
			if q.GetPageToken() != "" && len(r.GetChildren()) > 0 {
				r.Children = r.GetChildren()[1:]
			}
			return err
		})},
		{"a history forgets deletions", "list-alias-history/states", on(func(c *call, q *transcriptv1.ListAliasHistoryRequest, r *transcriptv1.ListAliasHistoryResponse) error {
			err := c.send(q)
			r.Entries = slices.DeleteFunc(r.GetEntries(), func(e *transcriptv1.AliasHistoryEntry) bool { return e.GetNodeId() == "" })
			return err
		})},
		{"missing nodes are not named", "get-nodes/in-order", on(func(c *call, q *transcriptv1.GetNodesRequest, r *transcriptv1.GetNodesResponse) error {
			err := c.send(q)
			r.MissingIds = nil
			return err
		})},
		{"a namespace that was written to is not listed", "list-namespaces/in-order", on(func(c *call, q *transcriptv1.ListNamespacesRequest, r *transcriptv1.ListNamespacesResponse) error {
			err := c.send(q)
			r.Namespaces = slices.DeleteFunc(r.GetNamespaces(), func(n *transcriptv1.NamespaceInfo) bool { return strings.HasSuffix(n.GetName(), "-listed") })
			return err
		})},
		{"settings are added to what is there", "set-namespace/replaces", on(func(c *call, q *setRequest, r *setReply) error {
			if q.Settings.GetMaxNodes() == 0 && q.Settings.GetMaxMessageBytes() != 0 {
				q.Settings.MaxNodes = 7
			}
			return c.send(q)
		})},
		{"rules are lost", "set-namespace/retention", on(func(c *call, q *setRequest, r *setReply) error {
			q.Settings.Retention = nil
			return c.send(q)
		})},
		{"a hold holds nothing", "set-namespace/hold", on(func(c *call, q *setRequest, r *setReply) error {
			if asked := q.Settings; len(asked.GetRetention()) > 0 {
				q.Settings = &transcriptv1.NamespaceSettings{}
				err := c.send(q)
				r.Settings = asked
				return err
			}
			return c.send(q)
		})},
		{"a deleted namespace stays", "delete-namespace/deletes", on(func(c *call, q *deleteRequest, r *deleteReply) error {
			r.Deleted = true
			return nil
		})},
		{"a name need not be confirmed", "delete-namespace/refused", on(func(c *call, q *deleteRequest, r *deleteReply) error {
			q.Confirm = q.Namespace
			return c.send(q)
		})},
		{"the revision of settings is not looked at", "set-namespace/revision", on(func(c *call, q *setRequest, _ *setReply) error {
			q.Revision = nil
			return c.send(q)
		})},
		{"quotas are lost", "set-namespace/quotas", on(func(c *call, q *setRequest, r *setReply) error {
			asked := q.GetSettings()
			q.Settings = &transcriptv1.NamespaceSettings{}
			err := c.send(q)
			r.Settings = asked
			return err
		})},
		{"run loops come oldest first", "list-run-loops/states", on(func(c *call, q *transcriptv1.ListRunLoopsRequest, r *transcriptv1.ListRunLoopsResponse) error {
			err := c.send(q)
			slices.Reverse(r.GetRunLoops())
			return err
		})},
	}
}

// onError breaks errors.
func onError(does func(s *status.Status) error) func() breaks {
	return func() breaks {
		return breaks{call: func(c *call) error {
			err := c.pass()
			if err == nil {
				return nil
			}
			return does(status.Convert(err))
		}}
	}
}

func errorViolations() []violation {
	return []violation{
		{"unknown fields are taken", "refused/unknown-fields", func() breaks { return breaks{call: dropUnknown} }},
		{"a reason comes with another code", "errors/codes-fit-reasons", onError(func(s *status.Status) error {
			p := s.Proto()
			if s.Code() == codes.AlreadyExists {
				p.Code = int32(codes.FailedPrecondition)
			}
			return status.ErrorProto(p)
		})},
		{"an error tells the name of an alias", "errors/codes-fit-reasons", func() breaks {
			return breaks{call: func(c *call) error {
				err := c.pass()
				if q, ok := c.request.(putRequest); ok && err != nil && len(q.GetAliases()) > 0 {
					p := status.Convert(err).Proto()
					p.Message += " (" + q.GetAliases()[0].GetName() + ")"
					return status.ErrorProto(p)
				}
				return err
			}}
		}},
		{"errors have no request id", "errors/codes-fit-reasons", onError(func(s *status.Status) error { return without[*errdetails.RequestInfo](s) })},
		{"errors name no field", "errors/fields", onError(func(s *status.Status) error { return without[*errdetails.BadRequest](s) })},
		{"the loser does not learn the head", "put-node/loser-learns-the-head", onError(func(s *status.Status) error { return without[*transcriptv1.AliasConflicts](s) })},
		{"a refused put sets its aliases", "errors/change-nothing", onRefusedPut},
	}
}

// dropUnknown parses raw requests and forgets what it does not know.
func dropUnknown(c *call) error {
	raw, ok := c.request.([]byte)
	if !ok || c.method != "ResolveAlias" {
		return c.pass()
	}
	q := &transcriptv1.ResolveAliasRequest{}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, q); err != nil {
		return err
	}
	known, err := proto.Marshal(q)
	if err != nil {
		return err
	}
	return c.send(known)
}

// onRefusedPut puts something else with the aliases of a put that was refused.
func onRefusedPut() breaks {
	return on(func(c *call, q putRequest, r putReply) error {
		err := c.send(q)
		if err != nil && q.GetParent() != nil && len(q.GetAliases()) == 1 {
			q.Messages, q.Salt = []*transcriptv1.Message{{Role: transcriptv1.Role_ROLE_USER}}, nil
			q.Aliases[0].Precondition = nil
			if c.send(q) == nil {
				proto.Reset(r)
			}
		}
		return err
	})()
}

// without is an error that lacks a detail.
func without[D proto.Message](s *status.Status) error {
	p := s.Proto()
	p.Details = nil
	less := status.FromProto(p)
	for _, d := range s.Details() {
		m, ok := d.(protoadapt.MessageV1)
		if _, is := d.(D); is || !ok {
			continue
		}
		if with, err := less.WithDetails(m); err == nil {
			less = with
		}
	}
	return less.Err()
}

// reason is why a call failed.
func reason(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
