//go:build race

package costs

// raced says that the race detector runs, which allocates for itself.
const raced = true
