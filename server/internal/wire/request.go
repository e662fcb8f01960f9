package wire

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Limits on requests, beside those of package canonical on what is hashed.
const (
	DefaultNamespace = "default"
	MaxNamespace     = 64
	MaxAliasBytes    = 512
	// MaxAliases is the aliases of a call, MaxNodes the nodes, MaxMessages their messages, MaxCalls their tool calls
	// and results.
	MaxAliases = 1000
	// MaxStates is the states of all aliases of a Restore.
	MaxStates   = 10_000
	MaxNodes    = 1000
	MaxMessages = 10_000
	MaxCalls    = 10_000

	MaxLabels          = 64
	MaxLabelKeyBytes   = 256
	MaxLabelValueBytes = 4 << 10

	// MaxToolNames is the names of tools that a filter has.
	MaxToolNames = 64

	defaultPage = 100
	MaxPage     = 1000
	// PageBytes is about the most that a page of aliases takes, whatever their labels.
	PageBytes = 1 << 20
	// ListChunk is how many entries of a list are read at a time, so that what a page holds in memory stays small.
	ListChunk = 64
)

// Namespace is what a request means.
func Namespace(name string) string {
	if name == "" {
		return DefaultNamespace
	}
	return name
}

// CheckNamespace refuses what no namespace is named; empty is DefaultNamespace.
func CheckNamespace(name string) error {
	bad := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
	}
	if len(name) > MaxNamespace || strings.ContainsFunc(name, bad) {
		return InvalidField("namespace", "must be 1 to 64 of a-z, 0-9, '.', '_' and '-', or empty")
	}
	return nil
}

// ParseID reads a whole id.
func ParseID(field, digits string) (chainstore.ID, error) {
	id, err := chainstore.ParseID(digits)
	if err != nil {
		return id, InvalidField(field, "must be 64 lower-case hex digits")
	}
	return id, nil
}

// ParseRef reads a NodeRef that must be there.
func ParseRef(field string, ref *transcriptv1.NodeRef) (chainstore.Ref, error) {
	switch r := ref.GetRef().(type) {
	case *transcriptv1.NodeRef_NodeId:
		id, err := ParseID(field+".node_id", r.NodeId)
		return chainstore.Ref{ID: id}, err
	case *transcriptv1.NodeRef_Alias:
		return chainstore.Ref{Alias: r.Alias}, CheckAlias(field+".alias", r.Alias)
	default:
		return chainstore.Ref{}, InvalidField(field, "must have a node_id or an alias")
	}
}

// CheckAlias refuses what no alias is named.
func CheckAlias(field, name string) error {
	switch {
	case name == "":
		return InvalidField(field, "must not be empty")
	case len(name) > MaxAliasBytes:
		return OverLimit(field, "must be at most %d bytes", MaxAliasBytes)
	case strings.ContainsFunc(name, unicode.IsControl):
		return InvalidField(field, "must not hold control characters")
	}
	return nil
}

// ParseCondition reads a precondition; none is chainstore.Any. remove says that it is one of a delete.
func ParseCondition(field string, p *transcriptv1.AliasPrecondition, remove bool) (chainstore.Condition, error) {
	c, err := parseState(field, p)
	if err != nil {
		return c, err
	}
	if remove && c.Kind == chainstore.MustNotExist {
		return c, InvalidField(field+".must_not_exist", "must not be set on a delete")
	}
	if p == nil || p.Revision == nil {
		return c, nil
	}
	if c.Kind == chainstore.MustNotExist || c.Kind == chainstore.MustExist {
		return c, InvalidField(field+".revision", "must be alone, or beside head_id")
	}
	if c.Revision = p.GetRevision(); c.Revision < 1 {
		return c, InvalidField(field+".revision", "must be at least 1 where it is set")
	}
	return c, nil
}

// parseState reads what a precondition says beside a revision.
func parseState(field string, p *transcriptv1.AliasPrecondition) (chainstore.Condition, error) {
	switch c := p.GetCondition().(type) {
	case *transcriptv1.AliasPrecondition_MustNotExist:
		return flagCondition(field+".must_not_exist", c.MustNotExist, chainstore.MustNotExist)
	case *transcriptv1.AliasPrecondition_MustExist:
		return flagCondition(field+".must_exist", c.MustExist, chainstore.MustExist)
	case *transcriptv1.AliasPrecondition_HeadId:
		id, err := ParseID(field+".head_id", c.HeadId)
		return chainstore.Condition{Kind: chainstore.HeadIs, Head: id}, err
	default:
		return chainstore.Condition{}, nil
	}
}

func flagCondition(field string, flag bool, kind chainstore.ConditionKind) (chainstore.Condition, error) {
	if !flag {
		return chainstore.Condition{}, InvalidField(field, "must be true where it is set")
	}
	return chainstore.Condition{Kind: kind}, nil
}

// CheckCount refuses a list that is empty, or has more entries than it may.
func CheckCount(field string, n, most int) error {
	switch {
	case n == 0:
		return InvalidField(field, "must not be empty")
	case n > most:
		return OverLimit(field, "must be at most %d", most)
	}
	return nil
}

// CheckLabels refuses labels over their limits; field has them.
func CheckLabels(field string, labels map[string]string) error {
	if len(labels) > MaxLabels {
		return OverLimit(field, "must have at most %d entries", MaxLabels)
	}
	for key, value := range labels {
		switch {
		case key == "":
			return InvalidField(field, "must not have an empty key")
		case len(key) > MaxLabelKeyBytes:
			return OverLimit(field, "must have keys of at most %d bytes", MaxLabelKeyBytes)
		case len(value) > MaxLabelValueBytes:
			return OverLimit(field, "must have values of at most %d bytes", MaxLabelValueBytes)
		}
	}
	return nil
}

// PageSize is how many entries a page is to have.
func PageSize(n int32) (int, error) {
	switch {
	case n < 0:
		return 0, InvalidField("page_size", "must not be negative")
	case n == 0:
		return defaultPage, nil
	default:
		return min(int(n), MaxPage), nil
	}
}

// Bounded is a number of a request: fallback for 0; negative and over most are refused.
func Bounded(field string, n, fallback, most int32) (int, error) {
	switch {
	case n < 0:
		return 0, InvalidField(field, "must not be negative")
	case n > most:
		return 0, OverLimit(field, "must be at most %d", most)
	case n == 0:
		return int(fallback), nil
	default:
		return int(n), nil
	}
}

// PageOf is how many entries a page is to have, in lists of their own bounds.
func PageOf(n, fallback, most int32) (int, error) {
	return Bounded("page_size", min(n, most), fallback, most)
}

// Under is err seen from the outside of a field, where it tells of a field.
func Under(path string, err error) error {
	var field *canonical.FieldError
	if path != "" && errors.As(err, &field) {
		return field.Under(path)
	}
	return err
}

// Indexed is the path of an entry of a list.
func Indexed(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }

// CheckToolNames refuses a filter by names of tools that is too long, or has a name that no tool can have.
func CheckToolNames(names []string) error {
	if len(names) > MaxToolNames {
		return OverLimit("tool_names", "must be at most %d", MaxToolNames)
	}
	for i, name := range names {
		if len(name) > canonical.MaxNameBytes {
			return OverLimit(Indexed("tool_names", i), "must be at most %d bytes", canonical.MaxNameBytes)
		}
	}
	return nil
}

// Milliseconds are those since the epoch, what is finer cut off; false outside of the years 1970 to 9999.
func Milliseconds(t *timestamppb.Timestamp) (int64, bool) {
	if !t.IsValid() || t.GetSeconds() < 0 {
		return 0, false
	}
	return t.GetSeconds()*1000 + int64(t.GetNanos())/int64(time.Millisecond), true
}

// Optional is a string of a message that may be absent.
func Optional(s *string) runloop.Optional {
	if s == nil {
		return runloop.Optional{}
	}
	return runloop.Some(*s)
}
