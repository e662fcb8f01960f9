package derive

import (
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// countTools adds the calls of a node to the tools, in memory of their own; see chainstore.Tables.
func countTools(t *chainstore.Tables, messages []runloop.Facts) {
	t.Tools = slices.Clone(t.Tools)
	size := 0
	for _, c := range t.Tools {
		size += len(c.Name.Value)
	}
	for i := range messages {
		for _, c := range messages[i].Calls {
			size += count(t, c.Name, size)
		}
	}
}

// count adds a call and returns by how much the names in the table, of size bytes, grew.
func count(t *chainstore.Tables, name runloop.Optional, size int) int {
	for i := range t.Tools {
		if t.Tools[i].Name == name {
			t.Tools[i].Calls++
			return 0
		}
	}
	if len(t.Tools) == chainstore.MaxTableEntries || size+len(name.Value) > chainstore.MaxTableBytes {
		t.OtherCalls++
		return 0
	}
	t.Tools = append(t.Tools, chainstore.ToolCount{Name: name, Calls: 1})
	return len(name.Value)
}

// withVariables is the table of variables after a node that changes some.
func withVariables(vs []chainstore.Variable, changes []runloop.VariableChange, seq uint32) []chainstore.Variable {
	next := make([]chainstore.Variable, 0, len(vs)+len(changes))
	for _, v := range vs {
		if !slices.ContainsFunc(changes, func(c runloop.VariableChange) bool { return c.Name == v.Name }) {
			next = append(next, v)
		}
	}
	for _, c := range changes {
		if !c.Unset {
			next = append(next, chainstore.Variable{Name: c.Name, Seq: seq})
		}
	}
	size := 0
	for i := len(next) - 1; i >= 0; i-- {
		size += len(next[i].Name)
		if len(next)-i > chainstore.MaxTableEntries || size > chainstore.MaxTableBytes {
			return next[i+1:]
		}
	}
	return next
}
