package wire

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Limits of what notes tell beside sent_at, token_count and estimated, in bytes as they are encoded. Part of the contract: may only grow.
const (
	MaxNoteBytes = 1 << 10
	// MaxDetailBytes is that of a node.
	MaxDetailBytes = 64 << 10

	MaxAttributes          = 16
	MaxAttributeKeyBytes   = 64
	MaxAttributeValueBytes = 256
)

// ParseNotes reads the notes of so many messages, none or one for each, and their details, nil for none.
func ParseNotes(notes []*transcriptv1.MessageNote, messages int) ([]runloop.Note, []chainstore.Detail, error) {
	if len(notes) == 0 {
		return nil, nil, nil
	}
	if len(notes) != messages {
		return nil, nil, InvalidField("notes", "must be none, or one for each message")
	}
	parsed, details, bytes := make([]runloop.Note, len(notes)), make([]chainstore.Detail, len(notes)), 0
	for i, note := range notes {
		field := Indexed("notes", i)
		var err error
		if parsed[i], err = parseNote(field, note); err != nil {
			return nil, nil, err
		}
		if details[i], err = parseDetail(field, note); err != nil {
			return nil, nil, err
		}
		if bytes += DetailBytes(&details[i]); bytes > MaxDetailBytes {
			return nil, nil, OverLimit("notes", "must be at most %d bytes in all, beside each sent_at, token_count and token_count_estimated", MaxDetailBytes)
		}
	}
	return parsed, details, nil
}

func parseNote(field string, note *transcriptv1.MessageNote) (runloop.Note, error) {
	if note.GetTokenCount() < 0 {
		return runloop.Note{}, InvalidField(field+".token_count", "must not be negative")
	}
	n := runloop.Note{Tokens: uint32(note.GetTokenCount()), HasTokens: note.TokenCount != nil, Estimated: note.GetTokenCountEstimated()}
	if n.Estimated && !n.HasTokens {
		return n, InvalidField(field+".token_count_estimated", "must not be set without token_count")
	}
	if note.GetSentAt() == nil {
		return n, nil
	}
	ms, ok := Milliseconds(note.GetSentAt())
	if !ok {
		return n, InvalidField(field+".sent_at", "must be a time from 1970 to 9999")
	}
	n.SentAt, n.HasSentAt = ms, true
	return n, nil
}

func parseDetail(field string, note *transcriptv1.MessageNote) (d chainstore.Detail, err error) {
	for _, n := range []struct {
		name  string
		given *int32
		to    **int32
	}{
		{"input_tokens", note.InputTokens, &d.Input}, {"output_tokens", note.OutputTokens, &d.Output}, {"cached_tokens", note.CachedTokens, &d.Cached},
	} {
		if n.given != nil && *n.given < 0 {
			return d, InvalidField(field+"."+n.name, "must not be negative")
		}
		*n.to = n.given
	}
	for _, step := range []struct {
		name string
		take func()
	}{
		{"model", func() { d.Model = note.GetModel() }},
		{"finish_reason", func() { d.FinishReason = note.GetFinishReason() }},
		{"attributes", func() { d.Attributes, err = parseAttributes(field+".attributes", note.GetAttributes()) }},
	} {
		if step.take(); err != nil {
			return d, err
		}
		if DetailBytes(&d) > MaxNoteBytes {
			return d, OverLimit(field+"."+step.name, "must be at most %d bytes, with what else the note has beside sent_at, token_count and token_count_estimated", MaxNoteBytes)
		}
	}
	return d, nil
}

func parseAttributes(field string, given map[string]string) (all []chainstore.Attribute, err error) {
	if len(given) > MaxAttributes {
		return nil, OverLimit(field, "must have at most %d entries", MaxAttributes)
	}
	for key, value := range given {
		switch {
		case key == "":
			return nil, InvalidField(field, "must not have an empty key")
		case len(key) > MaxAttributeKeyBytes:
			return nil, OverLimit(field, "must have keys of at most %d bytes", MaxAttributeKeyBytes)
		case len(value) > MaxAttributeValueBytes:
			return nil, OverLimit(field, "must have values of at most %d bytes", MaxAttributeValueBytes)
		}
		all = append(all, chainstore.Attribute{Key: key, Value: value})
	}
	slices.SortFunc(all, func(a, b chainstore.Attribute) int { return cmp.Compare(a.Key, b.Key) })
	return all, nil
}

// DetailBytes is what a detail takes in a note as it is encoded.
func DetailBytes(d *chainstore.Detail) int {
	if d.Empty() {
		return 0
	}
	return proto.Size(messageNote(&runloop.Note{}, d))
}

// Details are those of the row's messages; nil where none were put.
func Details(row *chainstore.Row) ([]chainstore.Detail, error) {
	return chainstore.DecodeDetails(row.Details, row.Raw.MessageCount())
}

// Notes are those of the messages that were put in a node; nil where none were. details are none, or one for each message.
func Notes(messages []runloop.Brief, details []chainstore.Detail) []*transcriptv1.MessageNote {
	var l NoteList
	for i := range messages {
		l.Add(&messages[i].Note, DetailAt(details, i))
	}
	return l.List()
}

// DetailAt is the detail of message i; nil where there are none.
func DetailAt(details []chainstore.Detail, i int) *chainstore.Detail {
	if details == nil {
		return nil
	}
	return &details[i]
}

// NoteList gathers notes.
type NoteList struct {
	// notes are nil as long as all are empty, of which there are so many.
	notes []*transcriptv1.MessageNote
	empty int
}

// Add adds a note; detail may be nil.
func (l *NoteList) Add(n *runloop.Note, detail *chainstore.Detail) {
	if l.notes == nil {
		if (*n == runloop.Note{}) && (detail == nil || detail.Empty()) {
			l.empty++
			return
		}
		for range l.empty {
			l.notes = append(l.notes, &transcriptv1.MessageNote{})
		}
	}
	l.notes = append(l.notes, messageNote(n, detail))
}

// List is nil where all are empty.
func (l *NoteList) List() []*transcriptv1.MessageNote { return l.notes }

func messageNote(n *runloop.Note, d *chainstore.Detail) *transcriptv1.MessageNote {
	note := &transcriptv1.MessageNote{TokenCountEstimated: n.Estimated}
	if n.HasSentAt {
		note.SentAt = Timestamp(n.SentAt)
	}
	if n.HasTokens {
		tokens := Count(n.Tokens) // stores of format 1 may have more than replies can tell
		note.TokenCount = &tokens
	}
	if d == nil {
		return note
	}
	note.Model, note.FinishReason = d.Model, d.FinishReason
	note.InputTokens, note.OutputTokens, note.CachedTokens = d.Input, d.Output, d.Cached
	for _, a := range d.Attributes {
		if note.Attributes == nil {
			note.Attributes = make(map[string]string, len(d.Attributes))
		}
		note.Attributes[a.Key] = a.Value
	}
	return note
}
