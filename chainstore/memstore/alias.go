package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// alias is a name that was set at least once: all its states since it was forgotten, the present one last. A nil alias never was, and of one
// that was deleted with its history there is the deletion alone.
type alias struct {
	name   string
	labels map[string]string
	states []chainstore.AliasState
	// revision is that of the last change, of head or labels.
	revision int64
	// changed is with which change of the store it was set or deleted last.
	changed chainstore.Point
}

func (a *alias) present() chainstore.AliasState {
	if a == nil {
		return chainstore.AliasState{Deleted: true}
	}
	return a.states[len(a.states)-1]
}

func (a *alias) exists() bool { return !a.present().Deleted }

// head is where it points; the zero id where it does not exist.
func (a *alias) head() chainstore.ID { return a.present().Node }

// forgotten tells whether it is as a name that never was set.
func (a *alias) forgotten(now int64) bool {
	return a == nil || !a.exists() && len(a.states) == 1 || chainstore.Forgotten(a.present().Deleted, a.present().At, now)
}

// now is the alias as a change finds it.
func (a *alias) now(now int64) *chainstore.AliasNow {
	if a.forgotten(now) {
		return &chainstore.AliasNow{}
	}
	return &chainstore.AliasNow{Exists: a.exists(), Head: a.head(), Revision: a.revision, Labels: a.labels}
}

// was tells whether it points to a node, or is deleted for nil, or was so lately.
func (a *alias) was(target *node, now int64) bool {
	if a.forgotten(now) {
		return false
	}
	last := a.states[max(0, len(a.states)-1-chainstore.RepeatReach):]
	return slices.ContainsFunc(last, func(s chainstore.AliasState) bool {
		return s.Deleted == (target == nil) && (target == nil || s.Node == target.id())
	})
}

// push begins a state with the present revision.
func (a *alias) push(target *node, now int64) {
	st := chainstore.AliasState{Revision: a.revision, Deleted: target == nil, At: now}
	if target != nil {
		st.Node = target.id()
	}
	a.states = append(a.states, st)
}

// forget deletes it, if it is there, with its history.
func (a *alias) forget(now int64) {
	if a.exists() {
		a.push(nil, now)
	}
	a.states, a.labels = []chainstore.AliasState{a.present()}, nil
}

// Alias returns an alias; see chainstore.AliasReader.
func (s *Store) Alias(ctx context.Context, name, aliasName string) (*chainstore.Alias, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	a := ns.aliases[aliasName]
	switch {
	case a.forgotten(s.millis()):
		return nil, chainstore.ErrAliasNotFound
	case !a.exists():
		return nil, &chainstore.DeletedError{Revision: a.revision, At: a.present().At, Head: a.states[len(a.states)-2].Node}
	}
	out := ns.show(a)
	return &out, nil
}

func (ns *namespace) show(a *alias) chainstore.Alias {
	st := &ns.nodes[a.head()].header.State
	return chainstore.Alias{
		Name: a.name, Node: a.head(), MovedAt: a.present().At, Labels: maps.Clone(a.labels), Revision: a.revision,
		Full: st.Full.Totals, Effective: st.Effective.Totals,
	}
}

// Aliases sorts all aliases and takes the page; see chainstore.AliasReader. Those that were deleted are looked at where they were.
func (s *Store) Aliases(ctx context.Context, name string, q chainstore.AliasQuery) ([]chainstore.Alias, *chainstore.AliasCursor, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	place := func(a, b chainstore.AliasCursor) int {
		if q.Reverse {
			a, b = b, a
		}
		if q.ByFolder && a.MovedAt != b.MovedAt {
			return cmp.Compare(b.MovedAt, a.MovedAt)
		}
		return strings.Compare(a.Name, b.Name)
	}
	var all []*alias
	for _, a := range ns.aliases {
		if inScope(a.name, &q) && (q.After == nil || place(a.cursor(), *q.After) > 0) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *alias) int { return place(a.cursor(), b.cursor()) })
	page, next := ns.page(all, &q)
	return page, next, nil
}

// page is the first of some aliases, and where it ends if more come behind.
func (ns *namespace) page(all []*alias, q *chainstore.AliasQuery) (page []chainstore.Alias, next *chainstore.AliasCursor) {
	size, heads, rows, last := 0, 0, 0, chainstore.AliasCursor{}
	for i, a := range all {
		full := len(page) >= q.Limit || q.Bytes > 0 && size >= q.Bytes || q.OpenOnly && heads == chainstore.LoopReach ||
			rows >= chainstore.AliasReach
		switch {
		case q.Limit <= 0:
			return nil, nil
		case i == chainstore.AliasReach, full && a.exists():
			return page, &last
		case a.exists():
			heads++
			head := ns.nodes[a.head()]
			if q.OpenOnly && !head.header.State.Full.Loop.Open() {
				break
			}
			shown := ns.show(a)
			if q.Loops {
				loop, read := head.lastLoop()
				shown.Loop, rows = loop, rows+read
			}
			page, size = append(page, shown), size+shown.Size()
		}
		last = a.cursor()
	}
	return page, nil
}

// lastLoop walks from the node to the first message of its last loop. Rows is how many ancestors it names: those before compaction
// nodes, and that in which the loop begins.
func (n *node) lastLoop() (out *chainstore.AliasLoop, rows int) {
	out = &chainstore.AliasLoop{Loop: n.header.State.Full.Loop}
	said := n
	for said.compaction != nil {
		said, rows = said.parent, rows+1
	}
	out.LastPut = said.header.FirstPut
	if out.Phase != runloop.None {
		if n.header.Seq > out.Start.Seq {
			rows++
		}
		for n.header.Seq > out.Start.Seq {
			n = n.parent
		}
		out.StartedAt = n.header.Messages[out.Start.Index].SentAt(n.header.FirstPut)
	}
	return out, rows
}

func inScope(name string, q *chainstore.AliasQuery) bool {
	if q.ByFolder {
		return chainstore.FolderLevel(q.Folder) <= chainstore.FolderLevels && chainstore.IsUnder(name, q.Folder)
	}
	return strings.HasPrefix(name, q.Prefix)
}

func (a *alias) cursor() chainstore.AliasCursor {
	return chainstore.AliasCursor{Name: a.name, MovedAt: a.present().At}
}

// aliasesOf looks at every alias.
func (ns *namespace) aliasesOf(id chainstore.ID) (names []string) {
	for _, a := range ns.aliases {
		if a.exists() && a.head() == id {
			names = append(names, a.name)
		}
	}
	slices.Sort(names)
	return names
}

// AliasHistory returns the states of an alias; see chainstore.AliasReader.
func (s *Store) AliasHistory(ctx context.Context, name, aliasName string) ([]chainstore.AliasState, error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, err
	}
	defer unlock()
	a := ns.aliases[aliasName]
	if a.forgotten(s.millis()) {
		return nil, chainstore.ErrAliasNotFound
	}
	return a.told(s.millis()), nil
}

// told are the states that are told of, the present one first.
func (a *alias) told(now int64) (out []chainstore.AliasState) {
	for i := len(a.states) - 1; i >= 0 && len(out) < chainstore.MaxHistory; i-- {
		if i+1 < len(a.states) && now-a.states[i+1].At > chainstore.MaxHistoryAge {
			break
		}
		out = append(out, a.states[i])
	}
	return out
}

// DeletedAliases looks at every alias; see chainstore.AliasReader.
func (s *Store) DeletedAliases(ctx context.Context, name, prefix, after string, limit int) (page []chainstore.DeletedAlias, next string, err error) {
	ns, unlock, err := s.read(ctx, name)
	if err != nil {
		return nil, "", err
	}
	defer unlock()
	for _, aliasName := range slices.Sorted(maps.Keys(ns.aliases)) {
		a := ns.aliases[aliasName]
		if a.exists() || a.forgotten(s.millis()) || aliasName <= after || !strings.HasPrefix(aliasName, prefix) {
			continue
		}
		if len(page) >= limit {
			return page, next, nil
		}
		page, next = append(page, chainstore.DeletedAlias{Name: aliasName, Revision: a.revision, At: a.present().At}), aliasName
	}
	return page, "", nil
}
