package redact

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
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

// noteCommand remembers the program that a line runs. "docker" is one only where it logs in.
func (sc *scanner) noteCommand(w string) {
	if sc.command == "" || w == "login" {
		if w == "login" {
			if sc.command == "docker" || sc.command == "podman" || sc.command == "helm" || sc.command == "az" {
				sc.command += " login"
			}
			return
		}
		if _, ok := programs[w]; ok {
			sc.command = w
		}
	}
}

// flag takes the secret of the flag [i, end), which may have it glued on.
func (sc *scanner) flag(i, end int) int {
	program, login := strings.CutSuffix(sc.command, " login")
	w := sc.s[i:end]
	for _, f := range programs[program] {
		name, form := f, byte(0)
		if n := len(f) - 1; strings.IndexByte(": =!%", f[n]) >= 0 {
			name, form = f[:n], f[n]
		}
		if form == 0 && len(w) > len(name) && strings.HasPrefix(w, name) && !strings.HasPrefix(w, "--") {
			return sc.glued(i+len(name), end)
		}
		if form == ':' && len(w) > len(name) && len(name) == 2 && strings.HasPrefix(w, name) {
			return sc.flagValue(i+len(name), i, form)
		}
		if w != name || form == '!' && !login {
			continue
		}
		if next := sc.flagValue(chars.SkipBlanks(sc.s, end), end, form); next > 0 {
			return next
		}
	}
	return 0
}

// glued takes what is left of a shell's word after the flag.
func (sc *scanner) glued(i, end int) int {
	to := max(end, spaceEnd(sc.s, i))
	if t := sc.s[i:to]; harmless(t, "") || chars.DigitsEnd(t, 0) == len(t) && len(t) < 6 {
		return 0
	}
	return sc.take(i, to)
}

// flagValue takes the next word, or what follows a sign in it.
func (sc *scanner) flagValue(j, after int, form byte) int {
	s := sc.s
	if j == len(s) || j == after && !chars.IsQuote(s[j]) {
		return 0
	}
	start, end := j, spaceEnd(s, j)
	if q, ok := openQuote(s, j); ok {
		start, end = q.start, q.close(s)
	} else if s[j] == '-' {
		return 0
	}
	t := s[start:end]
	switch form {
	case ':', '%':
		c := strings.IndexByte(t, form)
		if c < 0 || c+1 == len(t) || chars.DigitsEnd(t, 0) == c {
			return 0
		}
		start, t = start+c+1, t[c+1:]
	case '=':
		if strings.IndexByte(t, '=') < 0 {
			return 0
		}
	}
	if t == "" || t == Mark || harmless(t, "") || isReference(t) {
		return 0
	}
	return sc.take(start, end)
}
