package describe

import (
	"cmp"
	"context"
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

// tables tells of the tools called and the variables set on the path.
func (d *description) tables(ctx context.Context, reply *transcriptv1.DescribeResponse) error {
	h := d.head()
	if !h.Tools.Present && !h.Variables.Present {
		return nil
	}
	tables, err := d.chain.Tables(ctx)
	if err != nil {
		return err
	}
	d.tools(&tables, reply)
	set := slices.Clone(tables.Variables)
	slices.SortStableFunc(set, func(a, b chainstore.Variable) int { return cmp.Compare(b.Seq, a.Seq) })
	shown, _ := firstOf(set, d.items)
	reply.MoreVariables = int32(len(set) - len(shown))
	d.variables(reply, shown)
	return nil
}

// tools lists tools in the order of their first call, and counts the calls of those that it does not list.
func (d *description) tools(tables *chainstore.Tables, reply *transcriptv1.DescribeResponse) {
	reply.OtherCalls = tables.OtherCalls
	for i, tool := range tables.Tools {
		if i >= d.items {
			reply.MoreTools++
			reply.OtherCalls += tool.Calls
			continue
		}
		reply.Tools = append(reply.Tools, &transcriptv1.ToolUse{Name: wire.OptionalText(tool.Name), Calls: tool.Calls})
	}
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
			values, err := variableValues(r)
			if err != nil {
				return err
			}
			for i, v := range of {
				value, ok := values[v.Name]
				if !ok {
					return fmt.Errorf("%w: node %s does not set a variable that the table has of it", chainstore.ErrCorrupt, h.ID)
				}
				infos[i] = d.variable(v, h.ID, value)
			}
			return nil
		})
		from = through
	}
}

// variableKey is what the metadata keys of variables begin with.
const variableKey = "var/"

// variableValues are the variables that a row's metadata sets.
func variableValues(r *chainstore.Row) (map[string]string, error) {
	entries, err := canonical.DecodeMetadata(r.Metadata)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", chainstore.ErrCorrupt, err)
	}
	values := make(map[string]string, len(entries))
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Key, variableKey); ok {
			values[name] = e.Value
		}
	}
	return values, nil
}

func (d *description) variable(v chainstore.Variable, by chainstore.ID, value string) *transcriptv1.VariableInfo {
	info := &transcriptv1.VariableInfo{
		Name: v.Name, Type: jsonType(value), SizeBytes: int32(len(value)), SetBy: pathNode(by, v.Seq),
	}
	if d.content {
		if d.preview.Redact {
			value = redactVariable(v.Name, value)
		}
		info.Preview = wire.FirstPoints(value, d.preview.Chars)
	}
	return info
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
