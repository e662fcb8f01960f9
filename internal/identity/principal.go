// Package identity says who calls a server, and what they may do there: principals, their grants, and the roles of these.
package identity

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Role is a set of roles. No role holds another.
type Role uint8

const (
	// Read is to read what a namespace has.
	Read Role = 1 << iota
	// Append is to put nodes, to compact, and to set and delete aliases.
	Append
	// Erase is to take away what was put, for good.
	Erase
	// Operate is to look after a namespace or a server: counts, checks, metrics. It sees no content.
	Operate
	// Backup is to read everything of a namespace, in order to keep it elsewhere.
	Backup
	// Admin is to say who may do what, and how much of it.
	Admin
)

// Pattern covers namespaces: a name covers that namespace, a prefix with "*" behind it those whose names begin so, "*" all.
type Pattern string

// Everything is the pattern that covers every namespace, and the store itself.
const Everything Pattern = "*"

// Covers tells whether a namespace is covered.
func (p Pattern) Covers(namespace string) bool {
	if prefix, open := strings.CutSuffix(string(p), "*"); open {
		return strings.HasPrefix(namespace, prefix)
	}
	return string(p) == namespace
}

// Grant gives roles on the namespaces that a pattern covers.
type Grant struct {
	Roles      Role
	Namespaces Pattern
}

// Rate bounds the calls of a principal; the zero Rate bounds none.
type Rate struct {
	// PerSecond is how many calls a second, on average, Burst how many at once.
	PerSecond float64
	Burst     int
}

// Principal is who calls. It does not change.
type Principal struct {
	// Name is unique among the principals of a server: two of one name are the same, whose token was read twice.
	Name string
	// Entry is what it is known by, where several principals are by the same: the rule for JWTs whose callers have names of their own. Empty: it
	// is known by its own name.
	Entry  string
	Grants []Grant
	Rate   Rate
}

// Party is by what it is known: the name of an entry of the file of principals, of which there are few. Metrics have it, and all who are known by
// one have one share of a server, however many they are.
func (p *Principal) Party() string {
	if p.Entry != "" {
		return p.Entry
	}
	return p.Name
}

// May tells whether a grant gives the role on a namespace.
func (p *Principal) May(role Role, namespace string) bool {
	return p.any(role, func(on Pattern) bool { return on.Covers(namespace) })
}

// MayEverywhere tells whether a grant gives the role on every namespace and the store itself.
func (p *Principal) MayEverywhere(role Role) bool {
	return p.any(role, func(on Pattern) bool { return on == Everything })
}

// Where are the patterns of the grants that give the role, in the order of the names that they cover, no name twice.
func (p *Principal) Where(role Role) (patterns []Pattern) {
	for _, g := range p.Grants {
		if g.Roles&role == role {
			patterns = append(patterns, g.Namespaces)
		}
	}
	slices.SortFunc(patterns, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(a.prefix(), b.prefix()), cmp.Compare(b, a)) // of one prefix the open one first, which covers the other
	})
	apart := patterns[:0]
	for _, p := range patterns {
		if n := len(apart); n == 0 || p != apart[n-1] && !apart[n-1].holds(p) {
			apart = append(apart, p)
		}
	}
	return apart
}

// prefix is what every name begins with that is covered.
func (p Pattern) prefix() string { return strings.TrimSuffix(string(p), "*") }

// holds tells whether an open pattern covers all that another does.
func (p Pattern) holds(other Pattern) bool {
	prefix, open := strings.CutSuffix(string(p), "*")
	return open && strings.HasPrefix(other.prefix(), prefix)
}

func (p *Principal) any(role Role, covers func(Pattern) bool) bool {
	for _, g := range p.Grants {
		if g.Roles&role == role && covers(g.Namespaces) {
			return true
		}
	}
	return false
}

var (
	// ErrUnauthenticated: the credentials name nobody, or are not valid, not yet or not any more.
	ErrUnauthenticated = errors.New("the caller is not known")
	// ErrUnavailable: what tells who callers are cannot be read now, so nobody is known.
	ErrUnavailable = errors.New("callers cannot be told apart now")
)
