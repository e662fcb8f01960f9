package server

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// Limits on requests, beside those of package canonical on what is hashed.
const (
	defaultNamespace = "default"
	maxNamespace     = 64
	maxAliasBytes    = 512
	// maxAliases is the aliases of a call, maxNodes the nodes, maxMessages their messages, maxCalls their tool calls
	// and results.
	maxAliases  = 1000
	maxNodes    = 1000
	maxMessages = 10_000
	maxCalls    = 10_000

	maxLabels          = 64
	maxLabelKeyBytes   = 256
	maxLabelValueBytes = 4 << 10

	defaultPage = 100
	maxPage     = 1000
)

// namespaceOf is the namespace that a request means.
func namespaceOf(name string) string {
	if name == "" {
		return defaultNamespace
	}
	return name
}

func checkNamespace(name string) error {
	bad := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("._-", c)
	}
	if len(name) > maxNamespace || strings.ContainsFunc(name, bad) {
		return invalidField("namespace", "must be 1 to 64 of a-z, 0-9, '.', '_' and '-', or empty")
	}
	return nil
}

func parseID(field, digits string) (chainstore.ID, error) {
	id, err := chainstore.ParseID(digits)
	if err != nil {
		return id, invalidField(field, "must be 64 lower-case hex digits")
	}
	return id, nil
}

// parseRef reads a NodeRef that must be there.
func parseRef(field string, ref *transcriptv1.NodeRef) (chainstore.Ref, error) {
	switch r := ref.GetRef().(type) {
	case *transcriptv1.NodeRef_NodeId:
		id, err := parseID(field+".node_id", r.NodeId)
		return chainstore.Ref{ID: id}, err
	case *transcriptv1.NodeRef_Alias:
		return chainstore.Ref{Alias: r.Alias}, checkAlias(field+".alias", r.Alias)
	default:
		return chainstore.Ref{}, invalidField(field, "must have a node_id or an alias")
	}
}

func checkAlias(field, name string) error {
	switch {
	case name == "":
		return invalidField(field, "must not be empty")
	case len(name) > maxAliasBytes:
		return overLimit(field, "must be at most %d bytes", maxAliasBytes)
	case strings.ContainsFunc(name, unicode.IsControl):
		return invalidField(field, "must not hold control characters")
	}
	return nil
}

// parseCondition reads a precondition; none is chainstore.Any.
func parseCondition(field string, p *transcriptv1.AliasPrecondition) (chainstore.Condition, error) {

	switch c := p.GetCondition().(type) {
	case *transcriptv1.AliasPrecondition_MustNotExist:
		return flagCondition(field+".must_not_exist", c.MustNotExist, chainstore.MustNotExist)
	case *transcriptv1.AliasPrecondition_MustExist:
		return flagCondition(field+".must_exist", c.MustExist, chainstore.MustExist)
	case *transcriptv1.AliasPrecondition_HeadId:
		id, err := parseID(field+".head_id", c.HeadId)
		return chainstore.Condition{Kind: chainstore.HeadIs, Head: id}, err
	default:
		return chainstore.Condition{}, nil
	}
}

func flagCondition(field string, flag bool, kind chainstore.ConditionKind) (chainstore.Condition, error) {
	if !flag {
		return chainstore.Condition{}, invalidField(field, "must be true where it is set")
	}
	return chainstore.Condition{Kind: kind}, nil
}

func checkLabels(field string, labels *transcriptv1.Labels) error {
	field += ".labels.entries"
	if len(labels.GetEntries()) > maxLabels {
		return overLimit(field, "must have at most %d entries", maxLabels)
	}
	for key, value := range labels.GetEntries() {
		switch {
		case key == "":
			return invalidField(field, "must not have an empty key")
		case len(key) > maxLabelKeyBytes:
			return overLimit(field, "must have keys of at most %d bytes", maxLabelKeyBytes)
		case len(value) > maxLabelValueBytes:
			return overLimit(field, "must have values of at most %d bytes", maxLabelValueBytes)
		}
	}
	return nil
}

// pageSize is how many entries a page is to have.
func pageSize(n int32) (int, error) {
	switch {
	case n < 0:
		return 0, invalidField("page_size", "must not be negative")
	case n == 0:
		return defaultPage, nil
	default:
		return min(int(n), maxPage), nil
	}
}

// bounded is a number of a request: fallback for 0; negative and over most are refused.
func bounded(field string, n, fallback, most int32) (int, error) {
	switch {
	case n < 0:
		return 0, invalidField(field, "must not be negative")
	case n > most:
		return 0, overLimit(field, "must be at most %d", most)
	case n == 0:
		return int(fallback), nil
	default:
		return int(n), nil
	}
}

// pageOf is how many entries a page is to have, in lists of their own bounds.
func pageOf(n, fallback, most int32) (int, error) {
	return bounded("page_size", min(n, most), fallback, most)
}

// under is err seen from the outside of a field, where it tells of a field.
func under(path string, err error) error {
	var field *canonical.FieldError
	if path != "" && errors.As(err, &field) {
		return field.Under(path)
	}
	return err
}

func indexed(field string, i int) string { return fmt.Sprintf("%s[%d]", field, i) }
