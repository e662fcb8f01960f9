package verify

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/snapshot"
)

// NamesAtOnce is how many names Store reads at a time.
const NamesAtOnce = 1000

// store checks the files, then the store's own rows, then each namespace as it is when its turn comes.
func (r *verification) store() error {
	parts := []func() error{r.files, r.own, r.namespaces} // a cursor has the index
	for r.at.step < uint64(len(parts)) {
		if err := parts[r.at.step](); err != nil {
			return err
		}
		r.at.step++
	}
	r.at.namespace = ""
	return nil
}

// files checks the files of tables, block by block: what the database reads of a damaged one may be nothing, without an error. A check
// that goes on passes over those through the position's.
func (r *verification) files() error {
	return r.inView(func(*snapshot.Snapshot) error {
		files := r.Source.DB.TableFiles()
		slices.SortFunc(files, byNumber)
		for _, file := range files {
			if byNumber(file, r.at.file) <= 0 {
				continue
			}
			if err := r.file(file); err != nil {
				return err
			}
			if r.at.file = file; r.isDue() {
				if err := r.mark(); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// byNumber orders names of files by their numbers, which have no more zeros before them the longer they are.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

func (r *verification) file(file string) error {
	damage, err := r.Source.DB.CheckTable(file, func(bytes int) error {
		if err := r.tick(); err != nil {
			return err
		}
		r.pace.Read(int64(bytes))
		return r.rest()
	})
	if damage != nil {
		r.hides = true
		r.problem(chainstore.ProblemFile, nil, "the file %s is damaged: %v", file, damage)
	}
	r.at.files++
	return err
}

// own checks the store's own rows, and that all others are of a namespace with a name.
func (r *verification) own() error {
	return r.inView(func(v *snapshot.Snapshot) error {
		c := &checker{verification: r, Snapshot: v, progress: &progress{}, inOne: true}
		if err := c.format(); err != nil {
			return err
		}
		if err := c.tables(); err != nil {
			return err
		}
		n, err := v.Numbering(r.ctx, func(string, uint32) { r.at.entries++ })
		if err != nil {
			return err
		}
		for _, what := range n.Problems() {
			r.problem(chainstore.ProblemStore, nil, "the names of namespaces do not agree with their numbers: %s", what)
		}
		return c.hidden(n)
	})
}

// format checks the rows of the format and of the header, each the only one of its table, as is the last number given.
func (c *checker) format() error {
	value, found, err := c.Get(layout.TableKey(layout.OwnNamespace, layout.TableFormat))
	if err != nil {
		return err
	}
	version, err := layout.ParseNumber(value, layout.TableFormat)
	switch {
	case !found || err != nil:
		c.problem(chainstore.ProblemStore, nil, "the format version is missing, or cannot be read")
	case version != layout.FormatVersion:
		c.problem(chainstore.ProblemStore, nil, "the store has format %d, which this program does not know", version)
	}
	for _, check := range []func() error{c.header, c.tokenKeys, c.eras, c.signing, c.purges, c.goneRows} {
		if err := check(); err != nil {
			return err
		}
	}
	for _, table := range []byte{layout.TableFormat, layout.TableHeader, layout.TableNumbers} {
		c.found[table-'A'], c.rows = 1, 0
		c.at.entries++
		if err := c.noMore(chainstore.ProblemStore, table); err != nil {
			return err
		}
	}
	return nil
}

// header checks the store's header: its id is that which the store was opened with, and it has no feature that is required and not known.
func (c *checker) header() error {
	value, found, err := c.Get(layout.TableKey(layout.OwnNamespace, layout.TableHeader))
	if err != nil {
		return err
	}
	h, err := layout.ParseStoreHeader(value)
	switch {
	case !found || err != nil || h.ID != c.Source.Header.Load().ID:
		c.problem(chainstore.ProblemStore, nil, "the store's header is missing, or is another's")
	case len(h.Unknown()) > 0:
		c.problem(chainstore.ProblemStore, nil, "the store has features that this program does not know: %q", h.Unknown())
	}
	return nil
}

// tokenKeys checks the row of the keys of page tokens, if there is one. What is wrong is told without them.
func (c *checker) tokenKeys() error {
	keys, err := c.TokenKeys()
	if keys.Current.Version > 0 || err != nil {
		c.found[layout.TableKeys-'A'] = 1
		c.at.entries++
	}
	switch {
	case errors.Is(err, chainstore.ErrCorrupt):
		c.problem(chainstore.ProblemStore, nil, "the keys of page tokens cannot be read")
	case err != nil:
		return err
	}
	c.rows = 0
	return c.noMore(chainstore.ProblemStore, layout.TableKeys)
}

// eras checks the row of the eras, which a store that notes them has.
func (c *checker) eras() error {
	header, _, err := c.Get(layout.TableKey(layout.OwnNamespace, layout.TableHeader))
	if err != nil {
		return err
	}
	value, found, err := c.Get(layout.ErasKey())
	if err != nil {
		return err
	}
	h, err := layout.ParseStoreHeader(header)
	if err != nil {
		h = &layout.StoreHeader{} // which is told of it
	}
	if _, err := layout.ParseEras(value); err != nil || !found && h.Has(layout.FeatureEras) {
		c.problem(chainstore.ProblemStore, nil, "the store's eras are missing, or cannot be read: the next backup has to be a full one")
	}
	c.found[layout.TableEras-'A'], c.rows = one(found), 0
	c.at.entries += one(found)
	return c.noMore(chainstore.ProblemStore, layout.TableEras)
}

// signing checks the row of the key that receipts are signed with, which a store that has one has.
func (c *checker) signing() error {
	found, err := c.Borrow(layout.SigningKey(), func(value []byte) error {
		_, err := layout.ParseSigning(value)
		return err
	})
	if err != nil && !errors.Is(err, chainstore.ErrCorrupt) {
		return err
	}
	if err != nil || !found && c.Source.Header.Load().Has(layout.FeatureSigning) {
		c.problem(chainstore.ProblemStore, nil, "the key that receipts are signed with is missing, or cannot be read: receipts that it signed stay good, and no other can be signed")
	}
	c.found[layout.TableSigning-'A'], c.rows = one(found), 0
	c.at.entries += one(found)
	return c.noMore(chainstore.ProblemStore, layout.TableSigning)
}

// purges checks the rows of what is to leave the files, and of what has.
func (c *checker) purges() error {
	return c.each(chainstore.ProblemStore, layout.TablePurges, func(key, value []byte) error {
		c.at.entries++
		return layout.CheckPurge(key, value)
	})
}

// goneRows checks the rows of the numbers that were taken back.
func (c *checker) goneRows() error {
	if !c.Source.Header.Load().Has(layout.FeatureGone) {
		return nil
	}
	return c.each(chainstore.ProblemStore, layout.TableGone, func(key, value []byte) error {
		c.at.entries++
		if _, err := layout.ParseGoneKey(key); err != nil {
			return err
		}
		_, err := layout.ParseNumber(value, layout.TableGone)
		return err
	})
}

// hidden looks for rows of numbers that have no name: a problem for each such number, and one for each stretch of those that were
// given and have neither.
func (c *checker) hidden(n *snapshot.Numbering) error {
	for _, r := range n.Nameless() {
		if err := c.nameless(n, r, true); err != nil {
			return err
		}
	}
	return c.nameless(n, snapshot.NumberRange{From: n.Last + 1, Through: math.MaxUint32}, false)
}

// nameless looks for rows of the numbers of a range, which were given or not, that have no name.
func (c *checker) nameless(n *snapshot.Numbering, r snapshot.NumberRange, given bool) error {
	for next := uint64(r.From); next <= uint64(r.Through); {
		if err := c.tick(); err != nil {
			return err
		}
		used, found := c.NextUsed(uint32(next))
		found = found && used <= r.Through
		empty := snapshot.NumberRange{From: uint32(next), Through: r.Through}
		if found {
			empty.Through = used - 1
		}
		if given && empty.From <= empty.Through {
			c.problem(chainstore.ProblemStore, nil, "%v given to a namespace, with neither a name nor rows", empty)
		}
		if !found {
			return nil
		}
		if _, named := slices.BinarySearch(n.Numbers, used); !named && !n.IsGone(used) {
			c.problem(chainstore.ProblemStray, nil, "namespace number %d has rows and no name, so that nobody can read them; they are not checked", used)
		}
		next = uint64(used) + 1
	}
	return nil
}

// namespaces checks each namespace that has a name and a number, from the one on at which the position is.
func (r *verification) namespaces() error {
	if r.at.begun > 0 {
		if err := r.named(); err != nil {
			return err
		}
	}
	for {
		behind, err := r.namesBehind(r.at.namespace)
		if err != nil || len(behind) == 0 {
			return err
		}
		for _, n := range behind {
			if r.at.namespace = n.name; n.number == 0 {
				continue
			}
			r.at.progress = progress{}
			if err := r.named(); err != nil {
				return err
			}
		}
	}
}

// named checks a namespace of the store.
func (r *verification) named() error {
	if err := r.one(); err != nil {
		return err
	}
	r.at.namespaces++
	r.at.begun = 0
	if !r.isDue() {
		return nil
	}
	return r.inView(func(*snapshot.Snapshot) error { return r.mark() })
}

// named is a namespace.
type named struct {
	name   string
	number uint32
}

// namesBehind reads the next names, which are none at the end.
func (r *verification) namesBehind(last string) (all []named, err error) {
	err = r.inView(func(v *snapshot.Snapshot) error {
		return v.Names(r.ctx, "", last, func(name string, number uint32) error {
			if all = append(all, named{name, number}); len(all) == NamesAtOnce {
				return snapshot.ErrStop
			}
			return nil
		})
	})
	return all, err
}
