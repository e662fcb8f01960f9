package badgerstore

import (
	"context"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// namesAtOnce is how many names VerifyStore reads at a time.
const namesAtOnce = 1000

// VerifyStore checks the files, then the store's own rows, then each namespace as it is when its turn comes; see
// chainstore.Verifier.
func (s *Store) VerifyStore(ctx context.Context, judge chainstore.Judge, report func(chainstore.VerifyReport) error) error {
	r := &verification{s: s, ctx: ctx, judge: judge, report: report, reported: s.now()}
	for _, part := range []func() error{r.files, r.own, r.namespaces} {
		if err := part(); err != nil {
			return err
		}
	}
	r.out.Namespace = ""
	return r.flush()
}

// files checks the files of tables, block by block: what the database reads of a damaged one may be nothing, without an error.
func (r *verification) files() error {
	var files []string
	err := r.inView(layout.OwnNamespace, func(*view) error {
		files = r.s.db.TableFiles()
		return nil
	})
	for _, file := range files {
		if err == nil {
			err = r.inView(layout.OwnNamespace, func(*view) error { return r.file(file) })
		}
	}
	return err
}

func (r *verification) file(file string) error {
	damage, err := r.s.db.CheckTable(file, r.tick)
	if damage != nil {
		r.problem(nil, "the file %s is damaged: %v", file, damage)
	}
	r.out.Files++
	return err
}

// own checks the store's own rows, and that all others are of a namespace with a name.
func (r *verification) own() error {
	return r.inView(layout.OwnNamespace, func(v *view) error {
		c := &checker{verification: r, view: v, found: map[byte]int64{}}
		if err := c.format(); err != nil {
			return err
		}
		if err := c.tables(); err != nil {
			return err
		}
		n, err := v.numbering(r.ctx, func(string, uint32) { r.out.Entries++ })
		if err != nil {
			return err
		}
		for _, what := range n.problems() {
			r.problem(nil, "the names of namespaces do not agree with their numbers: %s", what)
		}
		return c.hidden(n)
	})
}

// inView runs f on a view of the newest state, so that the database is not closed meanwhile.
func (r *verification) inView(ns uint32, f func(*view) error) error {
	v, err := r.s.open(ns)
	if err != nil {
		return err
	}
	defer v.close()
	return f(v)
}

// format checks the format row, which is the only one of its table, as is the last number given.
func (c *checker) format() error {
	value, found, err := c.get(layout.TableKey(layout.OwnNamespace, layout.TableFormat))
	if err != nil {
		return err
	}
	if version, err := layout.ParseNumber(value, layout.TableFormat); !found || err != nil || version != layout.FormatVersion {
		c.problem(nil, "the format version is missing, or is another")
	}
	c.found[layout.TableFormat], c.found[layout.TableNumbers] = 1, 1
	c.out.Entries += 2
	if err := c.noMore(layout.TableFormat); err != nil {
		return err
	}
	return c.noMore(layout.TableNumbers)
}

// hidden looks for rows of numbers that have no name: a problem for each such number, and one for each stretch of those that were
// given and have neither.
func (c *checker) hidden(n *numbering) error {
	for _, r := range n.nameless() {
		if err := c.nameless(n, r, true); err != nil {
			return err
		}
	}
	return c.nameless(n, numberRange{n.last + 1, math.MaxUint32}, false)
}

// nameless looks for rows of the numbers of a range, which were given or not, that have no name.
func (c *checker) nameless(n *numbering, r numberRange, given bool) error {
	for next := uint64(r.from); next <= uint64(r.through); {
		if err := c.tick(); err != nil {
			return err
		}
		used, found := c.nextUsed(uint32(next))
		found = found && used <= r.through
		empty := numberRange{uint32(next), r.through}
		if found {
			empty.through = used - 1
		}
		if given && empty.from <= empty.through {
			c.problem(nil, "%v given to a namespace, with neither a name nor rows", empty)
		}
		if !found {
			return nil
		}
		if _, named := slices.BinarySearch(n.numbers, used); !named {
			c.problem(nil, "namespace number %d has rows and no name, so that nobody can read them; they are not checked", used)
		}
		next = uint64(used) + 1
	}
	return nil
}

// namespaces checks each namespace that has a name and a number.
func (r *verification) namespaces() error {
	for last := ""; ; {
		named, err := r.namesBehind(last)
		if err != nil || len(named) == 0 {
			return err
		}
		for _, n := range named {
			last, r.out.Namespace = n.name, n.name
			if n.number == 0 {
				continue
			}
			if err := r.inView(n.number, r.namespace); err != nil {
				return err
			}
			r.out.Namespaces++
			if err := r.tick(); err != nil {
				return err
			}
		}
	}
}

// named is a namespace.
type named struct {
	name   string
	number uint32
}

// namesBehind reads the next names, which are none at the end.
func (r *verification) namesBehind(last string) (all []named, err error) {
	err = r.inView(layout.OwnNamespace, func(v *view) error {
		return v.names(r.ctx, last, func(name string, number uint32) error {
			if all = append(all, named{name, number}); len(all) == namesAtOnce {
				return errStop
			}
			return nil
		})
	})
	return all, err
}
