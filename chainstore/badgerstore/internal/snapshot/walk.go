package snapshot

import (
	"bytes"
	"context"
	"errors"
	"math"
)

// VersionsAtOnce is how many versions of a key walk steps over before it seeks the next key.
const VersionsAtOnce = 4

// Walk is scan of a table whose rows are written again or deleted. What was there before stays in the database until it is merged
// away; walk looks at it too, as rows, so that it ends with its context and, after reach rows or errStop, tells which key it looked
// at last, and that there is more. It begins behind a key; nil, or one before all: at the first.
func (v *Snapshot) Walk(ctx context.Context, prefix, behind []byte, reach int, f func(key, value []byte) error) (last []byte, more bool, err error) {
	c := &Cursor{v, v.snap.Iterator(prefix, true)}
	defer c.Close()
	from := prefix
	if bytes.Compare(behind, prefix) >= 0 {
		from = append(bytes.Clone(behind), 0)
	}
	versions := 0
	for c.Seek(from); c.Valid(); reach-- {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if versions > 0 && bytes.Equal(c.Key(), last) {
			if versions++; versions <= VersionsAtOnce {
				c.Next()
			} else {
				c.Seek(append(last, 0))
			}
			continue
		}
		if reach <= 0 {
			return last, true, nil
		}
		if !c.it.Deleted() {
			err := c.Value(func(value []byte) error { return f(c.Key(), value) })
			if errors.Is(err, ErrStop) {
				return last, true, nil
			}
			if err != nil {
				return nil, false, err
			}
		}
		last, versions = append(last[:0], c.Key()...), 1
		c.Next()
	}
	return nil, false, nil
}

// WalkBack is Walk from the last key to the first, behind and last being those that the next lies before: of a table whose keys end in
// a name. Key and value are f's until it returns.
func (v *Snapshot) WalkBack(ctx context.Context, prefix, behind []byte, reach int, f func(key, value []byte) error) (last []byte, more bool, err error) {
	c := &Cursor{v, v.snap.Backwards(prefix)}
	defer c.Close()
	from := append(bytes.Clone(prefix), endOfTimes...)
	if behind != nil && bytes.Compare(behind, from) < 0 {
		from = before(behind)
	}
	var key, value []byte
	for c.Seek(from); c.Valid(); {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if reach <= 0 {
			return last, true, nil
		}
		key = append(key[:0], c.Key()...)
		found, versions, err := c.newest(key, &value)
		if err == nil && found {
			err = f(key, value)
		}
		if errors.Is(err, ErrStop) {
			return last, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		last, reach = append(last[:0], key...), reach-versions
	}
	return nil, false, nil
}

// newest reads the last version of the key that a cursor that walks back is at, oldest version first, and goes to the key before it.
func (c *Cursor) newest(key []byte, value *[]byte) (found bool, versions int, err error) {
	keep := func(b []byte) error {
		*value = append((*value)[:0], b...)
		return nil
	}
	for versions < VersionsAtOnce {
		if found = !c.it.Deleted(); found {
			if err := c.Value(keep); err != nil {
				return false, 0, err
			}
		}
		versions++
		if c.Next(); !c.Valid() || !bytes.Equal(c.Key(), key) {
			return found, versions, nil
		}
	}
	c.Seek(before(key))
	found, err = c.V.Borrow(key, keep)
	return found, versions + 1, err
}

// endOfTimes, behind a prefix, is behind a time that follows it, and behind names.
const endOfTimes = "\xff\xff\xff\xff\xff\xff\xff\xff\xff"

// before is a key before one that ends in a name, and behind all that are there and before that one: 255 is in no UTF-8.
func before(key []byte) []byte {
	end := len(key) - 1
	return append(bytes.Clone(key[:end]), key[end]-1, math.MaxUint8)
}
