package storetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"pgregory.net/rapid"
)

// kept are the receipts of a span of nodes that are not there, read in pages of so many bytes.
func (f *fixture) kept(span chainstore.ExportSpan, limit int) (all []chainstore.KeptReceipt) {
	f.Helper()
	var cursor []byte
	for {
		page, next, err := f.store.ExportReceipts(f.ctx(), f.ns, span, cursor, limit)
		f.ok(err)
		all = append(all, page...)
		if cursor = next; next == nil {
			return all
		}
	}
}

// eraseReceipts: the receipt of a node that was erased and collected is exported, and a namespace that it is restored into has it, and refuses the node.
func eraseReceipts(f *fixture) {
	if f.skips(Collect) || f.skips(Export) || f.skips(Restore) {
		return
	}
	ids := f.chain(chainstore.Parent{}, user(canary), user("second "+canary))
	before := f.point()
	f.erase(ids...)
	erased := f.point()
	equal(f, "the receipts of nodes that are there", len(f.kept(chainstore.ExportSpan{Through: erased}, 1<<20)), 0)
	f.sweep(2)
	for _, span := range []struct {
		after, through chainstore.Point
		want           int
	}{{0, f.point(), 2}, {before, erased, 2}, {0, before, 0}, {erased, f.point(), 0}} {
		for _, limit := range []int{1, 1 << 20} {
			got := f.kept(chainstore.ExportSpan{After: span.after, Through: span.through}, limit)
			equal(f, "the receipts of a span", len(got), span.want)
			for _, one := range got {
				equal(f, "that the receipt is of a node of the chain", slices.Contains(ids, one.ID), true)
				equal(f, "the receipt", string(one.Bytes), "receipt of "+one.ID.Prefix())
			}
		}
	}
	_, _, err := f.store.ExportReceipts(f.ctx(), f.ns, chainstore.ExportSpan{}, []byte("no cursor"), 1)
	f.fails(err, chainstore.ErrBadCursor)
	f.restoresReceipts(ids, f.kept(chainstore.ExportSpan{Through: f.point()}, 1<<20))
}

// restoresReceipts restores those of a chain, whose root says the canary.
func (f *fixture) restoresReceipts(ids []chainstore.ID, all []chainstore.KeptReceipt) {
	f.Helper()
	g := f.in("restored")
	g.restore(&chainstore.Restored{Receipts: all}, 0)
	erasures := g.erasures()
	equal(g, "that erasures were counted", erasures > 0, true)
	g.restore(&chainstore.Restored{Receipts: all}, 0)
	equal(g, "the erasures behind a repeat", g.erasures(), erasures)
	for _, id := range ids {
		g.hasReceipt(id, []byte("receipt of "+id.Prefix()))
	}
	got, err := g.store.Receipt(g.ctx(), g.ns, ids[0])
	g.ok(err)
	equal(g, "that nothing is left to purge", got.PurgedAt > 0, true)
	_, err = g.try([]Node{root(user(canary))})
	g.refusesErased(err, 0, ids[0])
	equal(g, "the receipts that are exported", len(g.kept(chainstore.ExportSpan{Through: g.point()}, 1<<20)), len(all))
	other := []chainstore.KeptReceipt{{ID: ids[0], Bytes: []byte("another")}}
	g.restore(&chainstore.Restored{Receipts: other}, 0)
	g.hasReceipt(ids[0], []byte("receipt of "+ids[0].Prefix()))
	g.clean()

	h := f.in("with-content")
	h.chain(chainstore.Parent{}, user(canary))
	_, err = h.store.Restore(h.ctx(), h.ns, &chainstore.Restored{Receipts: []chainstore.KeptReceipt{{ID: unknownID(1)}, other[0]}})
	h.fails(err, chainstore.ErrNotErased)
	var missing *chainstore.MissingError
	equal(h, "that it names the receipt", errors.As(err, &missing) && missing.Index == 1, true)
	equal(h, "the erasures", h.erasures(), uint64(0))
	_, err = h.store.Restore(h.ctx(), h.ns, &chainstore.Restored{Receipts: make([]chainstore.KeptReceipt, chainstore.MaxErased+1)})
	h.fails(err, chainstore.ErrTooLarge)
	h.clean()
}

// keep restores receipts in both: of nodes that are gone, of none, and now and then of one that is there.
func (p *program) keep(rt *rapid.T) error {
	if p.f.skips(Erase) || p.f.skips(Restore) {
		return nil
	}
	r := &chainstore.Restored{}
	for range 1 + roll(rt, 3, "receipts") {
		one := chainstore.KeptReceipt{ID: unknownID(byte(2 + roll(rt, 3, "of none"))), Bytes: []byte{byte(roll(rt, 250, "receipt"))}}
		switch what := roll(rt, 6, "of what"); {
		case what == 0:
			one.ID = p.id(rt)
		case what < 4 && len(p.gone) > 0:
			one.ID = pick(rt, p.gone, "of the gone")
		}
		r.Receipts = append(r.Receipts, one)
	}
	_, wantErr := p.model.Restore(p.f.ctx(), p.f.ns, r)
	_, err := p.store.Restore(p.f.ctx(), p.f.ns, r)
	if err := sameError(err, wantErr); err != nil {
		return fmt.Errorf("a restore of receipts: %w", err)
	}
	return p.compare(p.ids)
}
