package collectmodel

// collection is one under way.
type collection struct {
	m       *machine
	live    live
	now     int
	naming  *naming
	cutoff  int
	pending []dead
	// at is the segment that is looked at; 0: none yet.
	at int8
	// early is what it read before it began.
	early *store
}

// dead is a node that seems to be kept by nothing, as it was read.
type dead struct {
	at     place
	begins bool
}

// collects runs collections, one after the other.
func (m *machine) collects() {
	for {
		m.pause()
		c := m.survivor
		if m.survivor = nil; c == nil {
			c = &collection{m: m}
		}
		m.running, m.leave = c, false
		if c.begin() && c.run() {
			m.did.collections++
			m.oracle.collected()
		}
		m.running = nil
		m.commit(&request{do: func(b *batch) bool {
			if m.committer.naming == c.naming {
				m.committer.naming = nil
			}
			b.events = append(b.events, event{kind: eventEnded})
			return true
		}})
	}
}

// pause returns false where the collection is to end.
func (c *collection) pause() bool {
	c.m.pause()
	return !c.m.leave
}

// commit waits for the outcome; false where the collection ends first. Of a request in a batch of its own it waits for that in any case.
func (c *collection) commit(r *request) bool {
	m := c.m
	m.submit(r)
	m.await(func() bool { return r.answered || m.leave && (!r.taken || !r.alone || m.is(leavesGateEarly)) })
	if r.taken {
		return r.answered && !r.refused && !m.leave
	}
	for i, q := range m.committer.queue {
		if q == r {
			m.committer.queue = append(m.committer.queue[:i:i], m.committer.queue[i+1:]...)
			break
		}
	}
	return false
}

// begin lets the committer note what is named, from before the first read on.
func (c *collection) begin() bool {
	m := c.m
	if m.is(notesBeginLate) {
		c.early = m.published
		if !c.pause() {
			return false
		}
	}
	resumed := c.at > 0
	r := &request{}
	r.do = func(b *batch) bool {
		b.begins = r
		c.naming = &naming{last: b.next.segments}
		if !resumed {
			c.live.last, c.now = b.next.segments, b.now
			c.cutoff = m.cutoff(c.now)
		}
		m.committer.naming = c.naming
		b.events = append(b.events, event{kind: eventBegun, at: b.now})
		return true
	}
	return c.commit(r)
}

func (c *collection) run() bool {
	if c.at > 0 {
		return c.segments()
	}
	return c.aliases() && c.lastPuts() && c.segments()
}

// snapshot is what it reads next.
func (c *collection) snapshot() *store {
	if c.early != nil {
		return c.early
	}
	return c.m.published
}

// mark adds a node to what is kept.
func (c *collection) mark(v *store, at place) {
	if !c.m.add(&c.live, v, at) {
		c.m.fail("a collection ends with an error: what %v belongs to is not whole", at)
	}
}

// aliases marks what aliases point to, and pointed to, and deletes their states that nobody is told of.
func (c *collection) aliases() bool {
	m := c.m
	var due []int
	var read [maxNames]alias
	v := c.snapshot()
	for name := range maxNames {
		if m.draw(2) == 0 {
			if !c.pause() {
				return false
			}
			v = c.snapshot()
		}
		a := &v.aliases[name]
		read[name] = *a
		if a.exists() {
			c.mark(v, a.at)
		}
		forget := false
		a.each(c.now, func(p *past, told bool) {
			forget = forget || !told
			if !p.deleted && (told && !m.is(historyKeepsNothing) || m.is(untoldKeeps)) {
				c.mark(v, p.at)
			}
		})
		if forget {
			due = append(due, name)
		}
	}
	if !c.pause() {
		return false
	}
	c.early = nil
	if len(due) == 0 || m.is(untoldStays) {
		return true
	}
	return c.commit(&request{alone: true, do: func(b *batch) bool {
		for _, name := range due {
			b.forgetStates(name, &read[name], c.now)
		}
		return true
	}})
}

// forgetStates deletes the states of an alias that nobody is told of, as they are by now. Where it was deleted so long ago that nobody is
// told of any, its row says so, whatever clock comes.
func (b *batch) forgetStates(name int, read *alias, now int) {
	a := &b.next.aliases[name]
	judged := *a
	if b.m.is(statesByNumber) {
		judged = *read
	}
	some := false
	judged.each(now, func(p *past, told bool) {
		if s := a.slot(p.number); !told && s.number == p.number {
			*s = past{}
			some, b.wrote = true, true
			b.m.did.forgotten++
		}
	})
	if some && a.deleted && now-a.moved > maxAge {
		a.forgot = true
		b.events = append(b.events, event{kind: eventForgot, name: name})
	}
}

// lastPuts marks what was put again lately.
func (c *collection) lastPuts() bool {
	if c.m.is(lastPutsPassedOver) {
		return true
	}
	v := c.snapshot()
	for segment := range v.rows {
		if c.m.draw(8) == 0 {
			if !c.pause() {
				return false
			}
			v = c.snapshot()
		}
		for seq := range v.rows[segment] {
			at := place{int8(segment), int8(seq)}
			if r := v.row(at); r.id != 0 && int(r.last) >= c.cutoff {
				c.mark(v, at)
			}
			if r := v.row(at); r.id != 0 && c.m.is(linksKeep) && c.live.holds(at) && r.from != 0 && v.places[r.from].segment > 0 {
				c.mark(v, v.places[r.from])
			}
		}
	}
	return c.pause()
}

// segments goes through the segments from the last one to the first, and deletes what is not kept, the last node of each first.
func (c *collection) segments() bool {
	atOnce := 1 + c.m.draw(3)
	last := c.live.last
	if c.m.is(laterSegmentsSwept) {
		last = c.m.published.segments
	}
	for i := range last {
		segment := last - i
		if c.m.is(firstSegmentsFirst) {
			segment = i + 1
		}
		c.at = segment
		nodes := c.dead(segment)
		if len(nodes) > 0 && !c.pause() {
			return false
		}
		for _, n := range nodes {
			if c.pending = append(c.pending, n); len(c.pending) >= atOnce && !c.sweep() {
				return false
			}
		}
	}
	return len(c.pending) == 0 || c.sweep()
}

// dead finds in several reads which nodes of a segment nothing keeps, the last one first. One that was put lately keeps what comes before
// it.
func (c *collection) dead(segment int8) (nodes []dead) {
	v := c.m.published
	first := v.first(segment)
	for at := (place{segment, max(first.seq, c.live.before[segment])}); at.seq < maxSeqs && v.is(at); at = at.next() {
		if c.m.draw(4) == 0 {
			c.m.pause()
			v = c.m.published
		}
		nodes = append(nodes, dead{at, at == first})
		if int(v.row(at).first) >= c.cutoff {
			nodes = nil
			c.mark(v, at)
		}
	}
	if c.m.is(headsFirst) {
		return nodes
	}
	for i, j := 0, len(nodes)-1; i < j; i, j = i+1, j-1 {
		nodes[i], nodes[j] = nodes[j], nodes[i]
	}
	return nodes
}

// sweep deletes nodes, once nobody holds the store.
func (c *collection) sweep() bool {
	m := c.m
	nodes := c.pending
	c.pending = nil
	if !m.is(holdsIgnored) {
		m.await(func() bool { return m.gate.holds == 0 || m.leave })
		if m.is(gateLookedAt) {
			m.pause()
		}
		if m.leave {
			return false
		}
	}
	m.gate.deleting = true
	ok := c.commit(&request{alone: !m.is(sweptWithOthers), do: func(b *batch) bool { return b.sweep(c, nodes) }})
	m.gate.deleting = false
	return ok && c.pause()
}

// sweep adds what was named to what is kept, and deletes the nodes that are not.
func (b *batch) sweep(c *collection, nodes []dead) bool {
	if !b.m.is(closureNotTaken) {
		for segment, end := range c.naming.end {
			if end > 0 {
				b.addNamed(c, place{int8(segment), end - 1})
			}
		}
		c.naming.end = [maxSegments]int8{}
	}
	for _, n := range nodes {
		if !c.live.holds(n.at) {
			b.delete(n)
		}
	}
	if len(b.swept) > 0 {
		b.m.did.sweeps++
	}
	return true
}

func (b *batch) addNamed(c *collection, at place) {
	if b.m.is(namedWithoutAncestors) {
		c.live.before[at.segment] = max(c.live.before[at.segment], at.seq+1)
		return
	}
	c.mark(b.view, at)
}

// delete deletes the last node of a segment. Where others come before it, an empty row says that its place is taken.
func (b *batch) delete(n dead) {
	b.m.log("deletes node %d at %v", b.next.row(n.at).id, n.at)
	b.m.did.swept++
	b.wrote = true
	b.swept = append(b.swept, n.at)
	b.next.places[b.next.row(n.at).id] = place{}
	if behind := n.at.next(); behind.seq < maxSeqs && !b.next.is(behind) {
		*b.next.row(behind) = row{}
	}
	*b.next.row(n.at) = row{used: !n.begins && !b.m.is(noEmptyRow)}
}
