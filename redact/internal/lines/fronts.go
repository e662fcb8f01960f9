package lines

import (
	"strings"

	"github.com/transcriptd/transcriptd/redact/internal/chars"
	"github.com/transcriptd/transcriptd/redact/internal/looks"
)

// Signs stand before a line's first word: of lists, quotations, comments, diffs, curl -v and numbered lines.
const Signs = " \t\r-+*>#<`\"'|0123456789.):→"

// MaxFront is how much of a line may stand before a name that begins it.
const MaxFront = 160

// IsFront says whether t is what tools put before a line: grep a file and a number, loggers the time and the level, compose
// the name of a service.
func IsFront(t string) bool {
	return isPlace(t) || isLogHead(t) || isService(t)
}

// isPlace: conf/app.yml:12: or conf/app.yml-12- or conf/app.yml:
func isPlace(t string) bool {
	path := strings.TrimRight(t, " \t+*>\"'`:-")
	if n := len(strings.TrimRight(path, "0123456789")); n > 0 && n < len(path) && (path[n-1] == ':' || path[n-1] == '-') {
		path = path[:n-1]
	} else if !strings.HasPrefix(t[len(path):], ":") {
		return false
	}
	dot := strings.LastIndexByte(path, '.')
	return dot >= 0 && dot < len(path)-1 && len(path)-dot <= 12 && looks.IsIdent(path[dot+1:]) && !strings.ContainsAny(path, " \t(){}[]<>=;,\"'`@")
}

// quiet are the levels at which loggers tell what they see, not what is wrong with it.
var quiet = chars.Words(`info debug trace notice verbose log stdout stderr inf dbg`)

// isLogHead: 2026-03-01T10:00:00Z [INFO]
func isLogHead(t string) bool {
	any := false
	for f := range strings.FieldsSeq(t) {
		f = strings.Trim(f, "[](){}<>:|,-=")
		if f != "" && !isStamp(f) && !quiet[strings.ToLower(f)] {
			return false
		}
		any = any || f != ""
	}
	return any
}

// isStamp: a date, a time, or both.
func isStamp(t string) bool {
	for i := 0; i < len(t); i++ {
		if !chars.IsDigit(t[i]) && strings.IndexByte("-:.,/+TZ", t[i]) < 0 {
			return false
		}
	}
	return chars.IsDigit(t[0])
}

// isService: web-1  |
func isService(t string) bool {
	name, rest, found := strings.Cut(strings.TrimLeft(t, " "), "|")
	name = strings.TrimRight(name, " ")
	return found && strings.Trim(rest, Signs) == "" && name != "" && looks.IsAlnumText(name) && chars.IsAlpha(name[0])
}
