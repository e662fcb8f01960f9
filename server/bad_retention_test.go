package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// TestBadRetention: what is wrong with a rule is refused by the name of its field.
func TestBadRetention(t *testing.T) {
	tenants := serveTenants(t, nil)
	many := make([]*transcriptv1.RetentionRule, 101)
	for i := range many {
		many[i] = &transcriptv1.RetentionRule{AliasPrefix: fmt.Sprint(i), LegalHold: true}
	}
	for _, c := range []struct {
		field, reason string
		rules         []*transcriptv1.RetentionRule
	}{
		{"settings.retention", "LIMIT_EXCEEDED", many},
		{"settings.retention[1].alias_prefix", "INVALID_FIELD", []*transcriptv1.RetentionRule{{AliasPrefix: "a", LegalHold: true}, expiring("a", time.Hour)}},
		{"settings.retention[0].alias_prefix", "LIMIT_EXCEEDED", []*transcriptv1.RetentionRule{{AliasPrefix: strings.Repeat("a", 513)}}},
		{"settings.retention[0].ttl", "INVALID_FIELD", []*transcriptv1.RetentionRule{expiring("", 59*time.Second)}},
		{"settings.retention[0].ttl", "INVALID_FIELD", []*transcriptv1.RetentionRule{expiring("", time.Minute+1)}},
		{"settings.retention[0].ttl", "INVALID_FIELD", []*transcriptv1.RetentionRule{{Ttl: &durationpb.Duration{Seconds: 36525*24*3600 + 1}}}},
		{"settings.retention[0].ttl", "INVALID_FIELD", []*transcriptv1.RetentionRule{{Ttl: &durationpb.Duration{Seconds: 1 << 60}}}},
		{"settings.retention[0].ttl", "INVALID_FIELD", []*transcriptv1.RetentionRule{{Ttl: &durationpb.Duration{Nanos: 1}}}},
		{"settings.retention[0]", "INVALID_FIELD", []*transcriptv1.RetentionRule{{AliasPrefix: "a"}}},
	} {
		_, err := tenants.admin.SetNamespace(t.Context(), &transcriptv1.SetNamespaceRequest{Settings: &transcriptv1.NamespaceSettings{Retention: c.rules}})
		if st, info := statusOf(t, err); st.Code() != codes.InvalidArgument || info.Reason != c.reason || !violates(st, c.field) {
			t.Errorf("%s: %v", c.field, st)
		}
	}
	good := &transcriptv1.NamespaceSettings{MaxNodes: 3, Retention: many[:100]}
	good.Retention[7] = expiring("7", 36525*24*time.Hour)
	set, err := tenants.admin.SetNamespace(t.Context(), &transcriptv1.SetNamespaceRequest{Settings: good})
	if err != nil || len(set.Settings.Retention) != 100 || set.Revision != 1 {
		t.Fatal(set, err)
	}
	if set, err = tenants.admin.SetNamespace(t.Context(), &transcriptv1.SetNamespaceRequest{Settings: set.Settings}); err != nil || set.Revision != 1 {
		t.Errorf("the same rules in another order are at revision %d, %v", set.GetRevision(), err)
	}
	stats, err := tenants.admin.NamespaceStats(t.Context(), &transcriptv1.NamespaceStatsRequest{})
	if err != nil || !proto.Equal(stats.Settings, set.Settings) {
		t.Errorf("the settings are %v, %v", stats.GetSettings(), err)
	}
}

func expiring(prefix string, ttl time.Duration) *transcriptv1.RetentionRule {
	return &transcriptv1.RetentionRule{AliasPrefix: prefix, Ttl: durationpb.New(ttl)}
}
