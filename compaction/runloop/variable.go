package runloop

// VariableChange is what a node does to a variable.
type VariableChange struct {
	Name string
	// Declared says that the node tells of a value that its client keeps elsewhere; else it has the value.
	Declared bool
	// Unset says that the variable is set no more, and its name is free.
	Unset bool
}
