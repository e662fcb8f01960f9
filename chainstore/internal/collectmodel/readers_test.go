package collectmodel

// gate lets those who read in several calls keep a collection from deleting between them.
type gate struct {
	holds    int
	deleting bool
}

// holds reads in several calls: it finds in the later what the earlier named.
func (m *machine) holds() {
	for {
		m.pause()
		if !m.is(holdsDoNotWait) {
			m.await(func() bool { return !m.gate.deleting })
		}
		m.gate.holds++
		m.did.holds++
		first := m.published
		for range 1 + m.draw(3) {
			m.pause()
			m.found(first, m.published)
		}
		m.gate.holds--
	}
}

// found finds what an earlier read saw in a later one.
func (m *machine) found(earlier, later *store) {
	for n, at := range earlier.places {
		if at.segment > 0 && later.places[n] != at {
			m.fail("who holds the store misses node %d at %v", n, at)
		}
	}
}

// reads reads nodes by their ids, through the cache.
func (m *machine) reads() {
	for {
		m.pause()
		n := m.drawID()
		v := m.published
		at, hit := m.committer.cache.find(n, v.commit)
		if hit {
			if at != v.places[n] {
				m.fail("a read of commit %d finds node %d at %v, where it is at %v", v.commit, n, at, v.places[n])
			}
			continue
		}
		at = v.places[n]
		m.pause()
		m.offer(n, at, v.commit)
	}
}
