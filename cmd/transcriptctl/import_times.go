package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/timestamppb"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// timeMembers are the members of a message that import reads its time from: the first that is one is taken.
type timeMembers []string

// newTimeMembers are the usual ones, behind another where one is named.
func newTimeMembers(other string) timeMembers {
	if other == "" {
		return timeMembers{"timestamp", "created_at"}
	}
	return timeMembers{other, "timestamp", "created_at"}
}

// otherTimes are members in which other programs keep times. They are read only where --time-member names them, for in some the
// time is another than that at which the message was sent.
var otherTimes = []string{"create_time", "created", "createdAt", "date", "datetime", "sent_at", "sentAt", "time", "timestamp_ms", "ts"}

// unreadTime is a time that was not read: a member's value of a form that is no time's, or a time in another member, without a form.
type unreadTime struct{ file, member, form string }

// notes are the times of messages, one note for each; nil where none has a time. unread has, without the file, what was not read of
// those that have none.
func (t timeMembers) notes(messages []*transcriptv1.Message) (notes []*transcriptv1.MessageNote, unread []unreadTime) {
	for i, m := range messages {
		at, no := t.readMessage(m)
		switch {
		case no.member != "":
			unread = append(unread, no)
		case at != nil:
			if notes == nil {
				notes = make([]*transcriptv1.MessageNote, len(messages))
				for k := range notes {
					notes[k] = &transcriptv1.MessageNote{}
				}
			}
			notes[i].SentAt = at
		}
	}
	return notes, unread
}

// readMessage is the time of a message, or the one that was not read. Where a form has the members of what the message is of in those of
// another, a result of Anthropic's or the first item of a turn in Responses, these tell it.
func (t timeMembers) readMessage(m *transcriptv1.Message) (at *timestamppb.Timestamp, unread unreadTime) {
	first := ""
	if len(m.GetParts()) > 0 {
		first = inner(m.GetParts()[0].GetExtras(), "item")
	}
	for _, extras := range []string{m.GetExtras(), inner(m.GetExtras(), "message"), first} {
		found, no := t.read(extras)
		if found != nil {
			return found, unreadTime{}
		}
		if unread.member == "" {
			unread = no
		}
	}
	return nil, unread
}

// inner is an object that is a member of extras; empty where there is none.
func inner(extras, member string) string {
	var members map[string]json.RawMessage
	if extras == "" || json.Unmarshal([]byte(extras), &members) != nil {
		return ""
	}
	return string(members[member])
}

// read is the time that a message's further members tell, or the one that was not read; neither where they have none.
func (t timeMembers) read(extras string) (at *timestamppb.Timestamp, unread unreadTime) {
	if extras == "" {
		return nil, unread
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(extras), &members) != nil {
		return nil, unread
	}
	for _, name := range t {
		value, there := members[name]
		if !there || string(value) == "null" {
			continue
		}
		if ms, ok := readTime(value); ok {
			return timestamppb.New(time.UnixMilli(ms)), unreadTime{}
		}
		if unread.member == "" {
			unread = unreadTime{member: name, form: formOf(value)}
		}
	}
	if unread.member != "" {
		return nil, unread
	}
	for _, name := range otherTimes {
		if _, ok := readTime(members[name]); ok && !slices.Contains(t, name) {
			return nil, unreadTime{member: name}
		}
	}
	return nil, unread
}

const (
	// firstMillis is the first number that is taken for milliseconds, in 1973; as seconds it would be in the year 5138.
	firstMillis = 100_000_000_000
	// lastMillis is the last millisecond of the year 9999.
	lastMillis = 253_402_300_799_999
)

var (
	numberTime = regexp.MustCompile(`^([0-9]{1,15})(?:\.([0-9]{1,20}))?$`)
	rfc3339    = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,20})?([Zz]|[+-][0-9]{2}:[0-9]{2})$`)
)

// readTime reads seconds, milliseconds, both as numbers or as texts, or RFC 3339, to the millisecond. What is not behind the
// beginning of 1970, or is behind 9999, is no time.
func readTime(value json.RawMessage) (ms int64, ok bool) {
	text, isText := string(value), false
	if len(value) > 0 && value[0] == '"' {
		if isText = true; json.Unmarshal(value, &text) != nil {
			return 0, false
		}
	}
	if parts := numberTime.FindStringSubmatch(text); parts != nil {
		ms = numberMillis(parts[1], parts[2])
	} else if isText && rfc3339.MatchString(text) {
		at, err := time.Parse(time.RFC3339, strings.Replace(strings.ToUpper(text), " ", "T", 1))
		if err != nil {
			return 0, false
		}
		ms = at.UnixMilli()
	}
	return ms, ms > 0 && ms <= lastMillis
}

// numberMillis is the time that digits before and behind the point say; 15 digits at most are before it.
func numberMillis(whole, fraction string) int64 {
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n >= firstMillis {
		return n
	}
	thousandths, err := strconv.ParseInt((fraction + "000")[:3], 10, 64)
	if err != nil {
		return 0
	}
	return n*1000 + thousandths
}

// maxForm is how many characters of a value its form is told of.
const maxForm = 40

// formOf tells what a value looks like without telling what it is: 0 stands for each digit, a for each letter.
func formOf(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "true or false"
	case '"':
		var text string
		if json.Unmarshal(value, &text) != nil || text == "" {
			return "an empty text"
		}
		return "the text " + shape(text, 'a')
	default:
		return "the number " + shape(string(value), 'e')
	}
}

// shape is the beginning of a text with 0 for each digit and one letter for all.
func shape(text string, letter rune) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > maxForm {
			return b.String() + "..."
		}
		switch {
		case unicode.IsDigit(r):
			r = '0'
		case unicode.IsLetter(r):
			r = letter
		case r < ' ' || r > '~':
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}
