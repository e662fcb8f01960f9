package badgerstore

import (
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// toolTable is the tools called on a path; see chainstore.Tables. It is never changed once it is shared.
type toolTable struct {
	tools []chainstore.ToolCount
	other int64
}

// with is the table after the calls of a node.
func (t *toolTable) with(messages []runloop.Facts) *toolTable {
	next := &toolTable{tools: slices.Clone(t.tools), other: t.other}
	size := 0
	for _, c := range next.tools {
		size += len(c.Name.Value)
	}
	for i := range messages {
		for _, c := range messages[i].Calls {
			size += next.count(c.Name, size)
		}
	}
	return next
}

// count adds a call and returns by how much the names in the table, of size bytes, grew.
func (t *toolTable) count(name runloop.Optional, size int) int {
	for i := range t.tools {
		if t.tools[i].Name == name {
			t.tools[i].Calls++
			return 0
		}
	}
	if len(t.tools) == chainstore.MaxTableEntries || size+len(name.Value) > chainstore.MaxTableBytes {
		t.other++
		return 0
	}
	t.tools = append(t.tools, chainstore.ToolCount{Name: name, Calls: 1})
	return len(name.Value)
}

func (t *toolTable) size() (n int) {
	for i := range t.tools {
		n += 48 + len(t.tools[i].Name.Value)
	}
	return n
}

// withVariables is the table of variables after a node that sets some.
func withVariables(vs []chainstore.Variable, names []string, seq uint32) []chainstore.Variable {
	next := make([]chainstore.Variable, 0, len(vs)+len(names))
	for _, v := range vs {
		if !slices.Contains(names, v.Name) {
			next = append(next, v)
		}
	}
	for _, name := range names {
		next = append(next, chainstore.Variable{Name: name, Seq: seq})
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

// tools reads the tool table of the node at a place, which has calls.
func (v *view) tools(at chainstore.Place) (t *toolTable, err error) {
	found, err := v.borrow(placeKey(v.ns, tableTools, at), func(value []byte) error {
		t, err = parseTools(value)
		return err
	})
	if err == nil && !found {
		err = dangling(tableTools)
	}
	return t, err
}

// variables reads the variable table of the node at a place, which sets variables.
func (v *view) variables(at chainstore.Place) (vs []chainstore.Variable, err error) {
	found, err := v.borrow(placeKey(v.ns, tableVariables, at), func(value []byte) error {
		vs, err = parseVariables(value)
		return err
	})
	if err == nil && !found {
		err = dangling(tableVariables)
	}
	return vs, err
}
