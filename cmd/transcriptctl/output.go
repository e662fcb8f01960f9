package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// printReply prints a reply of the server as one line of JSON.
func (s *session) printReply(m proto.Message) error {
	line, err := protoLine(m)
	if err != nil {
		return err
	}
	_, err = s.out.Write(append(line, '\n'))
	return err
}

// protoLine is a message as JSON without white space; protojson's own varies from build to build.
func protoLine(m proto.Message) ([]byte, error) {
	loose, err := protojson.MarshalOptions{EmitUnpopulated: false}.Marshal(m)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	err = json.Compact(&line, loose)
	return visibleJSON(line.Bytes()), err
}

// visibleJSON makes JSON safe for a terminal, by escapes that mean the same. What it is made of besides strings has no such characters.
func visibleJSON(text []byte) []byte {
	if bytes.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// printJSON prints a value of the tool's own as one line of JSON.
func (s *session) printJSON(v any) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := s.out.Write(visibleJSON(line.Bytes()))
	return err
}

// printJSONOr prints a value of the tool's own as a line of JSON where that is asked for, else a line of text.
func (s *session) printJSONOr(v any, text string) error {
	if s.json {
		return s.printJSON(v)
	}
	return s.printLine("%s", text)
}

// printRows prints names and values in two columns.
func (s *session) printRows(rows [][2]string) error {
	t := s.table(left(""), left(""))
	t.headless = true
	for _, r := range rows {
		t.fit([][]string{r[:1]})
	}
	for _, r := range rows {
		if err := t.row(r[:]); err != nil {
			return err
		}
	}
	return nil
}

// printLine prints one line and hands it on at once where more may take a while.
func (s *session) printLine(format string, args ...any) error {
	_, err := fmt.Fprintf(s.out, format+"\n", args...)
	return err
}

// shortDigits is how many digits of an id a table shows.
const shortDigits = 12

func short(id string) string {
	if len(id) > shortDigits {
		return id[:shortDigits]
	}
	return id
}

// clock is a time as tables show it: UTC, to the second.
func clock(t *timestamppb.Timestamp) string {
	if t == nil {
		return "-"
	}
	return t.AsTime().UTC().Format(time.RFC3339)
}

// count is a number with its noun: "1 node", "2 nodes".
func count[N int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// visible makes text safe for a terminal: control characters other than newline and tab are shown as Go escapes.
func visible(text string) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			b.WriteString(escape(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control))
}

func escape(r rune) string {
	if r < 0x100 {
		return fmt.Sprintf(`\x%02x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// name is an alias as tables show it: on one line.
func name(alias string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(visible(alias))
}

// previewRunes is how much of a message a line shows.
const previewRunes = 60

// preview is the beginning of a text on one line.
func preview(text string) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if n >= previewRunes {
			return b.String() + "…"
		}
		if space {
			b.WriteByte(' ')
			n, space = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return visible(b.String())
}

// messageLine is what a message says, in a few words: its text, else its calls, else what kinds of part it has.
func messageLine(m *transcriptv1.Message) string {
	var words []string
	for _, p := range m.GetParts() {
		if line := partLine(p); line != "" {
			words = append(words, line)
		}
		if utf8.RuneCountInString(strings.Join(words, " ")) > previewRunes {
			break
		}
	}
	return preview(strings.Join(words, " "))
}

func partLine(p *transcriptv1.Part) string {
	switch k := p.GetKind().(type) {
	case *transcriptv1.Part_Text:
		return k.Text
	case *transcriptv1.Part_ToolCall:
		return "→" + k.ToolCall.GetName() + "(" + k.ToolCall.GetArguments() + ")"
	case *transcriptv1.Part_Media:
		return "[" + mediaName(k.Media) + "]"
	case *transcriptv1.Part_Json:
		return "[json]"
	case *transcriptv1.Part_Opaque:
		return opaqueText(k.Opaque)
	}
	return ""
}

func mediaName(m *transcriptv1.Media) string {
	if m.GetMediaType() == "" {
		return "media"
	}
	return m.GetMediaType()
}

// roleName is a role as people write it: "assistant".
func roleName(r transcriptv1.Role) string {
	return strings.ToLower(strings.TrimPrefix(r.String(), "ROLE_"))
}

// roleNames is the roles of a node's messages, repeated ones counted: "tool×3".
func roleNames(roles []transcriptv1.Role) string {
	var words []string
	for i := 0; i < len(roles); {
		n := 1
		for i+n < len(roles) && roles[i+n] == roles[i] {
			n++
		}
		word := roleName(roles[i])
		if n > 1 {
			word = fmt.Sprintf("%s×%d", word, n)
		}
		words = append(words, word)
		i += n
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ",")
}
