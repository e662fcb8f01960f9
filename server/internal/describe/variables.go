package describe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/canonical"
	"github.com/transcriptd/transcriptd/chainstore"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
	"github.com/transcriptd/transcriptd/redact"
	"github.com/transcriptd/transcriptd/server/internal/wire"
)

// variableNames are the names that a request asks for.
type variableNames struct {
	exact  []string
	prefix *string
}

// parseNames reads the names of a request, nil for those of any variable; exact are at most items, the entries of the list.
func parseNames(names *transcriptv1.VariableNames, items int) (*variableNames, error) {
	switch {
	case names == nil:
		return nil, nil
	case len(names.Exact) == 0 && names.Prefix == nil:
		return nil, wire.InvalidField("variable_names", "must have exact names or a prefix")
	case len(names.Exact) > items:
		return nil, wire.OverLimit("variable_names.exact", "must be at most max_items, which is %d", items)
	case len(names.GetPrefix()) > canonical.MaxVariableNameBytes:
		return nil, wire.OverLimit("variable_names.prefix", "must be at most %d bytes", canonical.MaxVariableNameBytes)
	}
	for i, name := range names.Exact {
		switch {
		case name == "":
			return nil, wire.InvalidField(wire.Indexed("variable_names.exact", i), "must not be empty")
		case len(name) > canonical.MaxVariableNameBytes:
			return nil, wire.OverLimit(wire.Indexed("variable_names.exact", i), "must be at most %d bytes", canonical.MaxVariableNameBytes)
		}
	}
	return &variableNames{exact: names.Exact, prefix: names.Prefix}, nil
}

// isExact tells whether a variable is named in full.
func (n *variableNames) isExact(v chainstore.Variable) bool {
	return n != nil && slices.Contains(n.exact, v.Name)
}

// has tells whether a variable is asked for.
func (n *variableNames) has(v chainstore.Variable) bool {
	return n == nil || n.isExact(v) || n.prefix != nil && strings.HasPrefix(v.Name, *n.prefix)
}

// chosenVariables are those of the set ones to tell of, latest set first, and how many more are asked for: those named in full, and of the
// others those set last.
func (d *description) chosenVariables(set []chainstore.Variable) (shown []chainstore.Variable, more int) {
	others := d.items
	for _, v := range set {
		if d.names.has(v) {
			shown = append(shown, v)
		}
		if d.names.isExact(v) {
			others--
		}
	}
	asked := len(shown)
	slices.SortStableFunc(shown, func(a, b chainstore.Variable) int { return cmp.Compare(b.Seq, a.Seq) })
	shown = slices.DeleteFunc(shown, func(v chainstore.Variable) bool {
		if d.names.isExact(v) {
			return false
		}
		others--
		return others < 0
	})
	return shown, asked - len(shown)
}

// variables tells of variables that come in the order of their nodes, latest first; each node is read once.
func (d *description) variables(reply *transcriptv1.DescribeResponse, set []chainstore.Variable) {
	reply.Variables = make([]*transcriptv1.VariableInfo, len(set))
	for from := 0; from < len(set); {
		through := from + 1
		for through < len(set) && set[through].Seq == set[from].Seq {
			through++
		}
		of, infos := set[from:through], reply.Variables[from:through]
		d.rows.ask(of[0].Seq, true, func(r *chainstore.Row, h *chainstore.Header) error {
			if h.Erased != nil { // their values went with it
				for i, v := range of {
					infos[i] = &transcriptv1.VariableInfo{Name: v.Name, SetBy: pathNode(h.ID, v.Seq), SetAt: wire.Timestamp(h.FirstPut)}
				}
				return nil
			}
			entries, err := canonical.DecodeMetadata(r.Metadata)
			if err != nil {
				return fmt.Errorf("%w: %w", chainstore.ErrCorrupt, err)
			}
			for i, v := range of {
				info, ok := d.variable(v.Name, entries)
				if !ok {
					return fmt.Errorf("%w: node %s does not set a variable that the table has of it", chainstore.ErrCorrupt, h.ID)
				}
				info.SetBy, info.SetAt = pathNode(h.ID, v.Seq), wire.Timestamp(h.FirstPut)
				infos[i] = info
			}
			return nil
		})
		from = through
	}
}

// variable tells of a variable that metadata sets, by its value before its declaration; ok is false where there is neither.
func (d *description) variable(name string, metadata []*transcriptv1.MetadataEntry) (info *transcriptv1.VariableInfo, ok bool) {
	info = &transcriptv1.VariableInfo{Name: name}
	preview, ok := valueOf(metadata, canonical.VariableKey+name)
	if ok {
		info.Type, info.SizeBytes = jsonType(preview), int64(len(preview))
	} else {
		text, _ := valueOf(metadata, canonical.VariableInfoKey+name)
		declared, ok := canonical.ParseVariableInfo(text)
		if !ok {
			return nil, false
		}
		info.Type, info.SizeBytes, info.Iteration, preview = declared.Type, declared.Size, &declared.Iteration, declared.Preview
	}
	if d.content {
		if d.preview.Redact {
			preview = redactVariable(name, preview)
		}
		info.Preview = wire.FirstPoints(preview, d.preview.Chars)
	}
	return info, true
}

// valueOf is the value of a metadata key.
func valueOf(metadata []*transcriptv1.MetadataEntry, key string) (value string, ok bool) {
	for _, e := range metadata {
		if e.Key == key {
			return e.Value, true
		}
	}
	return "", false
}

// jsonType is the type of a JSON text; "invalid" where it is none.
func jsonType(text string) string {
	if !json.Valid([]byte(text)) {
		return "invalid"
	}
	switch strings.TrimLeft(text, " \t\r\n")[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}

// redactVariable is a variable's value without secrets. The name counts, as it does for a member of an object.
func redactVariable(name, value string) string {
	if !json.Valid([]byte(value)) {
		return redact.New(redact.Options{}).Value(name, value)
	}
	key, err := json.Marshal(name)
	if err != nil {
		return redact.Mark
	}
	before, after := "{"+string(key)+":", "}"
	out := redact.Text(before + value + after)
	if !strings.HasPrefix(out, before) || !strings.HasSuffix(out, after) {
		return redact.Mark // the name itself looks like a secret
	}
	return out[len(before) : len(out)-len(after)]
}
