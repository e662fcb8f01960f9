package server

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// tenants serve a store with these namespaces to callers that say their names.
type tenants struct {
	*testing.T
	transcripts transcriptv1.TranscriptServiceClient
	admin       transcriptv1.AdminServiceClient
	gives       *nameStore
}

// nameStore notes which names it gives.
type nameStore struct {
	chainstore.Store
	names []string
}

func (s *nameStore) Namespaces(ctx context.Context, q chainstore.NamespaceQuery) ([]string, error) {
	names, err := s.Store.Namespaces(ctx, q)
	s.names = append(s.names, names...)
	return names, err
}

func serveTenants(t *testing.T, callers identity.Authenticator, names ...string) *tenants {
	store := &nameStore{Store: memstore.New(memstore.Options{})}
	for _, name := range names {
		if _, err := store.SetSettings(t.Context(), name, chainstore.SettingsChange{}); err != nil {
			t.Fatal(err)
		}
	}
	g := serveGuarded(t, New(store, Config{Authenticator: callers}), nil)
	return &tenants{t, transcriptv1.NewTranscriptServiceClient(g.conn), transcriptv1.NewAdminServiceClient(g.conn), store}
}

func (t *tenants) as(who string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", who)
}

// list reads all pages, and says which were full.
func (t *tenants) list(ctx context.Context, size int32) (names []string) {
	t.Helper()
	req := &transcriptv1.ListNamespacesRequest{PageSize: size}
	for {
		page, err := t.transcripts.ListNamespaces(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(page.Namespaces); page.NextPageToken != "" && n != int(size) {
			t.Errorf("a page of %d has %d", size, n)
		}
		for _, n := range page.Namespaces {
			names = append(names, n.Name)
		}
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			return names
		}
	}
}

// TestListNamespaces: everybody is told what a read grant of theirs covers, in order, once, whatever the size of a page. How many other
// names there are makes no difference to the store.
func TestListNamespaces(t *testing.T) {
	grants := func(role identity.Role, on ...identity.Pattern) (all []identity.Grant) {
		for _, p := range on {
			all = append(all, identity.Grant{Roles: role, Namespaces: p})
		}
		return all
	}
	names := []string{"a", "acme", "acme-1", "acme-2", "acme.x", "b", "bob", "c"}
	callers := byName{}
	for who, c := range map[string]struct {
		grants []identity.Grant
		want   []string
	}{
		"nobody's":   {nil, nil},
		"everything": {grants(identity.Read, "*"), names},
		"one":        {grants(identity.Read, "acme"), []string{"acme"}},
		"many":       {grants(identity.Read, "acme*"), []string{"acme", "acme-1", "acme-2", "acme.x"}},
		"mixed":      {grants(identity.Read, "bob", "acme-*", "a", "acme-1"), []string{"a", "acme-1", "acme-2", "bob"}},
		"twice":      {grants(identity.Read, "acme*", "acme", "acme*", "acme-*"), []string{"acme", "acme-1", "acme-2", "acme.x"}},
		"none there": {grants(identity.Read, "ac", "d*", "bo", "aa*"), nil},
		"unnamed":    {grants(identity.Read, ""), nil},
		"not reader": {grants(^identity.Read, "*"), nil},
		"some roles": {append(grants(identity.Append, "*"), grants(identity.Read|identity.Append, "b*")...), []string{"b", "bob"}},
	} {
		callers[who] = &identity.Principal{Name: who, Grants: c.grants}
		tenants := serveTenants(t, callers, names...)
		for _, size := range []int32{1, 2, 3, 100} {
			if got := tenants.list(tenants.as(who), size); !slices.Equal(got, c.want) {
				t.Errorf("%s is told %q in pages of %d, want %q", who, got, size, c.want)
			}
		}
		tenants.gives.names = nil
		tenants.list(tenants.as(who), 100)
		if gave := tenants.gives.names; len(gave) > len(c.want)+len(c.grants) { // where a name is not there, the one behind it
			t.Errorf("for %s the store was asked for %q", who, gave)
		}
	}
	anybody := serveTenants(t, nil, names...)
	if got := anybody.list(t.Context(), 3); !slices.Equal(got, names) {
		t.Errorf("without principals everybody is told %q", got)
	}
}

// TestTokensOfNamespacesNameWhatWasListed: a token of one caller gives another nothing that it may not read.
func TestTokensOfNamespacesNameWhatWasListed(t *testing.T) {
	tenants := serveTenants(t, byName{
		"all": {Name: "all", Grants: []identity.Grant{{Roles: identity.Read, Namespaces: "*"}}},
		"b":   {Name: "b", Grants: []identity.Grant{{Roles: identity.Read, Namespaces: "b*"}}},
	}, "a", "b", "b2", "c", "d")
	page, err := tenants.transcripts.ListNamespaces(tenants.as("all"), &transcriptv1.ListNamespacesRequest{PageSize: 2})
	if err != nil || len(page.Namespaces) != 2 {
		t.Fatal(page, err)
	}
	next, err := tenants.transcripts.ListNamespaces(tenants.as("b"), &transcriptv1.ListNamespacesRequest{PageToken: page.NextPageToken})
	if err != nil || len(next.Namespaces) != 1 || next.Namespaces[0].Name != "b2" {
		t.Errorf("%v, %v", next, err)
	}
}

// TestQuotas: a write that would take a namespace over a quota is told which one, of which namespace, and not what the namespace has; a
// repeat of one that took place is not refused.
func TestQuotas(t *testing.T) {
	tenants := serveTenants(t, nil)
	ctx := t.Context()
	set := func(s *transcriptv1.NamespaceSettings) {
		t.Helper()
		if _, err := tenants.admin.SetNamespace(ctx, &transcriptv1.SetNamespaceRequest{Namespace: "acme", Settings: s}); err != nil {
			t.Fatal(err)
		}
	}
	put := func(content int, alias string) error {
		req := proto.CloneOf(text(content))
		req.Namespace, req.Aliases = "acme", []*transcriptv1.AliasUpdate{{Name: alias}}
		_, err := tenants.transcripts.PutNode(ctx, req)
		return err
	}
	set(&transcriptv1.NamespaceSettings{MaxNodes: 2, MaxAliases: 2, MaxMessageBytes: 1 << 20})
	for _, content := range []int{1, 2, 2, 1} {
		if err := put(content, fmt.Sprint("x/", content)); err != nil {
			t.Fatal(err)
		}
	}
	over := func(err error, want ...string) {
		t.Helper()
		st, info := statusOf(t, err)
		if st.Code() != codes.ResourceExhausted || info.Reason != "QUOTA_EXCEEDED" {
			t.Fatalf("over a quota it is told %v", st)
		}
		var got []string
		for _, d := range st.Details() {
			if failure, ok := d.(*errdetails.QuotaFailure); ok {
				for _, v := range failure.Violations {
					got = append(got, fmt.Sprintf("%s: %s (%s %d)", v.Subject, v.Description, v.QuotaId, v.QuotaValue))
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the quotas are %q, want %q", got, want)
		}
	}
	nodes, aliases := "namespace:acme: at most 2 nodes (max_nodes 2)", "namespace:acme: at most 2 aliases (max_aliases 2)"
	over(put(3, "x/3"), nodes, aliases)
	over(put(3, "x/1"), nodes)
	over(put(1, "x/3"), aliases)
	stats, err := tenants.admin.NamespaceStats(ctx, &transcriptv1.NamespaceStatsRequest{Namespace: "acme"})
	if err != nil || stats.Nodes != 2 || stats.Aliases != 2 || stats.SettingsRevision != 1 || stats.Settings.GetMaxNodes() != 2 {
		t.Errorf("the namespace has %v, %v", stats, err)
	}
	set(&transcriptv1.NamespaceSettings{MaxNodes: 3, MaxMessageBytes: stats.MessageBytes})
	over(put(3, "x/3"), fmt.Sprintf("namespace:acme: at most %[1]d message bytes (max_message_bytes %[1]d)", stats.MessageBytes))
	set(&transcriptv1.NamespaceSettings{})
	if err := put(3, "x/3"); err != nil {
		t.Error(err)
	}
}

// TestSettingsChanged: settings are set on condition of a revision, or as they come, and a repeat changes nothing.
func TestSettingsChanged(t *testing.T) {
	tenants := serveTenants(t, nil)
	set := func(revision *int64, nodes int64) (int64, error) {
		reply, err := tenants.admin.SetNamespace(t.Context(), &transcriptv1.SetNamespaceRequest{
			Settings: &transcriptv1.NamespaceSettings{MaxNodes: nodes}, Revision: revision,
		})
		return reply.GetRevision(), err
	}
	for i, c := range []struct {
		at    *int64
		nodes int64
		want  int64 // 0: refused
	}{
		{proto.Int64(1), 5, 0}, {proto.Int64(0), 5, 1}, {proto.Int64(0), 5, 1}, {proto.Int64(0), 6, 0}, {nil, 6, 2}, {nil, 6, 2}, {proto.Int64(1), 5, 0},
	} {
		revision, err := set(c.at, c.nodes)
		if c.want > 0 && (err != nil || revision != c.want) {
			t.Errorf("change %d gave revision %d, %v", i, revision, err)
		}
		if c.want == 0 {
			if st, info := statusOf(t, err); st.Code() != codes.Aborted || info.Reason != "SETTINGS_CHANGED" {
				t.Errorf("change %d is told %v", i, st)
			}
		}
	}
}

// TestBadSettings: what is wrong with settings is refused by the name of its field.
func TestBadSettings(t *testing.T) {
	tenants := serveTenants(t, nil)
	good := func() *transcriptv1.NamespaceSettings { return &transcriptv1.NamespaceSettings{MaxNodes: 1} }
	for field, req := range map[string]*transcriptv1.SetNamespaceRequest{
		"settings":                   {},
		"settings.max_nodes":         {Settings: &transcriptv1.NamespaceSettings{MaxNodes: -1}},
		"settings.max_message_bytes": {Settings: &transcriptv1.NamespaceSettings{MaxMessageBytes: -1}},
		"settings.max_aliases":       {Settings: &transcriptv1.NamespaceSettings{MaxAliases: -1}},
		"revision":                   {Settings: good(), Revision: proto.Int64(-1)},
		"namespace":                  {Namespace: "No Name", Settings: good()},
	} {
		_, err := tenants.admin.SetNamespace(t.Context(), req)
		st, info := statusOf(t, err)
		if st.Code() != codes.InvalidArgument || info.Reason != "INVALID_FIELD" || !violates(st, field) {
			t.Errorf("%s: %v", field, st)
		}
	}
	later := &transcriptv1.SetNamespaceRequest{Settings: good()}
	later.Settings.ProtoReflect().SetUnknown([]byte{0xf8, 0x01, 0x01}) // field 31
	_, err := tenants.admin.SetNamespace(t.Context(), later)
	if st, info := statusOf(t, err); info.Reason != "MALFORMED_REQUEST" {
		t.Errorf("a setting that is not known: %v", st)
	}
	if names := tenants.list(t.Context(), 9); len(names) > 0 {
		t.Errorf("what was refused made %q", names)
	}
}

func violates(st *status.Status, field string) bool {
	return slices.ContainsFunc(st.Details(), func(d any) bool {
		bad, ok := d.(*errdetails.BadRequest)
		return ok && bad.FieldViolations[0].Field == field
	})
}
