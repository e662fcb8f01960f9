package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/transcriptd/transcriptd/chainstore"
)

func registerChecks() []check {
	return []check{{Linearizable, "Aliases", func(f *fixture) {
		for seed := range uint64(5) {
			f.ok(CheckRegisters(f.ctx(), f.store, fmt.Sprint("registers-", seed), f.cfg.Encoding, seed))
		}
	}}}
}

// registerOp is a call on one alias: a read, of the alias or of the chain that it names, or a change with a condition.
type registerOp struct {
	alias       string
	read, chain bool
	change      chainstore.AliasChange
}

// registerState is what an alias is, and what a call says of it.
type registerState struct {
	exists bool
	head   chainstore.ID
}

// registerResult is what came of a call.
type registerResult struct {
	state    registerState // read: the state; change: the state before
	changed  bool
	conflict bool // then state is that of the ConflictError
}

// CheckRegisters has callers move, delete and read two aliases of an empty namespace at once, and returns an error if
// what they saw cannot have happened one after the other, or if the aliases' histories tell otherwise.
func CheckRegisters(ctx context.Context, s chainstore.Store, namespace string, e Encoding, seed uint64) error {
	var change chainstore.Change
	for i := range 4 {
		change.Nodes = append(change.Nodes, e.Make(root(user(fmt.Sprint(i)))))
	}
	out, err := s.Commit(ctx, namespace, &change)
	if err != nil {
		return err
	}
	var ids []chainstore.ID
	for _, n := range out.Nodes {
		ids = append(ids, n.ID)
	}
	r := &registers{ctx: ctx, store: s, namespace: namespace, ids: ids}
	var wg sync.WaitGroup
	for client := range 8 {
		wg.Go(func() { r.client(client, rand.New(rand.NewPCG(seed, uint64(client)))) })
	}
	wg.Wait()
	if r.failed != nil {
		return r.failed
	}
	if porcupine.CheckOperationsTimeout(registerModel(), r.history, 20*time.Second) != porcupine.Ok {
		return errors.New("what was seen of the aliases cannot have happened one after the other")
	}
	return errors.Join(r.states("a"), r.states("b/c"))
}

// move is a change of an alias, from one state to another.
type move struct{ from, to registerState }

// states compares an alias's history with the moves that callers were told of.
func (r *registers) states(name string) error {
	told, total := map[move]int{}, 0
	for _, o := range r.history {
		op, out := o.Input.(registerOp), o.Output.(registerResult)
		if op.alias == name && out.changed {
			told[move{out.state, registerTarget(op)}]++
			total++
		}
	}
	states, err := r.store.AliasHistory(r.ctx, r.namespace, name)
	if err != nil && total > 0 {
		return err
	}
	if len(states) != min(total, chainstore.MaxHistory) {
		return fmt.Errorf("%d states of %d moves", len(states), total)
	}
	for i, st := range states {
		m := move{to: registerState{!st.Deleted, st.Node}}
		if i+1 < len(states) {
			m.from = registerState{!states[i+1].Deleted, states[i+1].Node}
		} else if total > len(states) {
			break // where it came from is forgotten
		}
		if told[m]--; told[m] < 0 {
			return errors.New("the history has a move that nobody made")
		}
	}
	return nil
}

func registerTarget(op registerOp) registerState {
	if op.change.Target.Kind == chainstore.TargetRef {
		return registerState{true, op.change.Target.Ref.ID}
	}
	return registerState{}
}

// registers gathers a history.
type registers struct {
	ctx       context.Context
	store     chainstore.Store
	namespace string
	ids       []chainstore.ID
	clock     atomic.Int64

	mu      sync.Mutex
	history []porcupine.Operation
	failed  error
}

func (r *registers) client(client int, random *rand.Rand) {
	last := registerState{}
	for range 40 {
		op := r.draw(random, last)
		call := r.clock.Add(1)
		result, err := r.run(op)
		done := porcupine.Operation{ClientId: client, Input: op, Call: call, Output: result, Return: r.clock.Add(1)}
		last = result.state
		r.mu.Lock()
		r.history = append(r.history, done)
		if err != nil {
			r.failed = err
		}
		r.mu.Unlock()
	}
}

// draw makes a call; heads are often what this client saw last, so that conditions hold now and then.
func (r *registers) draw(random *rand.Rand, last registerState) registerOp {
	op := registerOp{alias: []string{"a", "b/c"}[random.IntN(2)]}
	id := r.ids[random.IntN(len(r.ids))]
	condition := []chainstore.Condition{anything(), mustNotExist(), mustExist(), headIs(id), headIs(last.head)}[random.IntN(5)]
	switch k := random.IntN(10); {
	case k < 3:
		op.read, op.chain = true, random.IntN(2) == 0
	case k < 5:
		if condition.Kind == chainstore.MustNotExist {
			condition = anything()
		}
		op.change = remove(op.alias, condition)
	default:
		op.change = point(op.alias, id, condition)
	}
	return op
}

func (r *registers) run(op registerOp) (registerResult, error) {
	if op.read {
		id, err := r.read(op)
		switch {
		case errors.Is(err, chainstore.ErrAliasNotFound):
			return registerResult{}, nil
		case err != nil:
			return registerResult{}, err
		}
		return registerResult{state: registerState{true, id}}, nil
	}
	out, err := r.store.Commit(r.ctx, r.namespace, &chainstore.Change{Aliases: []chainstore.AliasChange{op.change}})
	var conflict *chainstore.ConflictError
	switch {
	case errors.As(err, &conflict):
		c := conflict.Conflicts[0]
		return registerResult{state: registerState{c.Exists, c.Node}, conflict: true}, nil
	case err != nil:
		return registerResult{}, err
	}
	a := out.Aliases[0]
	return registerResult{state: registerState{a.Existed, a.Previous}, changed: a.Changed}, nil
}

// read asks where an alias points, or for the head of the chain that it names.
func (r *registers) read(op registerOp) (chainstore.ID, error) {
	if op.chain {
		c, err := r.store.Chain(r.ctx, r.namespace, chainstore.Ref{Alias: op.alias}, nil)
		if err != nil {
			return chainstore.ID{}, err
		}
		return c.Head().ID, nil
	}
	a, err := r.store.Alias(r.ctx, r.namespace, op.alias)
	if err != nil {
		return chainstore.ID{}, err
	}
	return a.Node, nil
}

// registerModel is an alias as one caller after the other would see it, written without chainstore's own rules.
func registerModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byAlias := map[string][]porcupine.Operation{}
			for _, o := range history {
				name := o.Input.(registerOp).alias
				byAlias[name] = append(byAlias[name], o)
			}
			var parts [][]porcupine.Operation
			for _, part := range byAlias {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return registerState{} },
		Step: func(state, input, output any) (bool, any) {
			s, out := state.(registerState), output.(registerResult)
			want, next := stepRegister(s, input.(registerOp))
			return out == want, next
		},
	}
}

func stepRegister(s registerState, op registerOp) (registerResult, registerState) {
	if op.read {
		return registerResult{state: s}, s
	}
	next := registerTarget(op)
	if !registerHolds(s, next, op.change.Condition) {
		return registerResult{state: s, conflict: true}, s
	}
	return registerResult{state: s, changed: s != next}, next
}

func registerHolds(s, next registerState, c chainstore.Condition) bool {
	switch {
	case next.exists && s == next:
		return true
	case c.Kind == chainstore.MustNotExist:
		return !s.exists
	case c.Kind == chainstore.MustExist:
		return s.exists
	case c.Kind == chainstore.HeadIs && !s.exists:
		return !next.exists
	case c.Kind == chainstore.HeadIs:
		return s.head == c.Head
	default:
		return true
	}
}
