package chainstore

// Problem is something that Verify found wrong.
type Problem struct {
	// Kind says what is wrong, and so what to do.
	Kind ProblemKind
	// Namespace is the one that it is in; empty for what is in none.
	Namespace string
	// Node is meaningful if HasNode.
	HasNode bool
	Node    ID
	// What it is, in words, without content or alias names.
	What string
	// Repaired says that it is put right; Verify puts nothing right.
	Repaired bool
}

// ProblemKind is a kind of problem. Operators are told what to do about each, by its name.
type ProblemKind int

// The kinds. ProblemFold, ProblemIndex and ProblemCounters are of what follows from nodes and aliases, and can be made again.
const (
	// ProblemFile is a file of the engine that is damaged.
	ProblemFile ProblemKind = iota + 1
	// ProblemStore is in rows of the store's own: its format and header, keys of page tokens, names and numbers of namespaces.
	ProblemStore
	// ProblemStray is a row that there should not be: of a table that is not known, or of no namespace that has a name.
	ProblemStray
	// ProblemNode is a node that cannot be read, or whose parent cannot.
	ProblemNode
	// ProblemContent is a node whose bytes are not those that its id is of.
	ProblemContent
	// ProblemFold is a header or a fork path that differs from what follows from a node and its parent.
	ProblemFold
	// ProblemIndex is an index entry that is missing, differs, or is of nothing.
	ProblemIndex
	// ProblemCounters is a counter that differs from what there is.
	ProblemCounters
	// ProblemAlias is an alias or a past state of one that cannot be read, contradicts another, or points to no node.
	ProblemAlias
	// ProblemSettings is in the settings of a namespace.
	ProblemSettings
	// ProblemLastPut is a time of a last put that cannot be read, or is of no node.
	ProblemLastPut
)

// ProblemKinds are all of them, in order.
func ProblemKinds() []ProblemKind {
	all := make([]ProblemKind, ProblemLastPut)
	for i := range all {
		all[i] = ProblemKind(i + 1)
	}
	return all
}

// String is the kind's name.
func (k ProblemKind) String() string {
	names := [...]string{"file", "store", "stray", "node", "content", "fold", "index", "counters", "alias", "settings", "last_put"}
	if k < ProblemFile || int(k) > len(names) {
		return "unknown"
	}
	return names[k-1]
}
