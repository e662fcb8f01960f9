package collectmodel

// put is a node that a change puts: under a node, under an alias's, under the one before it, or as a root.
type put struct {
	parent   id
	alias    int
	previous bool
	says     int
	// first is when another store put it first; 0: none did.
	first int
	from  id
}

// change puts nodes, and then sets an alias, or deletes it, with its history or without. What is not named is -1 or 0.
type change struct {
	puts   []put
	name   int
	target id
	other  int
	forget bool
	newest bool
}

const nobody = -1

// writes makes changes, one behind the other.
func (m *machine) writes() {
	for {
		for range 1 + m.draw(5) {
			m.pause()
		}
		c := m.drawChange()
		m.commit(&request{do: func(b *batch) bool { return b.change(&c) }})
	}
}

// drawID is an id that was known at some time; more often that of a node which is there.
func (m *machine) drawID() (n id) {
	for range 4 {
		if len(m.known) > 1 {
			n = id(1 + m.draw(len(m.known)-1))
		}
		if m.published.places[n].segment > 0 {
			break
		}
	}
	return n
}

func (m *machine) drawChange() change {
	c := change{name: nobody, other: nobody}
	if m.draw(3) > 0 {
		for range 1 + m.draw(2) {
			c.puts = append(c.puts, m.drawPut(len(c.puts)))
		}
	}
	if len(c.puts) > 0 && m.draw(2) == 0 {
		return c
	}
	c.name = m.draw(maxNames)
	switch n := m.draw(10); {
	case n < 5 && len(c.puts) > 0:
		c.newest = true
	case n < 5:
		c.target = m.drawID()
	case n < 6:
		c.other = m.draw(maxNames)
	default:
		c.forget = n > 6
	}
	return c
}

func (m *machine) drawPut(behind int) put {
	p := put{alias: nobody, says: m.draw(2)}
	switch n := m.draw(8); {
	case behind > 0 && n < 5:
		p.previous = true
	case n < 4:
		p.parent = m.drawID()
	case n < 7:
		if name := m.draw(maxNames); m.published.aliases[name].exists() {
			p.alias = name
		}
	}
	if m.draw(4) == 0 {
		p.first = m.clock - m.draw(3*maxAge)
	}
	if m.draw(6) == 0 {
		p.from = m.drawID()
	}
	return p
}

// change does what a change asks for; false where it is refused.
func (b *batch) change(c *change) bool {
	newest := place{}
	for i := range c.puts {
		var ok bool
		if newest, ok = b.put(&c.puts[i], newest); !ok {
			return false
		}
	}
	return c.name == nobody || b.set(c, newest)
}

func (b *batch) put(p *put, previous place) (at place, ok bool) {
	var parent place
	var parentID id
	switch {
	case p.previous:
		parent, parentID = previous, b.next.row(previous).id
	case p.alias != nobody:
		parent, parentID, ok = b.head(p.alias, parentNotNamed)
		if !ok {
			return place{}, false
		}
	case p.parent != 0:
		parentID = p.parent
		if parent, ok = b.find(p.parent, parentNotNamed); !ok {
			return place{}, false
		}
	}
	n := b.m.child(parentID, p.says)
	if n == 0 {
		return place{}, false
	}
	if at, ok := b.find(n, repeatNotNamed); ok {
		b.m.did.repeats++
		b.events = append(b.events, event{kind: eventPut, node: n, at: b.now})
		b.renew(at)
		b.wrote = true
		return at, true
	}
	return b.create(n, p, parent)
}

// create puts a node that is not there.
func (b *batch) create(n id, p *put, parent place) (place, bool) {
	at := parent.next()
	if parent.segment == 0 || at.seq < maxSeqs && b.next.row(at).used {
		if b.next.segments+1 == maxSegments {
			return place{}, false
		}
		b.next.segments++
		at.segment = b.next.segments
		if parent.segment == 0 {
			at.seq = 0
		}
		b.next.forked[at.segment] = parent
	}
	if at.seq >= maxSeqs {
		return place{}, false
	}
	first := b.now
	if p.first > 0 {
		first = min(first, p.first)
	}
	*b.next.row(at) = row{used: true, id: n, from: p.from, first: int32(first)}
	b.next.places[n] = at
	b.made |= 1 << n
	b.wrote = true
	b.m.did.puts++
	b.note(at, newNotNamed)
	b.named(n)
	b.events = append(b.events, event{kind: eventPut, node: n, at: b.now})
	if !b.m.is(oldPutsOld) {
		b.renew(at)
	}
	return at, true
}

// renew notes that a node was put again, unless that was noted lately.
func (b *batch) renew(at place) {
	r := b.next.row(at)
	if b.now-int(r.first) > renewAfter && (r.last == 0 || b.now-int(r.last) > renewAfter) {
		r.last = int32(b.now)
	}
}

// set sets an alias, or deletes it.
func (b *batch) set(c *change, newest place) bool {
	target, ok := newest, true
	switch {
	case c.newest:
	case c.target != 0:
		target, ok = b.find(c.target, targetNotNamed)
	case c.other != nobody:
		target, _, ok = b.head(c.other, targetNotNamed)
	default:
		target = place{}
	}
	if !ok {
		return false
	}
	before := b.next.aliases[c.name]
	b.head(c.name, headLeftNotNamed)
	switch {
	case target.segment == 0 && (before.states == 0 || before.forgot || before.deleted && !c.forget):
		return true
	case before.exists() && before.at == target:
		return true
	}
	b.wrote = true
	b.next.revision++
	next := before
	if before.forgot {
		next = alias{}
	}
	next.revision = b.next.revision
	if target.segment == 0 && c.forget {
		b.forget(&next)
		b.next.aliases[c.name] = next
		b.events = append(b.events, event{kind: eventForgot, name: c.name})
		return true
	}
	if before.states > 0 && !before.forgot {
		*next.slot(before.states) = past{before.deleted, before.at, before.states, before.moved, before.began}
	}
	next.states++
	next.at, next.deleted, next.moved, next.began = target, target.segment == 0, b.now, next.revision
	b.next.aliases[c.name] = next
	moved := event{kind: eventMoved, name: c.name, at: b.now}
	if !next.deleted {
		moved.node = b.idAt(target)
	}
	b.events = append(b.events, moved)
	return true
}

// forget deletes an alias with its history.
func (b *batch) forget(a *alias) {
	if !a.deleted {
		a.moved, a.began = b.now, a.revision
	}
	a.deleted, a.forgot, a.at = true, true, place{}
	if !b.m.is(historyOutlivesForget) {
		a.ring = [maxHistory]past{}
	}
}

// restored is a state of an alias that is restored; it was deleted where it has no node.
type restored struct {
	node  id
	began int
}

// restores sets aliases as another store with the same past had them, with their histories.
func (m *machine) restores() {
	for {
		m.pause()
		name, states := m.draw(maxNames), m.drawStates()
		if len(states) == 0 {
			continue
		}
		sweeps := m.committer.sweeps
		v := m.published
		seen, places := v.commit, map[id]place{}
		ok := m.locate(v, states, places)
		m.pause()
		if !ok {
			continue
		}
		m.commit(&request{do: func(b *batch) bool {
			again := m.committer.swept > seen
			switch {
			case m.is(restoreLooksOnce):
				again = false
			case m.is(restoreCountsEarly):
				again = m.committer.sweeps != sweeps
			}
			if again && !m.locate(b.view, states, places) {
				return false
			}
			return b.restore(name, states, places)
		}})
	}
}

// drawStates is some states, earliest first, the last of which has a node.
func (m *machine) drawStates() (states []restored) {
	began := m.clock - m.draw(2*maxAge)
	for range 1 + m.draw(maxHistory) {
		if n := m.drawID(); n != 0 {
			states = append(states, restored{n, began})
		}
		began = min(m.clock, began+m.draw(maxAge))
	}
	if len(states) == maxHistory && m.draw(3) == 0 {
		states[1].node = 0
	}
	return states
}

// locate finds the nodes of what is restored.
func (m *machine) locate(v *store, states []restored, places map[id]place) bool {
	for _, s := range states {
		if s.node == 0 {
			continue
		}
		if places[s.node] = v.places[s.node]; places[s.node].segment == 0 {
			return false
		}
	}
	return true
}

// restore writes an alias with its past states, which are numbered anew.
func (b *batch) restore(name int, states []restored, places map[id]place) bool {
	for n, at := range places {
		b.note(at, restoreNotNamed)
		b.named(n)
	}
	b.head(name, headLeftNotNamed)
	b.m.did.restores++
	b.wrote = true
	a := alias{states: len(states)}
	for i, s := range states {
		b.next.revision++
		p := past{s.node == 0, places[s.node], i + 1, s.began, b.next.revision}
		if i+1 < len(states) {
			*a.slot(i + 1) = p
			continue
		}
		a.at, a.deleted, a.moved, a.began, a.revision = p.at, p.deleted, p.began, p.revision, p.revision
	}
	b.next.aliases[name] = a
	b.events = append(b.events, event{kind: eventRestored, name: name, states: states})
	return true
}
