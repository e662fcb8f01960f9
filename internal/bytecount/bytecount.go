// Package bytecount reads numbers of bytes as people write them.
package bytecount

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Count is a number of bytes, 0 or more. It is the type of flags.
type Count int64

// UnmarshalText reads a number, or one with KiB, MiB, GiB or TiB behind it. Another text, or more than an int64 holds, is an error, which says what is
// read.
func (c *Count) UnmarshalText(text []byte) error {
	digits, shift := string(text), 0
	for i, unit := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if before, found := strings.CutSuffix(digits, unit); found {
			digits, shift = before, 10*(i+1)
			break
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return errors.New("must be a number of bytes, such as 1048576, 64KiB, 500MiB, 1GiB or 2TiB")
	}
	*c = Count(n << shift)
	return nil
}
