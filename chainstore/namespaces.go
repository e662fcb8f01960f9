package chainstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// NamespaceKeeper lists namespaces, and keeps the settings of each.
type NamespaceKeeper interface {
	// Namespaces returns the names of namespaces that something was written to, settings included, in the order of their bytes.
	Namespaces(ctx context.Context, query NamespaceQuery) ([]string, error)
	// Settings are those of a namespace, and their revision: zero where they were never set.
	Settings(ctx context.Context, namespace string) (SettingsNow, error)
	// SetSettings replaces the settings of a namespace as a whole, in a durable transaction as Commit does, and returns how they are
	// then. A change that leaves settings as they are keeps their revision, but for the first one. Every Commit that begins after it
	// returned is judged by them. Errors: ErrSettingsChanged, and those of Commit from ErrTooLarge on.
	SetSettings(ctx context.Context, namespace string, change SettingsChange) (SettingsNow, error)
	// DeleteNamespace deletes a namespace with all that it has, receipts and settings too, in one durable commit, once nobody has a Hold
	// (Collector), and tells whether there was one. When it returns, the name is as one that was never written to, no read that begins shows anything of
	// what was there, nor does a Chain of before: its methods fail with ErrNodeNotFound, or find nothing. Who writes to the name again begins a namespace
	// that has nothing to do with it. A collection of it that is under way ends. may, if not nil, is asked just before, while nobody has a Hold: its error
	// is returned, and nothing is deleted. Other errors: those of Commit from ErrTooLarge on.
	DeleteNamespace(ctx context.Context, namespace string, may func(ctx context.Context) error) (deleted bool, err error)
}

// NamespaceQuery asks for names of namespaces: those that begin with Prefix and come behind After, at most Limit.
type NamespaceQuery struct {
	Prefix, After string
	Limit         int
}

// Settings are what an operator sets of a namespace; the zero Settings are those of one of which nothing was set.
type Settings struct {
	// MaxNodes, MaxMessageBytes and MaxAliases bound what Stats counts: a change that would add to a number and make it higher than its
	// bound is refused. 0: there is no bound. Not negative.
	MaxNodes, MaxMessageBytes, MaxAliases int64
	// Retention says what is to become of aliases, in words that no store reads. At most MaxRetention bytes.
	Retention string
}

// MaxRetention is how long Settings.Retention may be. Part of the contract: may only grow.
const MaxRetention = 64 << 10

// SettingsNow are settings and their revision: that of the last change, from 1; 0 where there was none.
type SettingsNow struct {
	Settings
	Revision int64
}

// SettingsChange replaces settings.
type SettingsChange struct {
	Settings
	// Conditioned says that the change is made only at Revision. It also holds at the next one, if the settings are those of the
	// change: then this is a repeat.
	Conditioned bool
	Revision    int64
}

// After is how settings are after the change: ErrSettingsChanged where its condition does not hold.
func (c *SettingsChange) After(now SettingsNow) (SettingsNow, error) {
	same := now.Settings == c.Settings && now.Revision > 0
	switch {
	case c.Conditioned && now.Revision != c.Revision && (!same || now.Revision != c.Revision+1):
		return now, ErrSettingsChanged
	case same:
		return now, nil
	default:
		return SettingsNow{c.Settings, now.Revision + 1}, nil
	}
}

var (
	// ErrSettingsChanged: the settings of a namespace have another revision than the one named.
	ErrSettingsChanged = errors.New("the settings have another revision")
	// ErrQuota: a change would add to a number that is over its bound then. Comes in a QuotaError.
	ErrQuota = errors.New("over a quota of the namespace")
)

// Quota is a bound of a namespace.
type Quota struct {
	// What is what it bounds: "nodes", "message bytes", "aliases".
	What  string
	Limit int64
}

// QuotaError is ErrQuota, and lists every quota that the change would be over.
type QuotaError struct {
	Namespace string
	Over      []Quota
}

// Error names the quotas.
func (e *QuotaError) Error() string {
	over := make([]string, 0, len(e.Over))
	for _, q := range e.Over {
		over = append(over, fmt.Sprintf("at most %d %s", q.Limit, q.What))
	}
	return ErrQuota.Error() + ": " + strings.Join(over, ", ")
}

// Unwrap is ErrQuota.
func (e *QuotaError) Unwrap() error { return ErrQuota }

// Allow judges a change of what a namespace has by its settings: a QuotaError. What does not grow is not judged.
func (s *Settings) Allow(namespace string, before, after *Stats) error {
	var over []Quota
	for _, q := range [...]struct {
		what                 string
		before, after, limit int64
	}{
		{"nodes", before.Nodes, after.Nodes, s.MaxNodes},
		{"message bytes", before.MessageBytes, after.MessageBytes, s.MaxMessageBytes},
		{"aliases", before.Aliases, after.Aliases, s.MaxAliases},
	} {
		if q.limit > 0 && q.after > q.before && q.after > q.limit {
			over = append(over, Quota{q.what, q.limit})
		}
	}
	if over == nil {
		return nil
	}
	return &QuotaError{namespace, over}
}
