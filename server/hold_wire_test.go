package server_test

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcmetadata "google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/chainstore/memstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/internal/audit"
	"github.com/transcriptd/transcriptd/internal/identity"
	"github.com/transcriptd/transcriptd/internal/overhttp"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

// callers are known by the Authorization that they show.
type callers map[string]*identity.Principal

func (c callers) Authenticate(shown identity.Credentials) (*identity.Principal, error) {
	if len(shown.Authorization) == 1 && c[shown.Authorization[0]] != nil {
		return c[shown.Authorization[0]], nil
	}
	return nil, identity.ErrUnauthenticated
}

// TestHoldOnEveryWay: over gRPC and each form of HTTP a caller is told which alias is held where he may read aliases, and by which rule where he may read
// settings, too, in names of any length and content; neither the audit nor the log has them.
func TestHoldOnEveryWay(t *testing.T) {
	const deletes = identity.Append | identity.Erase | identity.Admin
	on := func(namespaces identity.Pattern, roles identity.Role) identity.Grant {
		return identity.Grant{Roles: roles, Namespaces: namespaces}
	}
	known := callers{}
	cases := map[string]struct {
		more []identity.Grant
		// alias and rule tell which of the two are told.
		alias, rule bool
	}{
		"neither":  {nil, false, false},
		"reads":    {[]identity.Grant{on("default", identity.Read)}, true, false},
		"operates": {[]identity.Grant{on("default", identity.Operate)}, false, false},
		"both":     {[]identity.Grant{on("default", identity.Read), on("*", identity.Operate)}, true, true},
		"backs":    {[]identity.Grant{on("def*", identity.Backup)}, true, true},
	}
	for name, c := range cases {
		known[name] = &identity.Principal{Name: name, Grants: append([]identity.Grant{
			on("default", deletes), on("other", identity.Read|identity.Operate|identity.Backup|deletes),
		}, c.more...)}
	}
	path, logs := filepath.Join(t.TempDir(), "audit.jsonl"), &safeBuffer{}
	told, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := testserver.StartWith(t, memstore.New(memstore.Options{}), server.Config{
		Authenticator: known, Audit: told, Logger: slog.New(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	url := s.HTTP(t, server.HTTPConfig{})
	ways := map[string]grpc.ClientConnInterface{"gRPC": s.Conn}
	for _, form := range overhttp.Forms() {
		ways[string(form)] = &overhttp.Conn{URL: url, Form: form, Client: http.DefaultClient}
	}
	for _, planted := range []string{"planted%/%00\"'\\<é世\u202e🙂 \u2028", "planted", "%"} {
		prefix := planted + strings.Repeat("世", (512-len(planted))/3)
		prefix += strings.Repeat("x", 512-len(prefix))
		alias := prefix
		owner := grpcmetadata.AppendToOutgoingContext(t.Context(), "authorization", "both")
		transcripts, admin := transcriptv1.NewTranscriptServiceClient(s.Conn), transcriptv1.NewAdminServiceClient(s.Conn)
		if _, err := admin.SetNamespace(owner, &transcriptv1.SetNamespaceRequest{Settings: &transcriptv1.NamespaceSettings{}}); err != nil {
			t.Fatal(err)
		}
		put, err := transcripts.PutNode(owner, &transcriptv1.PutNodeRequest{Messages: []*Message{user(planted)}, Aliases: []*transcriptv1.AliasUpdate{{Name: alias}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = admin.SetNamespace(owner, &transcriptv1.SetNamespaceRequest{
			Settings: &transcriptv1.NamespaceSettings{Retention: []*transcriptv1.RetentionRule{{AliasPrefix: prefix, LegalHold: true}}},
		}); err != nil {
			t.Fatal(err)
		}
		for way, conn := range ways {
			transcripts, admin := transcriptv1.NewTranscriptServiceClient(conn), transcriptv1.NewAdminServiceClient(conn)
			for who, c := range cases {
				ctx := grpcmetadata.AppendToOutgoingContext(t.Context(), "authorization", who)
				for _, namespace := range []string{"", "default"} {
					want, rule := map[string]string{}, map[string]string{}
					if c.alias {
						want["alias"] = alias
					}
					if c.rule {
						want["alias_prefix"], rule["alias_prefix"] = prefix, prefix
					}
					check := func(what string, err error, want map[string]string) {
						t.Helper()
						f := failureOf(err)
						if f.code != codes.FailedPrecondition || f.reason != "LEGAL_HOLD" || !maps.Equal(f.facts, want) || f.requestID == "" || f.field == "" {
							t.Errorf("%s: %s by %s in %q: %s", way, what, who, namespace, f.all)
						}
						if strings.Contains(strings.Split(f.all, "\n")[0], planted) {
							t.Errorf("text %s", f.all)
						}
					}
					_, err := transcripts.DeleteAlias(ctx, &transcriptv1.DeleteAliasRequest{Namespace: namespace, Name: alias, ForgetHistory: true})
					check("DeleteAlias", err, want)
					_, err = transcripts.DeleteAliases(ctx, &transcriptv1.DeleteAliasesRequest{Namespace: namespace, Scope: &transcriptv1.DeleteAliasesRequest_All{All: true}, ForgetHistory: true})
					check("DeleteAliases", err, want)
					for _, dry := range []bool{true, false} {
						erases := func(req *transcriptv1.EraseRequest) error {
							req.Namespace, req.DryRun, req.SharedRoots = namespace, dry, transcriptv1.SharedRoots_SHARED_ROOTS_ERASE
							stream, err := admin.Erase(ctx, req)
							for err == nil {
								_, err = stream.Recv()
							}
							if errors.Is(err, io.EOF) {
								return nil
							}
							return err
						}
						check("Erase of nodes", erases(&transcriptv1.EraseRequest{Selector: &transcriptv1.EraseRequest_Nodes{Nodes: &transcriptv1.NodeSelector{Ids: []string{put.NodeId}}}}), rule)
						check("Erase of aliases", erases(&transcriptv1.EraseRequest{Selector: &transcriptv1.EraseRequest_AliasPrefix{AliasPrefix: alias}}), want)
					}
					id := storeID(t, put.NodeId)
					_, err = admin.Restore(ctx, &transcriptv1.RestoreRequest{Namespace: namespace, Aliases: []*transcriptv1.ArchiveAlias{{
						Name: alias, Revision: 1 << 40, States: []*transcriptv1.ArchiveAliasState{{Revision: 1 << 40, Node: id[:], BeganAt: timestamppb.New(time.Unix(4e9, 0))}},
					}}})
					check("Restore", err, want)
					_, err = admin.DeleteNamespace(ctx, &transcriptv1.DeleteNamespaceRequest{Namespace: namespace, Confirm: "default"})
					check("DeleteNamespace", err, rule)
				}
			}
		}
	}
	if err := told.Close(); err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{"audit": string(lines), "log": logs.String()} {
		if !strings.Contains(text, "Erase") || strings.Contains(text, "planted") || strings.Contains(text, "世") {
			t.Errorf("the %s is\n%s", what, text)
		}
	}
}
