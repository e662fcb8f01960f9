package main

// components are the strongly connected components of a graph: Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal
// on Computing 1972.
func components(graph map[string]map[string]bool) [][]string {
	t := &tarjan{graph: graph, index: map[string]int{}, low: map[string]int{}, onStack: map[string]bool{}}
	for node := range graph {
		if _, seen := t.index[node]; !seen {
			t.visit(node)
		}
	}
	return t.found
}

type tarjan struct {
	graph      map[string]map[string]bool
	index, low map[string]int
	onStack    map[string]bool
	stack      []string
	found      [][]string
}

func (t *tarjan) visit(node string) {
	t.index[node] = len(t.index)
	t.low[node] = t.index[node]
	t.stack = append(t.stack, node)
	t.onStack[node] = true
	for next := range t.graph[node] {
		if _, seen := t.index[next]; !seen {
			t.visit(next)
			t.low[node] = min(t.low[node], t.low[next])
		} else if t.onStack[next] {
			t.low[node] = min(t.low[node], t.index[next])
		}
	}
	if t.low[node] == t.index[node] {
		t.found = append(t.found, t.pop(node))
	}
}

// pop takes from the stack what lies on it down to node.
func (t *tarjan) pop(node string) (component []string) {
	for {
		last := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		t.onStack[last] = false
		component = append(component, last)
		if last == node {
			return component
		}
	}
}
