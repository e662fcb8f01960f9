package storetest

import (
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
	"pgregory.net/rapid"
)

// Purger is a store that takes out of its files what was erased or deleted.
type Purger interface {
	// Purged returns when nothing is left to take out.
	Purged()
}

// forgetsLikeTheModel runs random programs that erase labels and delete their namespace often, beside all else that takes away, and begin anew under
// the same name.
func forgetsLikeTheModel(f *fixture) { randomPrograms(f, (*program).forgetStep) }

func (p *program) forgetStep(rt *rapid.T) error {
	switch roll(rt, 14, "what") {
	case 0:
		p.later(rt)
		return nil
	case 1:
		return p.collect(rt)
	case 2:
		return p.erase(rt)
	case 3:
		return p.eraseLabels(rt)
	case 4:
		return p.deleteAll(rt)
	case 5:
		if !p.f.skips(Restore) && len(p.ids) > 0 {
			return p.restore(rt)
		}
	case 6:
		if !p.f.skips(Settings) {
			return p.settle(rt)
		}
	case 7:
		if p.last != nil { // again
			return p.commit(p.last)
		}
	case 8:
		if p.batcher != nil {
			return p.together(rt)
		}
	}
	p.last = p.change(rt)
	return p.commit(p.last)
}

// restore restores in both.
func (p *program) restore(rt *rapid.T) error {
	m := meanwhile{program: p, named: map[chainstore.ID]bool{}}
	m.restores(p.restored(rt))
	return m.again()
}

// eraseLabels erases those of some names in both.
func (p *program) eraseLabels(rt *rapid.T) error {
	if p.f.skips(Erase) {
		return nil
	}
	names := p.someAliases(rt)
	want, wantErr := p.model.EraseLabels(p.f.ctx(), p.f.ns, names)
	if err := p.eraseLabelsLike(names, want, wantErr); err != nil {
		return err
	}
	return p.compare(nil)
}

func (p *program) someAliases(rt *rapid.T) (names []string) {
	for range 1 + roll(rt, 3, "names") {
		names = append(names, pick(rt, randomAliases, "name"))
	}
	return names
}

// eraseLabelsLike erases in the store what was erased in the model.
func (p *program) eraseLabelsLike(names []string, want int, wantErr error) error {
	got, err := p.store.EraseLabels(p.f.ctx(), p.f.ns, names)
	if err := sameError(err, wantErr); err != nil {
		return fmt.Errorf("the erasure of labels: %w", err)
	}
	if got != want {
		return fmt.Errorf("%d aliases lost their labels, want %d", got, want)
	}
	return nil
}

// deleteAll deletes the namespace in both. Chains that were found before say so.
func (p *program) deleteAll(rt *rapid.T) error {
	if p.f.skips(Deletion) {
		return nil
	}
	found, err := p.find(rt)
	if err != nil {
		return err
	}
	if err := p.deleteLike(p.deleteInModel()); err != nil {
		return err
	}
	if err := p.compare(p.gone[max(0, len(p.gone)-4):]); err != nil {
		return err
	}
	if p.f.skips(Meanwhile) { // what was found before is kept elsewhere
		return nil
	}
	return p.tellTheSame(found, nil)
}

// deleteInModel tells whether it was there.
func (p *program) deleteInModel() bool {
	deleted, err := p.model.DeleteNamespace(p.f.ctx(), p.f.ns, nil)
	p.f.ok(err)
	p.gone, p.ids = append(p.gone, p.ids...), nil
	return deleted
}

// deleteLike deletes it in the store.
func (p *program) deleteLike(want bool) error {
	got, err := p.store.DeleteNamespace(p.f.ctx(), p.f.ns, nil)
	if err == nil && got != want {
		err = fmt.Errorf("that it was there is %t, want %t", got, want)
	}
	if err != nil {
		return fmt.Errorf("the deletion of a namespace: %w", err)
	}
	return nil
}
