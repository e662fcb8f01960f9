// Package retention is what is to become of the aliases of a namespace: which expire, and which are held.
package retention

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

const (
	// MaxRules is how many rules a namespace has at most.
	MaxRules = 100
	// minTTL and maxTTL bound a ttl.
	minTTL = time.Minute
	maxTTL = 36_525 * 24 * time.Hour
)

// Rules are those of a namespace, in the order of their prefixes, no prefix twice.
type Rules []*transcriptv1.RetentionRule

// Parse reads the settings of a request, whose field is named, for the store.
func Parse(field string, s *transcriptv1.NamespaceSettings) (chainstore.Settings, error) {
	out := chainstore.Settings{MaxNodes: s.GetMaxNodes(), MaxMessageBytes: s.GetMaxMessageBytes(), MaxAliases: s.GetMaxAliases()}
	for _, quota := range []struct {
		field string
		n     int64
	}{{"max_nodes", out.MaxNodes}, {"max_message_bytes", out.MaxMessageBytes}, {"max_aliases", out.MaxAliases}} {
		if quota.n < 0 {
			return out, wire.InvalidField(field+"."+quota.field, "must not be negative; 0 is no limit")
		}
	}
	var err error
	out.Retention, err = encode(field+".retention", s.GetRetention())
	return out, err
}

// encode is rules as the store keeps them: equal ones in one order alone.
func encode(field string, rules Rules) (string, error) {
	if len(rules) > MaxRules {
		return "", wire.OverLimit(field, "must be at most %d rules", MaxRules)
	}
	prefixes := map[string]bool{}
	for i, r := range rules {
		field := wire.Indexed(field, i)
		if len(r.GetAliasPrefix()) > wire.MaxAliasBytes {
			return "", wire.OverLimit(field+".alias_prefix", "must be at most %d bytes", wire.MaxAliasBytes)
		}
		if prefixes[r.GetAliasPrefix()] {
			return "", wire.InvalidField(field+".alias_prefix", "must not be that of another rule: give both as one")
		}
		prefixes[r.GetAliasPrefix()] = true
		if r.GetTtl() != nil {
			if d := r.Ttl.AsDuration(); r.Ttl.CheckValid() != nil || d != 0 && d < minTTL || d > maxTTL || r.Ttl.Nanos != 0 {
				return "", wire.InvalidField(field+".ttl", fmt.Sprintf(
					"must be from %d to %d seconds, in whole seconds, 0 for ever, or absent", minTTL/time.Second, maxTTL/time.Second))
			}
		} else if !r.GetLegalHold() {
			return "", wire.InvalidField(field, "must have a ttl or legal_hold: leave out a rule that has neither")
		}
	}
	if len(rules) == 0 {
		return "", nil
	}
	sorted := slices.SortedFunc(slices.Values(rules), func(a, b *transcriptv1.RetentionRule) int {
		return strings.Compare(a.GetAliasPrefix(), b.GetAliasPrefix())
	})
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(&transcriptv1.NamespaceSettings{Retention: sorted})
	if err != nil {
		return "", fmt.Errorf("encoding the rules of a namespace: %w", err)
	}
	return string(b), nil
}

// Of are the rules of settings: chainstore.ErrCorrupt.
func Of(s *chainstore.Settings) (Rules, error) {
	if s.Retention == "" {
		return nil, nil
	}
	m := &transcriptv1.NamespaceSettings{}
	if err := proto.Unmarshal([]byte(s.Retention), m); err != nil {
		return nil, fmt.Errorf("%w: the retention of a namespace does not parse", chainstore.ErrCorrupt)
	}
	return m.Retention, nil
}

// Settings are those of the store for a reply or an archive.
func Settings(s *chainstore.Settings) (*transcriptv1.NamespaceSettings, error) {
	rules, err := Of(s)
	if err != nil {
		return nil, err
	}
	return &transcriptv1.NamespaceSettings{MaxNodes: s.MaxNodes, MaxMessageBytes: s.MaxMessageBytes, MaxAliases: s.MaxAliases, Retention: rules}, nil
}

// Held tells whether there is a hold.
func (r Rules) Held() bool {
	return slices.ContainsFunc(r, (*transcriptv1.RetentionRule).GetLegalHold)
}

// Holds tells whether an alias is held.
func (r Rules) Holds(name string) bool {
	return r.hold(name) >= 0
}

// hold is the place of the first rule that holds an alias; -1: none does.
func (r Rules) hold(name string) int {
	return slices.IndexFunc(r, func(rule *transcriptv1.RetentionRule) bool {
		return rule.LegalHold && strings.HasPrefix(name, rule.AliasPrefix)
	})
}

// Refuse is a HeldError of an alias of a namespace, which field names; nil where it is not held.
func (r Rules) Refuse(namespace, field, name string) error {
	rule := r.hold(name)
	if rule < 0 {
		return nil
	}
	return &HeldError{Field: field, Namespace: namespace, Alias: name, Prefix: r[rule].AliasPrefix}
}

// ttl is how long an alias stays; 0: it does not expire.
func (r Rules) ttl(name string) time.Duration {
	var ttl time.Duration
	for _, rule := range r {
		switch {
		case !strings.HasPrefix(name, rule.AliasPrefix):
		case rule.LegalHold:
			return 0
		case rule.Ttl != nil: // a longer prefix comes behind
			ttl = rule.Ttl.AsDuration()
		}
	}
	return ttl
}

// expiring are the prefixes of all aliases that may expire; none begins with another.
func (r Rules) expiring() (prefixes []string) {
	return r.prefixes(func(rule *transcriptv1.RetentionRule) bool { return rule.GetTtl().AsDuration() > 0 })
}

// holding are the prefixes of all aliases that are held, likewise.
func (r Rules) holding() (prefixes []string) {
	return r.prefixes((*transcriptv1.RetentionRule).GetLegalHold)
}

func (r Rules) prefixes(of func(*transcriptv1.RetentionRule) bool) (prefixes []string) {
	for _, rule := range r {
		if n := len(prefixes); of(rule) && (n == 0 || !strings.HasPrefix(rule.AliasPrefix, prefixes[n-1])) {
			prefixes = append(prefixes, rule.AliasPrefix)
		}
	}
	return prefixes
}
