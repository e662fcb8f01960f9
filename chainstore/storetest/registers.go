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

// registerState is what an alias is.
type registerState struct {
	registerHead
	label    string
	revision int64
}

// registerHead is where an alias points.
type registerHead struct {
	exists bool
	head   chainstore.ID
}

// registerResult is what came of a call.
type registerResult struct {
	// head is where the alias points; where a change took place, where it pointed before.
	head registerHead
	// revision is that after the call, of all but reads of the chain; label is that of reads of the alias.
	revision          int64
	label             string
	changed, conflict bool
	revised           bool
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

// move is a change of an alias, from one head to another.
type move struct {
	from, to registerHead
	revision int64
}

// states compares an alias's history with the moves that callers were told of.
func (r *registers) states(name string) error {
	told, total := map[move]int{}, 0
	for _, o := range r.history {
		op, out := o.Input.(registerOp), o.Output.(registerResult)
		if op.alias == name && out.changed {
			told[move{out.head, registerTarget(op), out.revision}]++
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
		m := move{to: registerHead{!st.Deleted, st.Node}, revision: st.Revision}
		if i+1 < len(states) {
			m.from = registerHead{!states[i+1].Deleted, states[i+1].Node}
		} else if total > len(states) {
			break // where it came from is forgotten
		}
		if told[m]--; told[m] < 0 {
			return errors.New("the history has a move that nobody made")
		}
	}
	return nil
}

func registerTarget(op registerOp) registerHead {
	if op.change.Target.Kind == chainstore.TargetRef {
		return registerHead{true, op.change.Target.Ref.ID}
	}
	return registerHead{}
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
	last := registerResult{}
	for range 40 {
		op := r.draw(random, last)
		call := r.clock.Add(1)
		result, err := r.run(op)
		done := porcupine.Operation{ClientId: client, Input: op, Call: call, Output: result, Return: r.clock.Add(1)}
		last = result
		r.mu.Lock()
		r.history = append(r.history, done)
		if err != nil {
			r.failed = err
		}
		r.mu.Unlock()
	}
}

// draw makes a call; heads are often what this client saw last, so that conditions hold now and then.
func (r *registers) draw(random *rand.Rand, last registerResult) registerOp {
	op := registerOp{alias: []string{"a", "b/c"}[random.IntN(2)]}
	id := r.ids[random.IntN(len(r.ids))]
	revision := max(1, last.revision)
	condition := []chainstore.Condition{
		anything(), mustNotExist(), mustExist(), headIs(id), headIs(last.head.head), atRevision(revision), headAt(last.head.head, revision),
	}[random.IntN(7)]
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
		if random.IntN(2) == 0 {
			op.change.SetLabels, op.change.Labels = true, map[string]string{"k": []string{"v", "w"}[random.IntN(2)]}
		}
	}
	return op
}

func (r *registers) run(op registerOp) (registerResult, error) {
	if op.read {
		result, err := r.read(op)
		if errors.Is(err, chainstore.ErrAliasNotFound) {
			err = nil
		}
		return result, err
	}
	out, err := r.store.Commit(r.ctx, r.namespace, &chainstore.Change{Aliases: []chainstore.AliasChange{op.change}})
	var conflict *chainstore.ConflictError
	switch {
	case errors.As(err, &conflict):
		c := conflict.Conflicts[0]
		return registerResult{head: registerHead{c.Exists, c.Node}, revision: c.Revision, conflict: true}, nil
	case err != nil:
		return registerResult{}, err
	}
	a := out.Aliases[0]
	return registerResult{head: registerHead{a.Existed, a.Previous}, revision: a.Revision, changed: a.Changed, revised: a.Revised}, nil
}

// read asks where an alias points, or for the head of the chain that it names.
func (r *registers) read(op registerOp) (registerResult, error) {
	if op.chain {
		c, err := r.store.Chain(r.ctx, r.namespace, chainstore.Ref{Alias: op.alias}, nil)
		if err != nil {
			return registerResult{}, err
		}
		return registerResult{head: registerHead{true, c.Head().ID}}, nil
	}
	a, err := r.store.Alias(r.ctx, r.namespace, op.alias)
	out := registerResult{revision: revisionIn(a, err)}
	if err == nil {
		out.head, out.label = registerHead{true, a.Node}, a.Labels["k"]
	}
	return out, err
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
	switch {
	case op.chain:
		return registerResult{head: s.registerHead}, s
	case op.read:
		return registerResult{head: s.registerHead, revision: s.revision, label: s.label}, s
	}
	next := registerState{registerHead: registerTarget(op), label: s.label, revision: s.revision}
	switch {
	case !next.exists:
		next.label = ""
	case op.change.SetLabels:
		next.label = op.change.Labels["k"]
	}
	if !registerHolds(s, next, op.change.Condition) {
		return registerResult{head: s.registerHead, revision: s.revision, conflict: true}, s
	}
	if next != s {
		next.revision++
	}
	return registerResult{
		head: s.registerHead, revision: next.revision, changed: s.registerHead != next.registerHead, revised: s != next,
	}, next
}

func registerHolds(s, next registerState, c chainstore.Condition) bool {
	switch {
	case c.Revision == s.revision && c.Revision > 0:
		return c.Kind == chainstore.Any || s.exists && s.head == c.Head
	case c.Revision > 0:
		return c.Revision+1 == s.revision && s == next
	case next.exists && s.registerHead == next.registerHead:
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
