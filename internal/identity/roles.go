package identity

import (
	"fmt"
	"strings"
)

// roles are the names of roles in files and on command lines. Part of what users keep: they must not change.
var roles = [...]struct {
	role Role
	name string
}{{Read, "read"}, {Append, "append"}, {Erase, "erase"}, {Operate, "operate"}, {Backup, "backup"}, {Admin, "admin"}}

// ParseRole is the role of a name.
func ParseRole(name string) (Role, error) {
	for _, r := range roles {
		if r.name == name {
			return r.role, nil
		}
	}
	return 0, fmt.Errorf("%q is no role: they are %s", name, strings.Join((^Role(0)).Names(), ", "))
}

// Names are the names of a set of roles, in a fixed order.
func (r Role) Names() (names []string) {
	for _, known := range roles {
		if r&known.role != 0 {
			names = append(names, known.name)
		}
	}
	return names
}

// ParsePattern refuses what is no pattern: a name, or a prefix of one, of a-z, 0-9, '.', '_' and '-', with at most one "*", at its end.
func ParsePattern(text string) (Pattern, error) {
	name := strings.TrimSuffix(text, "*")
	if text == "" || len(name) > maxNamespace || strings.ContainsFunc(name, notInNamespace) {
		return "", fmt.Errorf("%q is no pattern of namespaces: it must be a namespace, a prefix with * behind it, or * for all; a namespace is "+
			"1 to %d of a-z, 0-9, '.', '_' and '-'", text, maxNamespace)
	}
	return Pattern(text), nil
}

const maxNamespace = 64

func notInNamespace(c rune) bool {
	return !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-')
}
