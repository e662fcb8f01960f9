package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/edit"
	"github.com/transcriptd/transcriptd/redact/internal/places"
	"github.com/transcriptd/transcriptd/redact/internal/values"
)

// programs take secrets with flags whose names do not say so. A flag that ends in ' ' has the secret in the next word,
// one that does not has it glued on, ':' takes what follows the colon of the next word.
var programs = map[string][]string{
	"curl": {"-u:", "--user:", "-U:", "--proxy-user:", "-b="}, "wget": {"-u:"}, "http": {"-a:", "--auth:"}, "https": {"-a:", "--auth:"},
	"mysql": {"-p"}, "mysqldump": {"-p"}, "mysqladmin": {"-p"}, "mariadb": {"-p"}, "sshpass": {"-p", "-p "},
	"redis-cli": {"-a "}, "docker": {"-p!"}, "podman": {"-p!"}, "helm": {"-p!"}, "ldapsearch": {"-w "}, "unzip": {"-P "}, "zip": {"-P "},
	"7z": {"-p"}, "mongo": {"-p "}, "mongosh": {"-p "}, "mongodump": {"-p "}, "az": {"-p!"}, "sqlcmd": {"-P "}, "smbclient": {"-U%"},
	"openssl": {"-passin:", "-passout:", "-pass:"},
}

// command is the program that a line runs, of those that take secrets with flags; with " login" behind it where it logs in.
type command string

// note remembers the program, if w is one. "docker" is one only where it logs in.
func (c *command) note(w string) {
	if *c == "" || w == "login" {
		if w == "login" {
			if *c == "docker" || *c == "podman" || *c == "helm" || *c == "az" {
				*c += " login"
			}
			return
		}
		if _, ok := programs[w]; ok {
			*c = command(w)
		}
	}
}

// flagSecret gives the secret of the flag s[i:end], which may have it glued on; 0, 0 if it has none.
func (c command) flagSecret(s string, i, end int) (from, to int) {
	program, login := strings.CutSuffix(string(c), " login")
	w := s[i:end]
	for _, f := range programs[program] {
		name, form := f, byte(0)
		if n := len(f) - 1; strings.IndexByte(": =!%", f[n]) >= 0 {
			name, form = f[:n], f[n]
		}
		if form == 0 && len(w) > len(name) && strings.HasPrefix(w, name) && !strings.HasPrefix(w, "--") {
			return glued(s, i+len(name), end)
		}
		if form == ':' && len(w) > len(name) && len(name) == 2 && strings.HasPrefix(w, name) {
			return flagValue(s, i+len(name), i, form)
		}
		if w != name || form == '!' && !login {
			continue
		}
		if from, to := flagValue(s, chars.SkipBlanks(s, end), end, form); to > 0 {
			return from, to
		}
	}
	return 0, 0
}

// glued is what is left of a shell's word after the flag.
func glued(s string, i, end int) (from, to int) {
	to = max(end, places.SpaceEnd(s, i))
	if t := s[i:to]; values.Harmless(t, "") || chars.DigitsEnd(t, 0) == len(t) && len(t) < 6 {
		return 0, 0
	}
	return i, to
}

// flagValue is the word at j, or what follows a sign in it.
func flagValue(s string, j, after int, form byte) (from, to int) {
	if j == len(s) || j == after && !chars.IsQuote(s[j]) {
		return 0, 0
	}
	start, end := j, places.SpaceEnd(s, j)
	if q, ok := places.OpenQuote(s, j); ok {
		start, end = q.Start, q.Close(s)
	} else if s[j] == '-' {
		return 0, 0
	}
	t := s[start:end]
	switch form {
	case ':', '%':
		c := strings.IndexByte(t, form)
		if c < 0 || c+1 == len(t) || chars.DigitsEnd(t, 0) == c {
			return 0, 0
		}
		start, t = start+c+1, t[c+1:]
	case '=':
		if strings.IndexByte(t, '=') < 0 {
			return 0, 0
		}
	}
	if t == "" || t == edit.Mark || values.Harmless(t, "") || values.IsReference(t) {
		return 0, 0
	}
	return start, end
}
