package collectmodel

// committer is the one that writes: a queue of requests, and what it knows.
type committer struct {
	queue []*request
	cache cache
	// naming notes what changes name; nil without a collection.
	naming *naming
	// swept is the last commit that deleted nodes; sweeps counts these, before they can be seen.
	swept, sweeps int
}

// request is in the queue until it is taken, and answered once what it did can be seen.
type request struct {
	do    func(b *batch) bool
	alone bool
	// refused says that it did nothing.
	taken, answered, refused bool
}

// naming has, by segment, the end of what was named and is not known to be kept.
type naming struct {
	last int8
	end  [maxSegments]int8
}

// cache knows where nodes lie, as of a commit.
type cache struct {
	at     [maxIDs]place
	commit [maxIDs]int
	// forgot is the last commit that it forgot nodes for.
	forgot int
}

// find is the place of a node as of a commit.
func (c *cache) find(n id, commit int) (place, bool) {
	return c.at[n], c.at[n].segment > 0 && c.commit[n] <= commit
}

// offer keeps what was read as of a commit.
func (m *machine) offer(n id, at place, commit int) {
	c := &m.committer.cache
	if at.segment > 0 && (commit >= c.forgot || m.is(lateOffers)) {
		c.at[n], c.commit[n] = at, commit
	}
}

// batch is what is committed at once.
type batch struct {
	m    *machine
	view *store
	next store
	// made are the nodes that it puts; swept, those that it deletes.
	made  set
	swept []place
	now   int
	wrote bool
	// events are what the oracle is told once it is durable; mentioned has all that requests name, refused ones, too.
	events    []event
	mentioned set
	requests  []*request
	// begins is the request by which a collection begins.
	begins *request
}

// commits takes requests, one batch after the other.
func (m *machine) commits() {
	c := &m.committer
	for {
		m.await(func() bool { return len(c.queue) > 0 })
		b := &batch{m: m, view: m.published, next: *m.published, now: m.clock}
		for n := 1 + m.draw(len(c.queue)); n > 0 && len(c.queue) > 0; n-- {
			r := c.queue[0]
			if r.alone && len(b.requests) > 0 {
				break
			}
			c.queue = c.queue[1:]
			b.take(r)
			if r.alone {
				break
			}
		}
		if m.is(answersEarly) && b.begins != nil {
			b.begins.answered = true
		}
		m.pause()
		b.finish()
		b.answer()
	}
}

// take applies a request, or leaves the batch as it was.
func (b *batch) take(r *request) {
	r.taken = true
	b.requests = append(b.requests, r)
	before, made, wrote, events := b.next, b.made, b.wrote, len(b.events)
	if r.do(b) {
		return
	}
	b.m.did.refused++
	r.refused = true
	b.next, b.made, b.wrote, b.events = before, made, wrote, b.events[:events]
}

func (b *batch) answer() {
	for _, r := range b.requests {
		r.answered = true
	}
}

// finish makes a batch durable, tells the caches, and lets others see it.
func (b *batch) finish() {
	m, c := b.m, &b.m.committer
	if b.wrote {
		b.next.commit++
	}
	m.disk = &b.next
	m.oracle.committed(b)
	m.pause()
	if !m.is(cachesToldLate) {
		b.tell()
	}
	for n := range id(maxIDs) {
		if b.made.has(n) {
			c.cache.at[n], c.cache.commit[n] = b.next.places[n], b.next.commit
		}
	}
	m.pause()
	m.published = m.disk
	if m.is(cachesToldLate) {
		m.pause()
		b.tell()
	}
}

// tell makes the cache forget what the batch deletes.
func (b *batch) tell() {
	c := &b.m.committer
	if len(b.swept) == 0 {
		return
	}
	c.swept = b.next.commit
	c.sweeps++
	if b.m.is(cachesNotTold) {
		return
	}
	c.cache.forgot = b.next.commit
	for n := range c.cache.at {
		for _, at := range b.swept {
			if p := c.cache.at[n]; p.segment == at.segment && p.seq >= at.seq {
				c.cache.at[n] = place{}
			}
		}
	}
}

// note notes that a change names the node at a place, as a parent, a target, and so on.
func (b *batch) note(at place, as mutation) {
	if n := b.m.committer.naming; n != nil && !b.m.is(as) && at.segment <= n.last {
		n.end[at.segment] = max(n.end[at.segment], at.seq+1)
	}
}

// find is where a node is that a change names; false where it is not there.
func (b *batch) find(n id, as mutation) (place, bool) {
	at, found := b.next.places[n], b.made.has(n)
	if !found {
		if at, found = b.m.committer.cache.find(n, b.view.commit); !found {
			at = b.view.places[n]
			b.m.offer(n, at, b.view.commit)
		}
	}
	if at.segment == 0 {
		return at, false
	}
	b.note(at, as)
	b.named(n)
	return at, true
}

// named tells the oracle.
func (b *batch) named(n id) {
	b.mentioned |= 1 << n
	b.events = append(b.events, event{kind: eventNamed, node: n})
}

// head is where an alias points, with the node.
func (b *batch) head(name int, as mutation) (place, id, bool) {
	a := &b.next.aliases[name]
	if !a.exists() {
		return place{}, 0, false
	}
	b.note(a.at, as)
	n := b.idAt(a.at)
	b.named(n)
	return a.at, n, true
}

// idAt is the node at a place that an alias has: that of before, where the batch deletes it.
func (b *batch) idAt(at place) id {
	if r := b.next.row(at); r.id != 0 {
		return r.id
	}
	return b.view.row(at).id
}

// submit puts a request into the queue.
func (m *machine) submit(r *request) {
	m.committer.queue = append(m.committer.queue, r)
}

// commit waits for the outcome: whether it was not refused.
func (m *machine) commit(r *request) bool {
	m.submit(r)
	m.await(func() bool { return r.answered })
	return !r.refused
}
