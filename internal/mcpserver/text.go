package mcpserver

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// shortID is the digits of a node's id where it is shown; the whole id stands where a call needs it.
const shortID = 12

func chars(s string) int { return utf8.RuneCountInString(s) }

// clip is a text of at most n characters.
func clip(s string, n int) string {
	if len(s) <= n || chars(s) <= n {
		return s
	}
	return s[:offset(s, n-1)] + "…"
}

// offset is where the n-th character of a text begins, or its end.
func offset(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for i := range s {
		if n--; n < 0 {
			return i
		}
	}
	return len(s)
}

// beginning is as many whole lines of a text as fit into n characters, or n characters where its first lines are longer than half of
// that.
func beginning(s string, n int) string {
	if len(s) <= n || chars(s) <= n {
		return s
	}
	return wholeLines(s[:offset(s, n)])
}

// wholeLines is a text up to its last line, or all of it where that line is the longer half.
func wholeLines(s string) string {
	if i := strings.LastIndexByte(s, '\n'); i > len(s)/2 {
		return s[:i+1]
	}
	return s
}

// beginningIndented is as much of a text as takes n characters once it is indented, cut as beginning cuts it; at least one character.
func beginningIndented(s string, n int) string {
	for i, r := range s {
		if n--; strings.ContainsRune(breaks, r) {
			n--
		}
		if n <= 0 && i > 0 {
			return wholeLines(s[:i])
		}
	}
	return s
}

// breaks are the characters behind which a reader may see a new line.
const breaks = "\n\v\f\r\u0085\u2028\u2029"

// indent puts a space before each line, so that no content looks like a line of this package's.
func indent(s string) string {
	s = strings.TrimSuffix(s, "\n")
	var b strings.Builder
	b.WriteByte(' ')
	for i, r := range s {
		b.WriteRune(r)
		if strings.ContainsRune(breaks, r) && !strings.HasPrefix(s[i:], "\r\n") {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// oneLine is a name as it is, with what would begin a new line written as in a string of Go. An alias may hold such a character.
func oneLine(s string) string {
	if !strings.ContainsAny(s, breaks) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(breaks, r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// inline is a text in one line of at most n characters.
func inline(s string, n int) string {
	return clip(strings.Join(strings.Fields(s), " "), n)
}

func clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().UTC().Format(time.RFC3339)
}

func place(p *transcriptv1.MessagePlace) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%s.%d", clip12(p.GetNodeId()), p.GetMessageIndex())
}

func clip12(id string) string { return id[:min(len(id), shortID)] }

func enumName(s fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), prefix))
}

func roleName(r transcriptv1.Role) string { return enumName(r, "ROLE_") }

// next is the line that says how to get what did not fit.
func next(tool, cursor, what string) string {
	return fmt.Sprintf("next: call %s with the same arguments and cursor=%q %s", tool, cursor, what)
}

// fitted asks for a page and for a smaller one where its lines are too many for a reply, so that the server's token says exactly where
// the next page begins.
func fitted[R any](size int, ask func(size int) (R, error), lines func(R) []string, room int) (reply R, shown []string, err error) {
	for {
		reply, err = ask(size)
		if err != nil {
			return reply, nil, err
		}
		shown = lines(reply)
		n, used := 0, 0
		for ; n < len(shown); n++ {
			if used += chars(shown[n]) + 1; used > room {
				break
			}
		}
		if n == len(shown) {
			return reply, shown, nil
		}
		if n == 0 { // one entry alone is too long, which no limit of an entry allows
			shown = []string{clip(shown[0], room-1)}
			if size == 1 {
				return reply, shown, nil
			}
			n = 1
		}
		size = min(n, size-1)
	}
}
