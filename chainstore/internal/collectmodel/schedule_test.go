package collectmodel

import (
	"fmt"
	"iter"
	"math/rand/v2"
)

// stepsOf is how many steps a schedule has.
const stepsOf = 400

// actor is one of those who do something at once. It runs until it pauses, and while it does, nobody else does.
type actor struct {
	name  string
	ready func() bool
	yield func(struct{}) bool
	next  func() (struct{}, bool)
	stop  func()
}

// killed ends an actor.
type killed struct{}

// machine is a store with all who work on it. What is in memory is lost by a kill.
type machine struct {
	rng *rand.Rand
	// without is the fault that its rule has.
	without mutation
	asks    asks
	// trace is what was done, in a schedule that is traced; wrong, what is wrong first.
	trace  []string
	traced bool
	wrong  string

	// clock goes back at times; latest is the latest time that it told.
	clock, latest, grace int
	// restless says that it is killed now and then, and that aliases are restored.
	restless bool
	known    []ident
	disk     *store
	oracle   oracle
	did      counts

	actors  []*actor
	current *actor

	published *store
	committer committer
	gate      gate
	// running is the collection under way; leave asks it to end.
	running *collection
	leave   bool
	// survivor is a collection that outlived a kill, as it must not.
	survivor *collection
}

// asks is what a schedule is judged by, beside that nothing is lost, that all is whole, and what readers find.
type asks struct {
	// named: what is named while a collection runs is kept by it. left: what nothing keeps goes.
	named, left bool
}

// ident is what an id follows from.
type ident struct {
	parent id
	says   int
}

// counts tell that schedules do what they are for.
type counts struct{ puts, repeats, sweeps, swept, forgotten, restores, holds, kills, cancels, collections, refused int }

func (c *counts) add(o *counts) {
	c.puts, c.repeats, c.sweeps, c.swept = c.puts+o.puts, c.repeats+o.repeats, c.sweeps+o.sweeps, c.swept+o.swept
	c.forgotten, c.restores, c.holds, c.kills = c.forgotten+o.forgotten, c.restores+o.restores, c.holds+o.holds, c.kills+o.kills
	c.cancels, c.collections, c.refused = c.cancels+o.cancels, c.collections+o.collections, c.refused+o.refused
}

// schedule runs the schedule of a number.
func schedule(number uint64, without mutation, asks asks, traced bool) *machine {
	m := &machine{
		rng: rand.New(rand.NewPCG(number, 0)), without: without, asks: asks, traced: traced,
		clock: 100, latest: 100, known: make([]ident, 1, maxIDs), disk: &store{},
	}
	if m.draw(2) == 0 {
		m.grace = grace
	}
	m.restless = m.draw(2) == 0
	m.oracle.m = m
	m.open()
	for step := 0; step < stepsOf && m.wrong == ""; step++ {
		m.step()
	}
	m.halt()
	return m
}

// open begins with what is durable.
func (m *machine) open() {
	m.published, m.committer, m.gate, m.running, m.leave = m.disk, committer{}, gate{}, nil, false
	m.actors = m.actors[:0]
	m.spawn("committer", m.commits)
	m.spawn("collector", m.collects)
	m.spawn("writer", m.writes)
	m.spawn("another writer", m.writes)
	m.spawn("holder", m.holds)
	m.spawn("reader", m.reads)
	if m.restless {
		m.spawn("restore", m.restores)
	}
}

func (m *machine) spawn(name string, f func()) {
	a := &actor{name: name}
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		defer func() {
			if r := recover(); r != nil && r != (killed{}) {
				panic(r)
			}
		}()
		a.yield = yield
		f()
	})
	m.actors = append(m.actors, a)
}

// halt ends all actors, wherever they are.
func (m *machine) halt() {
	for _, a := range m.actors {
		m.current = a
		a.stop()
	}
}

// step lets one of the actors go on, or does what comes from outside.
func (m *machine) step() {
	switch n := m.draw(100); {
	case n < 3:
		m.clock += 1 + m.draw(4)
		if m.restless && m.draw(4) == 0 {
			m.clock -= m.draw(2 * renewAfter * grace)
		}
		m.latest = max(m.latest, m.clock)
		m.log("the clock is at %d", m.clock)
		return
	case n == 4 && m.restless && m.draw(3) == 0:
		m.log("kill")
		m.kill()
		return
	case n == 5 && m.running != nil && m.draw(2) == 0:
		m.log("cancel")
		m.did.cancels++
		m.leave = true
		return
	}
	for range 8 {
		a := m.actors[m.pick()]
		if a.ready != nil && !a.ready() {
			continue
		}
		a.ready, m.current = nil, a
		a.next()
		return
	}
}

// pick prefers the committer and the collector.
func (m *machine) pick() int {
	n := m.draw(len(m.actors) + 10)
	if n >= len(m.actors) {
		n %= 2
	}
	return n
}

func (m *machine) kill() {
	m.did.kills++
	if m.is(killSurvived) && m.running != nil && m.running.at > 0 {
		m.survivor = m.running
	}
	m.halt()
	m.oracle.killed()
	m.open()
}

// pause lets others do something.
func (m *machine) pause() {
	if !m.current.yield(struct{}{}) {
		panic(killed{})
	}
}

// await pauses until it is so.
func (m *machine) await(is func() bool) {
	for {
		m.current.ready = is
		m.pause()
		if is() {
			return
		}
	}
}

func (m *machine) draw(n int) int { return m.rng.IntN(n) }

func (m *machine) is(x mutation) bool { return m.without == x }

// fail notes what is wrong.
func (m *machine) fail(format string, args ...any) {
	if m.wrong == "" {
		m.wrong = fmt.Sprintf(format, args...)
		m.log("WRONG: %s", m.wrong)
	}
}

func (m *machine) log(format string, args ...any) {
	if m.traced {
		name := ""
		if m.current != nil {
			name = m.current.name
		}
		m.trace = append(m.trace, fmt.Sprintf("%-14s ", name)+fmt.Sprintf(format, args...))
	}
}

// child is the id of a child that says something; 0 where no more ids are to be had.
func (m *machine) child(parent id, says int) id {
	for i := 1; i < len(m.known); i++ {
		if m.known[i] == (ident{parent, says}) {
			return id(i)
		}
	}
	if len(m.known) == maxIDs {
		return 0
	}
	m.known = append(m.known, ident{parent, says})
	return id(len(m.known) - 1)
}

// set is a set of ids.
type set uint64

func (s set) has(n id) bool { return s&(1<<n) != 0 }

// keep adds a node with its ancestors to a set.
func (m *machine) keep(s *set, n id) {
	for ; n != 0 && !s.has(n); n = m.known[n].parent {
		*s |= 1 << n
	}
}
