package badgerstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// Each number from firstNamespace through the last that was given has exactly one name, for a name and its number are written in
// one transaction with the last number given. Where a block of a table cannot be read, the database finds none of its rows and
// tells no error; so what does not add up is told before a number is given a second time.

// numbering is what the store's own rows say of namespaces.
type numbering struct {
	// last is the last number that was given; 0: none. noLast is why it cannot be read, if it cannot.
	last   uint32
	noLast error
	// numbers are those of the names, in order.
	numbers []uint32
	// unread counts the names whose number cannot be read.
	unread int
}

// numberRange is the numbers from one through another.
type numberRange struct{ from, through uint32 }

func (r numberRange) String() string {
	if r.from == r.through {
		return fmt.Sprintf("number %d", r.from)
	}
	return fmt.Sprintf("numbers %d to %d", r.from, r.through)
}

// names runs f on the names that come behind one, in order, and their numbers, until f fails; errStop is no error. Of a name whose
// number cannot be read it is 0.
func (v *view) names(ctx context.Context, behind string, f func(name string, number uint32) error) error {
	from := layout.NameKey(behind)
	if behind != "" {
		from = append(from, 0)
	}
	return v.scan(ctx, layout.TableKey(layout.OwnNamespace, layout.TableNames), from, func(key, value []byte) error {
		number, err := layout.ParseNamespace(value, layout.TableNames)
		if err != nil {
			number = 0
		}
		return f(string(key[layout.KeyPrefix:]), number)
	})
}

// lastNumber is the last number that was given to a namespace; 0: none.
func (v *view) lastNumber() (uint32, error) {
	value, found, err := v.get(layout.TableKey(layout.OwnNamespace, layout.TableNumbers))
	if err != nil || !found {
		return 0, err
	}
	return layout.ParseNamespace(value, layout.TableNumbers)
}

// nextUsed is the first number, from one on, that a key begins with; found is false where there is none.
func (v *view) nextUsed(from uint32) (number uint32, found bool) {
	c := v.cursor(nil)
	defer c.close()
	if c.seek(binary.BigEndian.AppendUint32(nil, from)); !c.valid() {
		return 0, false
	}
	var prefix [4]byte
	copy(prefix[:], c.key()) // a key that is shorter is of no namespace, and follows those that sort before it
	return binary.BigEndian.Uint32(prefix[:]), true
}

// numbering reads the names and the last number given, and shows f each name.
func (v *view) numbering(ctx context.Context, f func(name string, number uint32)) (*numbering, error) {
	n := &numbering{}
	if n.last, n.noLast = v.lastNumber(); n.noLast != nil && !errors.Is(n.noLast, chainstore.ErrCorrupt) {
		return nil, n.noLast
	}
	err := v.names(ctx, "", func(name string, number uint32) error {
		if number == 0 {
			n.unread++
			return nil
		}
		n.numbers = append(n.numbers, number)
		f(name, number)
		return nil
	})
	slices.Sort(n.numbers)
	return n, err
}

// problems says what is wrong with the numbers of the names.
func (n *numbering) problems() (what []string) {
	if n.noLast != nil {
		what = append(what, "the last number given cannot be read")
	}
	if n.unread > 0 {
		what = append(what, fmt.Sprintf("the numbers of %d names cannot be read", n.unread))
	}
	above := 0
	for i, number := range n.numbers {
		if i > 0 && number == n.numbers[i-1] {
			what = append(what, fmt.Sprintf("number %d has two names", number))
		}
		if number > n.last {
			above++
		}
	}
	if above > 0 {
		what = append(what, fmt.Sprintf("the last number given is %d, and %d names have a higher one, up to %d", n.last, above, n.numbers[len(n.numbers)-1]))
	}
	return what
}

// nameless are the numbers that were given and have no name, in order.
func (n *numbering) nameless() (ranges []numberRange) {
	next := uint32(layout.FirstNamespace)
	for _, number := range n.numbers {
		if number > n.last {
			break
		}
		if number > next {
			ranges = append(ranges, numberRange{next, number - 1})
		}
		next = max(next, number+1)
	}
	if next <= n.last {
		ranges = append(ranges, numberRange{next, n.last})
	}
	return ranges
}

// checkNames compares the names of namespaces with the last number given, and remembers names while there is room. ErrCorrupt.
func (s *Store) checkNames() error {
	v, err := s.open(layout.OwnNamespace)
	if err != nil {
		return err
	}
	defer v.close()
	n, err := v.numbering(context.Background(), func(name string, number uint32) {
		if number <= maxNames { // the oldest, and as many as are remembered
			s.names.put(name, number, v.ts)
		}
	})
	if err != nil {
		return err
	}
	what := n.problems()
	for _, r := range n.nameless() {
		what = append(what, r.String()+" given to a namespace, without a name")
	}
	if used, found := v.nextUsed(n.last + 1); found {
		what = append(what, fmt.Sprintf("the last number given is %d, and number %d has rows", n.last, used))
	}
	if len(what) > 0 {
		return misnumbered(s.dir, what)
	}
	s.names.given = n.last
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
