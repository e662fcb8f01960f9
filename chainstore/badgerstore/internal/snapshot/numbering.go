package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// Each number from firstNamespace through the last that was given has exactly one name, or was taken back, for a name and its number are written in
// one transaction with the last number given, and a name is deleted in one with the row that says so. Where a block of a table cannot be read, the database finds none of its rows and
// tells no error; so what does not add up is told before a number is given a second time.

// Numbering is what the store's own rows say of namespaces.
type Numbering struct {
	// Last is the last number that was given; 0: none. noLast is why it cannot be read, if it cannot.
	Last   uint32
	noLast error
	// Numbers are those of the names, in order.
	Numbers []uint32
	// gone are those that were taken back, in order.
	gone []uint32
	// unread counts the names whose number cannot be read.
	unread int
}

// NumberRange is the numbers from one through another.
type NumberRange struct{ From, Through uint32 }

func (r NumberRange) String() string {
	if r.From == r.Through {
		return fmt.Sprintf("number %d", r.From)
	}
	return fmt.Sprintf("numbers %d to %d", r.From, r.Through)
}

// Names runs f on the names that begin with a prefix and come behind one, in order, and their numbers, until f fails; ErrStop is no error.
// Of a name whose number cannot be read it is 0.
func (v *Snapshot) Names(ctx context.Context, prefix, behind string, f func(name string, number uint32) error) error {
	from := layout.NameKey(max(prefix, behind))
	if behind != "" && behind >= prefix {
		from = append(from, 0)
	}
	return v.Scan(ctx, layout.NameKey(prefix), from, func(key, value []byte) error {
		number, err := layout.ParseNamespace(value, layout.TableNames)
		if err != nil {
			number = 0
		}
		return f(string(key[layout.KeyPrefix:]), number)
	})
}

// LastNumber is the last number that was given to a namespace; 0: none.
func (v *Snapshot) LastNumber() (uint32, error) {
	value, found, err := v.Get(layout.TableKey(layout.OwnNamespace, layout.TableNumbers))
	if err != nil || !found {
		return 0, err
	}
	return layout.ParseNamespace(value, layout.TableNumbers)
}

// NextUsed is the first number, from one on, that a key begins with; found is false where there is none.
func (v *Snapshot) NextUsed(from uint32) (number uint32, found bool) {
	c := v.Iterate(nil)
	defer c.Close()
	if c.Seek(binary.BigEndian.AppendUint32(nil, from)); !c.Valid() {
		return 0, false
	}
	var prefix [4]byte
	copy(prefix[:], c.Key()) // a key that is shorter is of no namespace, and follows those that sort before it
	return binary.BigEndian.Uint32(prefix[:]), true
}

// Numbering reads the names and the last number given, and shows f each name.
func (v *Snapshot) Numbering(ctx context.Context, f func(name string, number uint32)) (*Numbering, error) {
	n := &Numbering{}
	if n.Last, n.noLast = v.LastNumber(); n.noLast != nil && !errors.Is(n.noLast, chainstore.ErrCorrupt) {
		return nil, n.noLast
	}
	err := v.Names(ctx, "", "", func(name string, number uint32) error {
		if number == 0 {
			n.unread++
			return nil
		}
		n.Numbers = append(n.Numbers, number)
		f(name, number)
		return nil
	})
	slices.Sort(n.Numbers)
	if err != nil {
		return n, err
	}
	err = v.Scan(ctx, layout.TableKey(layout.OwnNamespace, layout.TableGone), nil, func(key, _ []byte) error {
		number, err := layout.ParseGoneKey(key)
		if err == nil {
			n.gone = append(n.gone, number)
		}
		return nil // Verify tells of the others
	})
	return n, err
}

// IsGone tells whether a number was taken back.
func (n *Numbering) IsGone(number uint32) bool {
	_, gone := slices.BinarySearch(n.gone, number)
	return gone
}

// Problems says what is wrong with the numbers of the names.
func (n *Numbering) Problems() (what []string) {
	if n.noLast != nil {
		what = append(what, "the last number given cannot be read")
	}
	if n.unread > 0 {
		what = append(what, fmt.Sprintf("the numbers of %d names cannot be read", n.unread))
	}
	above := 0
	for i, number := range n.Numbers {
		if i > 0 && number == n.Numbers[i-1] {
			what = append(what, fmt.Sprintf("number %d has two names", number))
		}
		if number > n.Last {
			above++
		}
	}
	for _, number := range n.gone {
		if _, named := slices.BinarySearch(n.Numbers, number); named {
			what = append(what, fmt.Sprintf("number %d has a name, and its namespace was deleted", number))
		}
		if number > n.Last {
			what = append(what, fmt.Sprintf("the last number given is %d, and the namespace of number %d was deleted", n.Last, number))
		}
	}
	if above > 0 {
		what = append(what, fmt.Sprintf("the last number given is %d, and %d names have a higher one, up to %d", n.Last, above, n.Numbers[len(n.Numbers)-1]))
	}
	return what
}

// Nameless are the numbers that were given, and not taken back, and have no name, in order.
func (n *Numbering) Nameless() (ranges []NumberRange) {
	next := uint32(layout.FirstNamespace)
	for _, number := range slices.Sorted(slices.Values(slices.Concat(n.Numbers, n.gone))) {
		if number > n.Last {
			break
		}
		if number > next {
			ranges = append(ranges, NumberRange{next, number - 1})
		}
		next = max(next, number+1)
	}
	if next <= n.Last {
		ranges = append(ranges, NumberRange{next, n.Last})
	}
	return ranges
}

// CheckNames compares the names of namespaces with the last number given, and remembers names while there is room. ErrCorrupt.
func (s *Source) CheckNames(dir string) error {
	v, err := s.Open(layout.OwnNamespace)
	if err != nil {
		return err
	}
	defer v.Close()
	n, err := v.Numbering(context.Background(), func(name string, number uint32) {
		if number <= MaxNames { // the oldest, and as many as are remembered
			s.Names.Put(name, number, v.Seen)
		}
	})
	if err != nil {
		return err
	}
	what := n.Problems()
	for _, r := range n.Nameless() {
		what = append(what, r.String()+" given to a namespace, without a name")
	}
	if used, found := v.NextUsed(n.Last + 1); found {
		what = append(what, fmt.Sprintf("the last number given is %d, and number %d has rows", n.Last, used))
	}
	if len(what) > 0 {
		return misnumbered(dir, what)
	}
	s.Names.Given = n.Last
	return nil
}

// misnumbered is Open's error: what is wrong, and what to do.
func misnumbered(dir string, what []string) error {
	const shown = 5
	if more := len(what) - shown; more > 0 {
		what = append(what[:shown], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w: %s: the names of namespaces do not agree with their numbers (%s): rows are damaged or hidden by a damaged table. "+
		"Keep a copy of the directory as it is, and go back to a backup",
		chainstore.ErrCorrupt, dir, strings.Join(what, "; "))
}

// SegmentAbove tells whether a key begins with a higher segment than one.
func (v *Snapshot) SegmentAbove(ns uint32, segment uint64) bool {
	c := v.Iterate(layout.TableKey(ns, layout.TableNodes))
	defer c.Close()
	c.Seek(layout.SegmentKey(ns, segment+1))
	return c.Valid()
}

// deletedAtOnce is how many versions of rows that were deleted EachLast passes over.
const deletedAtOnce = 1 << 16

// EachLast runs f on the place of the last row of each segment that has rows of nodes, from the last such segment, through one with a number, to the
// first, until f fails; ErrStop is no error. Of very many rows that were deleted it may be one.
func (v *Snapshot) EachLast(ctx context.Context, through uint64, f func(chainstore.Place) error) error {
	c := &Cursor{v, v.snap.Backwards(layout.TableKey(v.Namespace, layout.TableNodes))}
	defer c.Close()
	for {
		at, found, err := c.lastBefore(ctx, layout.SegmentKey(v.Namespace, through+1))
		if err == nil && found {
			err = f(at)
		}
		switch {
		case errors.Is(err, ErrStop):
			return nil
		case err != nil || !found || at.Segment == 0:
			return err
		}
		through = at.Segment - 1
	}
}

// lastBefore finds the last row of a node before a key, for a cursor that walks back.
func (c *Cursor) lastBefore(ctx context.Context, key []byte) (at chainstore.Place, found bool, err error) {
	var last []byte
	c.Seek(key)
	for passed := 0; c.Valid() && passed <= deletedAtOnce; passed++ {
		if found && !bytes.Equal(c.Key(), last) { // its last version was the newest
			break
		}
		last = append(last[:0], c.Key()...)
		found = !c.it.Deleted() || passed == deletedAtOnce
		if err := ctx.Err(); err != nil {
			return at, false, err
		}
		c.Next()
	}
	if found {
		at, _, err = layout.ParseNodeKey(last)
	}
	return at, found, err
}
