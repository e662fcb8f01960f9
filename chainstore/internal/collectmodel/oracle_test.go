package collectmodel

// event is something that took place, as it is told to callers.
type event struct {
	kind   eventKind
	node   id
	name   int
	at     int
	states []restored
}

type eventKind uint8

const (
	eventNamed eventKind = iota
	eventPut
	eventMoved // to a node, or deleted where there is none
	eventForgot
	eventRestored
	eventBegun
	eventEnded
)

// oracle knows all that took place, and tells from that what must be there and what must be gone. It knows nothing of places but
// that none has two nodes.
type oracle struct {
	m *machine
	// put is when each node was put last, by the latest clock.
	put [maxIDs]int
	// states has those of each alias, earliest first, since it was deleted with its history last.
	states [maxNames][]restored
	had    [maxSegments][maxSeqs]id
	before *store
	// collecting says that a collection has begun: named is what was named since, kept what it was to keep, and there is what there was.
	collecting      bool
	named, mentions set
	kept            set
	there           *store
	untold          [maxNames]untold
	now             int
}

// untold is what was not told of when a collection began, of an alias of a revision.
type untold struct {
	revision int
	numbers  [maxHistory]int
}

// committed is told of a batch that is durable, and judges the store.
func (o *oracle) committed(b *batch) {
	begun := false
	for i := range b.events {
		begun = begun || b.events[i].kind == eventBegun
		o.event(&b.events[i])
	}
	if begun {
		o.begun(&b.next)
	}
	if o.collecting {
		o.mentions |= b.mentioned
	}
	if b.wrote {
		o.judge(&b.next)
	}
}

func (o *oracle) event(e *event) {
	m := o.m
	switch e.kind {
	case eventNamed:
		if o.collecting {
			o.named |= 1 << e.node
		}
		return
	case eventPut:
		o.put[e.node] = max(o.put[e.node], e.at)
	case eventMoved:
		o.states[e.name] = append(o.states[e.name], restored{e.node, e.at})
	case eventForgot:
		o.states[e.name] = nil
	case eventRestored:
		o.states[e.name] = append([]restored(nil), e.states...)
	case eventBegun:
		o.collecting, o.named, o.mentions, o.now, o.kept = true, 0, 0, e.at, 0
	case eventEnded:
		o.collecting = false
	}
	m.log("oracle: %s node %d name %d at %d %v", [...]string{"", "put", "moved", "forgot", "restored", "begun", "ended"}[e.kind], e.node, e.name, e.at, e.states)
}

// killed: what was named is forgotten with the collection.
func (o *oracle) killed() { o.collecting = false }

// told goes through the states of an alias that are told of at a time, latest first; number counts them from the earliest.
func (o *oracle) told(name, now int, f func(number int, s restored)) {
	states := o.states[name]
	until := now
	for i := len(states) - 1; i >= 0 && len(states)-i <= maxHistory; i-- {
		s := states[i]
		if i < len(states)-1 && now-until > maxAge || s.node == 0 && until-s.began > maxAge {
			return
		}
		f(i+1, s)
		until = s.began
	}
}

// keeps is what aliases and their histories keep at a time, and what was put from another on.
func (o *oracle) keeps(now, from int) (kept set) {
	for name := range o.states {
		o.told(name, now, func(_ int, s restored) { o.m.keep(&kept, s.node) })
	}
	for n, put := range o.put {
		if put > 0 && put >= from && o.m.grace > 0 {
			o.m.keep(&kept, id(n))
		}
	}
	return kept
}

// begun remembers what there was as a collection began.
func (o *oracle) begun(s *store) {
	there := *s
	o.there = &there
	o.kept = o.keeps(o.now, o.now-o.m.grace-renewAfter)
	for name := range s.aliases {
		a := &s.aliases[name]
		o.untold[name] = untold{revision: a.revision}
		a.each(o.now, func(p *past, told bool) {
			if !told {
				o.untold[name].numbers[p.number%maxHistory] = p.number
			}
		})
	}
}

// collected judges what a collection has left that came to its end.
func (o *oracle) collected() {
	m := o.m
	if !o.collecting || !m.asks.left {
		return
	}
	kept := o.kept
	for n := range id(maxIDs) {
		if (o.named | o.mentions).has(n) {
			m.keep(&kept, n)
		}
	}
	for n, at := range o.there.places {
		if at.segment > 0 && !kept.has(id(n)) && m.published.places[n] == at {
			m.fail("left: node %d at %v", n, at)
		}
	}
	for name := range m.published.aliases {
		a := &m.published.aliases[name]
		for slot, number := range o.untold[name].numbers {
			if number > 0 && a.revision == o.untold[name].revision && a.ring[slot].number == number {
				m.fail("left: state %d of alias %d", number, name)
			}
		}
	}
}

// judge tells whether all is there that must be, and whole.
func (o *oracle) judge(s *store) {
	o.whole(s)
	o.places(s)
	o.aliases(s)
	must := o.keeps(o.m.latest, o.m.latest-o.m.grace)
	if o.m.asks.named && o.collecting {
		for n := range id(maxIDs) {
			if o.named.has(n) {
				o.m.keep(&must, n)
			}
		}
	}
	for n := range id(maxIDs) {
		if must.has(n) && s.places[n].segment == 0 {
			o.m.fail("lost: node %d", n)
		}
	}
	o.before = s
}

// whole: the parent of a node is where the node says, or the segment of the node is at fault.
func (o *oracle) whole(s *store) {
	for segment := int8(1); segment <= s.segments; segment++ {
		for seq := range int8(maxSeqs) {
			at := place{segment, seq}
			r := s.row(at)
			if r.id == 0 {
				continue
			}
			if s.places[r.id] != at {
				o.m.fail("node %d is at %v and at %v", r.id, at, s.places[r.id])
			}
			parent := place{segment, seq - 1}
			if at == s.first(segment) {
				parent = s.forked[segment]
			}
			if want := o.m.known[r.id].parent; want != 0 && (parent.seq < 0 || s.row(parent).id != want) {
				o.m.fail("node %d is there at %v, its parent %d is not", r.id, at, want)
			}
		}
	}
}

// places: a place never has two nodes, one after the other.
func (o *oracle) places(s *store) {
	for segment := range s.rows[:s.segments+1] {
		for seq := range s.rows[segment] {
			n, had := s.rows[segment][seq].id, &o.had[segment][seq]
			if n == 0 || o.before != nil && o.before.rows[segment][seq].id == n {
				continue
			}
			if *had != 0 {
				o.m.fail("place %d/%d has node %d, and had %d", segment, seq, n, *had)
			}
			*had = n
		}
	}
}

// aliases: each is where it was set to, its states that are told of are there, and none that is there names a node which is not.
func (o *oracle) aliases(s *store) {
	for name := range s.aliases {
		a := &s.aliases[name]
		for i := range a.ring {
			if p := &a.ring[i]; p.number > 0 && !p.deleted && !s.is(p.at) {
				o.m.fail("state %d of alias %d names %v, where no node is", p.number, name, p.at)
			}
		}
		last := len(o.states[name])
		if last == 0 && a.exists() {
			o.m.fail("alias %d is there", name)
		}
		o.told(name, o.m.latest, func(number int, want restored) {
			deleted, at, present := a.deleted, a.at, number == last
			if !present {
				p := a.slot(number)
				deleted, at = p.deleted, p.at
				if p.number != number {
					o.m.fail("lost: state %d of alias %d", number, name)
				}
			}
			if deleted != (want.node == 0) || !deleted && s.row(at).id != want.node {
				o.m.fail("lost: state %d of alias %d had node %d", number, name, want.node)
			}
		})
	}
}
