package canonical

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/transcriptd/transcriptd/compaction/runloop"
	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

const (
	// VariableKey begins the metadata key of a variable whose value is the entry's: var/NAME.
	VariableKey = "var/"
	// VariableInfoKey begins the metadata key that declares a variable whose value the client keeps: varinfo/NAME.
	VariableInfoKey = "varinfo/"

	// MaxVariableTypeBytes bounds the type that a client declares.
	MaxVariableTypeBytes = 64
	// MaxVariableNumber bounds the numbers that a client declares: the largest that every reader of JSON has exactly.
	MaxVariableNumber = 1<<53 - 1
	// MaxVariableNameBytes is the longest name of a variable.
	MaxVariableNameBytes = MaxMetadataKeyBytes - len(VariableKey)
)

// VariableInfo is what metadata "varinfo/NAME" declares of a variable.
type VariableInfo struct {
	// Type is 1 to MaxVariableTypeBytes bytes, in the client's own words.
	Type string
	// Size is the bytes of the value; Iteration the client's count of what it did when it set it. Both are 0 to MaxVariableNumber.
	Size, Iteration int64
	// Preview is the beginning of the value, or what else tells of it.
	Preview string
}

// Variables is what metadata does to variables, each once, in the order of the names' bytes. "var/NAME" counts before "varinfo/NAME".
// An empty value unsets the variable. A declaration of another form, which a node may have that was put before there was one, does nothing.
func Variables(metadata []*transcriptv1.MetadataEntry) []runloop.VariableChange {
	var changes []runloop.VariableChange
	for _, e := range sorted(metadata) { // keys "var/" before keys "varinfo/"
		name, declared, ok := variableOf(e.Key)
		if !ok || declared && slices.ContainsFunc(changes, func(c runloop.VariableChange) bool { return c.Name == name }) {
			continue
		}
		if declared && e.Value != "" {
			if _, ok := ParseVariableInfo(e.Value); !ok {
				continue
			}
		}
		changes = append(changes, runloop.VariableChange{Name: name, Declared: declared, Unset: e.Value == ""})
	}
	slices.SortFunc(changes, func(a, b runloop.VariableChange) int { return cmp.Compare(a.Name, b.Name) })
	return changes
}

// variableOf is the variable that a metadata key sets; ok is false for any other key.
func variableOf(key string) (name string, declared, ok bool) {
	if name, ok = strings.CutPrefix(key, VariableKey); !ok {
		name, declared = strings.CutPrefix(key, VariableInfoKey)
	}
	return name, declared, (ok || declared) && name != ""
}

// ParseVariableInfo reads a declaration; ok is false for any other text, the empty one too.
func ParseVariableInfo(text string) (info VariableInfo, ok bool) {
	info, rule := parseVariableInfo(text)
	return info, rule == ""
}

// parseVariableInfo is ParseVariableInfo, and tells the rule that a text breaks.
func parseVariableInfo(text string) (info VariableInfo, rule string) {
	members, ok := scalarMembers(text)
	if !ok {
		return info, "must be empty or a JSON object of the members type, size, preview and iteration"
	}
	const each = "must have the members type, size, preview and iteration, each once, and no others"
	if len(members) != 4 {
		return info, each
	}
	for _, name := range []string{"type", "size", "preview", "iteration"} {
		if !slices.ContainsFunc(members, func(m member) bool { return m.name == name }) {
			return info, each
		}
	}
	for _, m := range members {
		if rule := info.set(m); rule != "" {
			return VariableInfo{}, rule
		}
	}
	return info, ""
}

// set takes over a member of a known name; it tells the rule that the value breaks.
func (v *VariableInfo) set(m member) (rule string) {
	text, isText := m.value.(string)
	switch m.name {
	case "type":
		if v.Type = text; !isText || text == "" || len(text) > MaxVariableTypeBytes {
			return fmt.Sprintf("must have as type a string of 1 to %d bytes", MaxVariableTypeBytes)
		}
	case "preview":
		if v.Preview = text; !isText {
			return "must have as preview a string"
		}
	default:
		number, _ := m.value.(json.Number)
		n, err := strconv.ParseUint(string(number), 10, 64)
		if err != nil || n > MaxVariableNumber {
			return fmt.Sprintf("must have as %s an integer from 0 to %d", m.name, MaxVariableNumber)
		}
		if m.name == "size" {
			v.Size = int64(n)
		} else {
			v.Iteration = int64(n)
		}
	}
	return ""
}

// member is one of a JSON object's; value is a string, a json.Number, a bool or nil.
type member struct {
	name  string
	value any
}

// scalarMembers are the members of a JSON object, as they stand; ok is false for any other text, and where one is an object or an array.
func scalarMembers(text string) (members []member, ok bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		value, err2 := d.Token()
		if _, nested := value.(json.Delim); nested || err != nil || err2 != nil {
			return nil, false
		}
		members = append(members, member{name.(string), value})
	}
	return members, true
}

// judgeVariables refuses a declaration of another form.
func judgeVariables(entries []*transcriptv1.MetadataEntry) *FieldError {
	for i, e := range entries {
		if _, declared, ok := variableOf(e.Key); !ok || !declared || e.Value == "" {
			continue
		}
		if _, rule := parseVariableInfo(e.Value); rule != "" {
			return invalid("value", "of "+VariableInfoKey+"NAME "+rule).Under(fmt.Sprintf("metadata[%d]", i))
		}
	}
	return nil
}
