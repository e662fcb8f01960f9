package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/compaction/runloop"
)

// dumper writes down all that can be seen of a namespace, so that two stores can be compared.
type dumper struct {
	f     *fixture
	ids   []chainstore.ID
	names []string
	calls []string

	b strings.Builder
	// runs numbers the keys of runs in the order in which they are seen.
	runs map[uint64]int
}

// dump looks at a store through every reading method that it does not opt out of.
func (d *dumper) dump(s chainstore.Store) (string, error) {
	d.b.Reset()
	d.runs = map[uint64]int{}
	ctx := d.f.ctx()
	for _, id := range d.ids {
		if err := errors.Join(d.chain(ctx, s, idRef(id)), d.around(ctx, s, id), d.index(ctx, s, id)); err != nil {
			return "", err
		}
		if !d.f.skips(Erase) {
			receipt, err := s.Receipt(ctx, d.f.ns, id)
			d.line("receipt %x %v", receipt.Bytes, err)
		}
	}
	if !d.f.skips(Erase) {
		n, err := s.Erasures(ctx, d.f.ns)
		d.line("erasures %t %v", n > 0, err)
	}
	if !d.f.skips(Erase) && !d.f.skips(Export) {
		point, err := s.Point(ctx)
		if err != nil {
			return "", err
		}
		for cursor := []byte(nil); ; {
			kept, next, err := s.ExportReceipts(ctx, d.f.ns, chainstore.ExportSpan{Through: point}, cursor, 1<<20)
			if err != nil {
				return "", err
			}
			for i := range kept {
				d.line("the receipt %x of %v, which is not there", kept[i].Bytes, kept[i].ID)
			}
			if cursor = next; next == nil {
				break
			}
		}
	}
	for _, name := range d.names {
		if err := d.alias(ctx, s, name); err != nil {
			return "", err
		}
	}
	if err := d.lists(ctx, s); err != nil {
		return "", err
	}
	if !d.f.skips(Statistics) {
		st, err := s.Stats(ctx, d.f.ns)
		d.line("stats %+v %v", st, err)
	}
	return d.b.String(), nil
}

func (d *dumper) line(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

// absentOr writes down that something is not there, and returns any other error.
func (d *dumper) absentOr(what string, err error) error {
	for _, known := range []error{chainstore.ErrNodeNotFound, chainstore.ErrAliasNotFound, chainstore.ErrNotAncestor} {
		if errors.Is(err, known) {
			d.line("%s: %v", what, known)
			return nil
		}
	}
	return err
}

func (d *dumper) chain(ctx context.Context, s chainstore.Store, head chainstore.Ref) error {
	c, err := s.Chain(ctx, d.f.ns, head, nil)
	if err != nil {
		return d.absentOr("chain", err)
	}
	h := c.Head()
	d.line("chain %s %d %+v %+v", h.ID.Prefix(), h.Seq, h.State.Full.Totals, h.State.Effective.Totals)
	if !d.f.skips(Runs) {
		for _, r := range c.Runs(1000) {
			if d.runs[r.Key] == 0 {
				d.runs[r.Key] = len(d.runs) + 1
			}
			d.line(" run %d from %d through %d", d.runs[r.Key], r.From, r.Through)
		}
	}
	if !d.f.skips(Headers) {
		if err := d.questions(ctx, c); err != nil {
			return err
		}
	}
	return c.Rows(ctx, []chainstore.Span{{Through: h.Seq}}, func(r *chainstore.Row) error {
		h, err := r.Header()
		if err != nil {
			return err
		}
		d.line(" %d %s at %d salt %x payload %x metadata %x", r.Seq, h.ID.Prefix(), h.FirstPut, h.Salt,
			sha256.Sum256(r.Payload), sha256.Sum256(r.Metadata))
		if len(r.Details) > 0 {
			d.line("  details %x", r.Details)
		}
		if h.SpawnedFrom != nil {
			d.line("  spawned from %v", *h.SpawnedFrom)
		}
		for i := range h.Messages {
			d.line("  %d %d %+v", h.Messages[i].Role, h.Messages[i].Length, h.Messages[i].Note)
		}
		if !d.f.skips(Headers) {
			d.line("  raw %x", []byte(r.Raw))
		}
		return nil
	})
}

// around writes down children, aliases and the ancestors among the ids.
func (d *dumper) around(ctx context.Context, s chainstore.Store, id chainstore.ID) error {
	children, err := s.Children(ctx, d.f.ns, idRef(id), nil, 1000)
	if err != nil {
		return d.absentOr("children", err)
	}
	if !d.f.cfg.PutOrder {
		slices.SortFunc(children, func(a, b *chainstore.Header) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	}
	for _, h := range children {
		d.line(" child %s %d %d", h.ID.Prefix(), h.FirstPut, len(h.Messages))
	}
	if !d.f.skips(Descendants) {
		var below []chainstore.ID
		err := s.Descendants(ctx, d.f.ns, id, func(h *chainstore.Header) error {
			below = append(below, h.ID)
			return nil
		})
		if err != nil {
			return err
		}
		d.line(" below %v", sortedIDs(below))
	}
	for _, other := range d.ids {
		c, err := s.Chain(ctx, d.f.ns, idRef(id), &other)
		if err == nil {
			d.line(" after %s %d", other.Prefix(), c.After())
		} else if err := d.absentOr("after", err); err != nil {
			return err
		}
	}
	_, of, more, err := s.ChainNamed(ctx, d.f.ns, idRef(id), 1000)
	if err != nil {
		return d.absentOr("aliases", err)
	}
	d.line(" aliases %q %v", of, more)
	return nil
}

// index writes down what indexes answer.
func (d *dumper) index(ctx context.Context, s chainstore.Store, id chainstore.ID) error {
	var errs []error
	if !d.f.skips(Spawned) {
		errs = append(errs, d.spawned(ctx, s, id))
	}
	if !d.f.skips(Find) {
		ids, err := s.Find(ctx, d.f.ns, id.Prefix()[:2], 1000)
		d.line(" found %v", ids)
		errs = append(errs, err)
	}
	c, err := s.Chain(ctx, d.f.ns, idRef(id), nil)
	if err != nil {
		return errors.Join(append(errs, d.absentOr("index", err))...)
	}
	if !d.f.skips(Tables) {
		t, err := c.Tables(ctx)
		d.line(" tables %v %d %v", t.Tools, t.OtherCalls, t.Variables)
		errs = append(errs, err)
	}
	if !d.f.skips(Calls) {
		for _, call := range d.calls {
			errs = append(errs, d.call(ctx, c, runloop.Some(call)))
		}
		errs = append(errs, d.call(ctx, c, runloop.Optional{}), d.withCalls(ctx, c))
	}
	return errors.Join(errs...)
}

func (d *dumper) spawned(ctx context.Context, s chainstore.Store, head chainstore.ID) error {
	c, err := s.Chain(ctx, d.f.ns, idRef(head), nil)
	if err != nil {
		return d.absentOr("spawned", err)
	}
	for _, limit := range []int{1, 2, 64} {
		found, more, err := c.Spawned(ctx, limit)
		if err != nil {
			return err
		}
		ids := childIDs(found)
		switch {
		case d.f.cfg.PutOrder:
		case more: // of one spawner it may be any
			ids = make([]chainstore.ID, len(ids))
		default:
			ids = sortedIDs(ids)
		}
		d.line(" spawned %v, more %t", ids, more)
		depth, above, err := c.SpawnDepth(ctx, limit)
		if err != nil {
			return err
		}
		d.line(" depth %d, more %t", depth, above)
	}
	return nil
}

func (d *dumper) call(ctx context.Context, c chainstore.Chain, call runloop.Optional) error {
	for _, through := range []uint32{c.Head().Seq, c.Head().Seq / 2} {
		places, err := c.Calls(ctx, call, through, 1000)
		if err != nil {
			return err
		}
		for _, p := range places {
			d.line(" calls %v through %d: %s %d %v", call, through, p.Header.ID.Prefix(), p.Header.Seq, p.Messages)
		}
	}
	return nil
}

func (d *dumper) withCalls(ctx context.Context, c chainstore.Chain) error {
	for _, through := range []uint32{c.Head().Seq, c.Head().Seq / 2} {
		nodes, err := c.WithCalls(ctx, through, 1000)
		if err != nil {
			return err
		}
		for _, n := range nodes {
			d.line(" with calls through %d: %s %d", through, n.Header.ID.Prefix(), n.Header.Seq)
		}
	}
	return nil
}

func (d *dumper) alias(ctx context.Context, s chainstore.Store, name string) error {
	a, err := s.Alias(ctx, d.f.ns, name)
	if err != nil {
		if err := d.absentOr("alias "+name, err); err != nil {
			return err
		}
		var deleted *chainstore.DeletedError
		if errors.As(err, &deleted) {
			d.line(" deleted %+v", *deleted)
		}
	} else {
		d.line("alias %s", show(a))
	}
	states, err := s.AliasHistory(ctx, d.f.ns, name)
	if err != nil {
		return d.absentOr("history", err)
	}
	for _, st := range states {
		d.line(" %+v", st)
	}
	return nil
}

func show(a *chainstore.Alias) string {
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(a.Labels)) {
		labels = append(labels, k+"="+a.Labels[k])
	}
	return fmt.Sprintf("%q %s %d %d %q %+v %+v", a.Name, a.Node.Prefix(), a.Revision, a.MovedAt, labels, a.Full, a.Effective)
}

func (d *dumper) lists(ctx context.Context, s chainstore.Store) error {
	for _, q := range []chainstore.AliasQuery{
		{Limit: 3}, {Prefix: "a", Limit: 2}, {ByFolder: true, Limit: 2}, {ByFolder: true, Folder: "a", Limit: 3},
		{Reverse: true, Limit: 2}, {Reverse: true, ByFolder: true, Limit: 3}, {Reverse: true, ByFolder: true, Folder: "a", Limit: 1},
		{Limit: 3, Loops: true}, {Limit: 2, Loops: true, OpenOnly: true}, {ByFolder: true, Folder: "a", Limit: 2, Loops: true, OpenOnly: true},
	} {
		d.line("list %+v", q)
		for range 1000 {
			page, next, err := s.Aliases(ctx, d.f.ns, q)
			if err != nil {
				return err
			}
			for i := range page {
				d.line(" %q at %d%s", page[i].Name, page[i].MovedAt, standing(page[i].Loop))
			}
			if next == nil {
				break
			}
			q.After = next
		}
	}
	return nil
}

// firstDifference is the first line in which two dumps differ; empty where they do not.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(a), len(b)) {
		x, y := "(nothing)", "(nothing)"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i, x, y)
		}
	}
	return ""
}
