package chainstore

import "sort"

// Place is where an engine that keeps chains in segments has a node. A segment is a root, or a node whose parent had a child already,
// and then first child after first child.
type Place struct {
	Segment uint64
	// Seq is the number of the node's ancestors.
	Seq uint32
}

// Next is the place behind p.
func (p Place) Next() Place { return Place{p.Segment, p.Seq + 1} }

// Lineage is where a chain lies: its head, and where each fork left its parent's segment, nearest first. Their Seqs
// fall strictly: a segment begins one above the fork that began it. It never changes once it is shared.
type Lineage struct {
	Head  Place
	Forks []Place
}

// Runs calls f with the chain's runs, each of a segment, nearest to the head first, until f returns false.
func (l *Lineage) Runs(f func(Run) bool) {
	at := l.Head
	for _, fork := range l.Forks {
		if !f(Run{at.Segment, fork.Seq + 1, at.Seq}) {
			return
		}
		at = fork
	}
	f(Run{at.Segment, 0, at.Seq})
}

// Locate returns where the chain's node with seq ancestors lies; seq <= Head.Seq.
func (l *Lineage) Locate(seq uint32) Place {
	i := sort.Search(len(l.Forks), func(i int) bool { return l.Forks[i].Seq < seq })
	if i == 0 {
		return Place{l.Head.Segment, seq}
	}
	return Place{l.Forks[i-1].Segment, seq}
}

// Holds tells whether p is on the chain.
func (l *Lineage) Holds(p Place) bool { return p.Seq <= l.Head.Seq && l.Locate(p.Seq) == p }

// Within is the part of the chain from one seq through another, root first.
func (l *Lineage) Within(from, through uint32) []Run {
	var out []Run
	l.Runs(func(r Run) bool {
		if r.From <= through && r.Through >= from {
			out = append(out, Run{r.Key, max(r.From, from), min(r.Through, through)})
		}
		return r.From > from
	})
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// Child is the fork path of a segment that a child of the chain's head begins.
func (l *Lineage) Child() []Place { return append([]Place{l.Head}, l.Forks...) }
