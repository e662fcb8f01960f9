package testserver

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Namespaces lists all in small pages, and keeps what is asked for.
func (w *wire) Namespaces(ctx context.Context, query chainstore.NamespaceQuery) (names []string, err error) {
	req := &transcriptv1.ListNamespacesRequest{PageSize: 3}
	for {
		page, err := w.transcripts.ListNamespaces(ctx, req)
		if err != nil {
			return nil, domain(err)
		}
		for _, n := range page.Namespaces {
			if n.Name > query.After && strings.HasPrefix(n.Name, query.Prefix) {
				names = append(names, n.Name)
			}
		}
		if req.PageToken = page.NextPageToken; req.PageToken == "" {
			return names[:min(len(names), query.Limit)], nil
		}
	}
}

// Settings are those that NamespaceStats tells.
func (w *wire) Settings(ctx context.Context, namespace string) (chainstore.SettingsNow, error) {
	s, err := w.admin.NamespaceStats(ctx, &transcriptv1.NamespaceStatsRequest{Namespace: spelled(namespace)})
	if err != nil {
		return chainstore.SettingsNow{}, domain(err)
	}
	if (s.Settings == nil) != (s.SettingsRevision == 0) {
		return chainstore.SettingsNow{}, fmt.Errorf("the settings at revision %d are %v", s.SettingsRevision, s.Settings)
	}
	return settingsNow(s.Settings, s.SettingsRevision), nil
}

func (w *wire) SetSettings(ctx context.Context, namespace string, change chainstore.SettingsChange) (chainstore.SettingsNow, error) {
	req := &transcriptv1.SetNamespaceRequest{Namespace: spelled(namespace), Settings: wireSettings(&change.Settings)}
	if change.Conditioned {
		req.Revision = &change.Revision
	}
	reply, err := w.admin.SetNamespace(ctx, req)
	if err != nil {
		return chainstore.SettingsNow{}, domain(err)
	}
	return settingsNow(reply.Settings, reply.Revision), nil
}

func settingsNow(s *transcriptv1.NamespaceSettings, revision int64) chainstore.SettingsNow {
	out := chainstore.SettingsNow{
		Settings: chainstore.Settings{MaxNodes: s.GetMaxNodes(), MaxMessageBytes: s.GetMaxMessageBytes(), MaxAliases: s.GetMaxAliases()}, Revision: revision,
	}
	for _, rule := range s.GetRetention() {
		out.Retention += rule.AliasPrefix
	}
	return out
}

// wireSettings are settings on the wire. What the suite has as retention is there the prefix of a rule that does nothing.
func wireSettings(s *chainstore.Settings) *transcriptv1.NamespaceSettings {
	out := &transcriptv1.NamespaceSettings{MaxNodes: s.MaxNodes, MaxMessageBytes: s.MaxMessageBytes, MaxAliases: s.MaxAliases}
	if s.Retention != "" {
		out.Retention = []*transcriptv1.RetentionRule{{AliasPrefix: s.Retention, Ttl: &durationpb.Duration{}}}
	}
	return out
}

// quotaError is the domain's error with the quotas that a status lists; nil where it lists none.
func quotaError(st *status.Status) error {
	for _, d := range st.Details() {
		failure, ok := d.(*errdetails.QuotaFailure)
		if !ok {
			continue
		}
		quota := &chainstore.QuotaError{}
		for _, v := range failure.Violations {
			var q chainstore.Quota
			if _, err := fmt.Sscanf(v.Description, "at most %d", &q.Limit); err != nil {
				return fmt.Errorf("a quota says %q: %w", v.Description, err)
			}
			q.What = strings.TrimPrefix(v.Description, fmt.Sprintf("at most %d ", q.Limit))
			quota.Namespace, quota.Over = strings.TrimPrefix(v.Subject, "namespace:"), append(quota.Over, q)
		}
		return quota
	}
	return nil
}

// DeleteNamespace confirms what it deletes. Whether it may is the server's to judge.
func (w *wire) DeleteNamespace(ctx context.Context, namespace string, _ func(context.Context) error) (bool, error) {
	defer w.forget()
	confirm := spelled(namespace)
	if confirm == "" {
		confirm = "default"
	}
	reply, err := w.admin.DeleteNamespace(ctx, &transcriptv1.DeleteNamespaceRequest{Namespace: spelled(namespace), Confirm: confirm})
	return reply.GetDeleted(), domain(err)
}
