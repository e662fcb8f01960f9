package server

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/internal/identity"
)

// TestHoldIsToldToWhoMayRead: a caller is told which alias is held where he may read aliases, and by which rule where he may read settings, too; the audit
// and the log are told neither.
func TestHoldIsToldToWhoMayRead(t *testing.T) {
	const deletes = identity.Append | identity.Erase | identity.Admin
	on := func(namespaces identity.Pattern, roles identity.Role) identity.Grant {
		return identity.Grant{Roles: roles, Namespaces: namespaces}
	}
	alias, prefix := map[string]string{"alias": "planted/case/1"}, map[string]string{"alias_prefix": "planted/"}
	both := map[string]string{"alias": "planted/case/1", "alias_prefix": "planted/"}
	callers := known{}
	cases := map[string]struct {
		more []identity.Grant
		// ofAlias is what a refused deletion of an alias tells, ofNamespace one of the namespace.
		ofAlias, ofNamespace map[string]string
	}{
		"neither":            {nil, nil, nil},
		"reads":              {[]identity.Grant{on("default", identity.Read)}, alias, nil},
		"operates":           {[]identity.Grant{on("default", identity.Operate)}, nil, nil},
		"reads and operates": {[]identity.Grant{on("default", identity.Read), on("*", identity.Operate)}, both, prefix},
		"backs up":           {[]identity.Grant{on("def*", identity.Backup)}, both, prefix},
		"reads elsewhere":    {[]identity.Grant{on("other", identity.Read|identity.Operate|identity.Backup)}, nil, nil},
	}
	for name, c := range cases {
		callers[name] = &identity.Principal{Name: strings.ReplaceAll(name, " ", "-"), Grants: append([]identity.Grant{on("default", deletes)}, c.more...)}
	}
	path, logs := filepath.Join(t.TempDir(), "audit.jsonl"), &lockedBuffer{}
	told, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(memstore.New(memstore.Options{}), Config{
		Authenticator: callers, Audit: told, Logger: slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}).GRPC()
	if err != nil {
		t.Fatal(err)
	}
	conn := serve(t, g)
	transcripts, admin := transcriptv1.NewTranscriptServiceClient(conn), transcriptv1.NewAdminServiceClient(conn)
	_, err = admin.SetNamespace(metadata.AppendToOutgoingContext(t.Context(), "authorization", "neither"), &transcriptv1.SetNamespaceRequest{
		Settings: &transcriptv1.NamespaceSettings{Retention: []*transcriptv1.RetentionRule{{AliasPrefix: "planted/", LegalHold: true}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range cases {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", name)
		check := func(err error, want map[string]string) {
			t.Helper()
			st, info := statusOf(t, err)
			if st.Code() != codes.FailedPrecondition || info.Reason != "LEGAL_HOLD" || !maps.Equal(info.Metadata, want) {
				t.Errorf("%s is told %v %v, want %v", name, st.Code(), info, want)
			}
			if strings.Contains(st.Message(), "planted") {
				t.Errorf("the text is %q", st.Message())
			}
		}
		_, err := transcripts.DeleteAlias(ctx, &transcriptv1.DeleteAliasRequest{Name: "planted/case/1", ForgetHistory: true})
		check(err, c.ofAlias)
		_, err = admin.DeleteNamespace(ctx, &transcriptv1.DeleteNamespaceRequest{Confirm: "default"})
		check(err, c.ofNamespace)
	}
	if err := told.Close(); err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"audit": string(lines), "log": logs.String()} {
		if !strings.Contains(text, "DeleteNamespace") || strings.Contains(text, "planted") {
			t.Errorf("the %s is\n%s", what, text)
		}
	}
}
