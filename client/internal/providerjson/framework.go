package providerjson

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/transcriptd/transcriptd/canonical"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// FrameworkMember is the member of extras, of messages and of parts, that holds a framework's own members. No provider is sent it.
const FrameworkMember = "framework"

// FrameworksOwn is why what is a framework's own is left out.
const FrameworksOwn = "is a framework's own"

// Inner names the members of extras that hold members of another object of the provider's: of a message's extras, and of its parts'. Empty: there
// is none.
type Inner struct{ Message, Part string }

// ForProvider is a message without what is a framework's own in its extras, in those of its parts, and in the inner members of both. Each that
// goes is reported as LeftOut. m stays as it is, and is returned where nothing goes.
func ForProvider(m *transcriptv1.Message, path string, inner Inner, report *Report) (*transcriptv1.Message, error) {
	extras, err := withoutFramework(m.GetExtras(), path+".extras", inner.Message, report)
	if err != nil {
		return nil, err
	}
	parts := m.GetParts()
	for i, p := range parts {
		own, err := withoutFramework(p.GetExtras(), Index(path+".parts", i)+".extras", inner.Part, report)
		if err != nil {
			return nil, err
		}
		if own == p.GetExtras() {
			continue
		}
		parts = slices.Clone(parts)
		parts[i] = proto.CloneOf(p)
		parts[i].Extras = own
	}
	if extras == m.GetExtras() && len(parts) == len(m.GetParts()) && slices.Equal(parts, m.GetParts()) {
		return m, nil
	}
	out := proto.CloneOf(m)
	out.Extras, out.Parts = extras, parts
	if out.ContentForm == 0 && ListForm(m.GetParts()) == 0 { // a text that had no other extras stays in a list
		out.ContentForm = ListForm(parts)
	}
	return out, nil
}

// withoutFramework are extras without FrameworkMember, at their top and in the member inner.
func withoutFramework(extras, path, inner string, report *Report) (string, error) {
	if !strings.Contains(extras, `"`+FrameworkMember+`"`) {
		return extras, nil
	}
	v, err := ReadExtras(extras, path)
	if err != nil {
		return "", err
	}
	n, gone := NewObject(), false
	for _, m := range v.Members {
		switch {
		case m.Name == FrameworkMember:
			gone = true
			report.Add(Change{Path: Join(path, FrameworkMember), Kind: LeftOut, Why: FrameworksOwn})
		case inner != "" && m.Name == inner && m.Value.Member(FrameworkMember) != nil:
			rest, err := withoutFramework(string(m.Value.Source), Join(path, inner), "", report)
			if err != nil {
				return "", err
			}
			if gone = true; rest != "" {
				n.Set(m.Name, Raw(rest))
			}
		default:
			n.Set(m.Name, Raw(m.Value.Source))
		}
	}
	switch {
	case !gone:
		return extras, nil
	case n.Len() == 0:
		return "", nil
	}
	return Compact(n.Append(nil), path)
}

// AllForProvider are messages in their places, each ForProvider. Opaque messages, which no provider is sent, stay as they are, and are
// reported as LeftOut.
func AllForProvider(messages []*transcriptv1.Message, inner Inner, report *Report) (all []*transcriptv1.Message, err error) {
	all = slices.Clone(messages)
	for i, m := range messages {
		path := Index("messages", i)
		if canonical.IsOpaque(m) {
			report.Add(Change{Path: path, Kind: LeftOut, Why: FrameworksOwn})
			continue
		}
		if all[i], err = ForProvider(m, path, inner, report); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// WithoutOpaque is AllForProvider without the opaque messages; paths are those of the messages that stay.
func WithoutOpaque(messages []*transcriptv1.Message, inner Inner, report *Report) (sent []*transcriptv1.Message, paths []string, err error) {
	all, err := AllForProvider(messages, inner, report)
	for i, m := range all {
		if !canonical.IsOpaque(messages[i]) {
			sent, paths = append(sent, m), append(paths, Index("messages", i))
		}
	}
	return sent, paths, err
}
