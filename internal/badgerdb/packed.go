package badgerdb

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/klauspost/compress/zstd"

	"github.com/transcriptd/transcriptd/chainstore"
)

// Which values are packed.
const (
	// minPacked is the length from which on values are packed, and packsTo how many times smaller that must make them.
	minPacked = 1 << 10
	packsTo   = 8
	// maxPacked is above the length of every value: see MaxValue.
	maxPacked = 1 << 20
)

// How it is found out cheaply that a value does not pack: an eighth of it, of a long one a sixteenth, does not repeat what is before it. A
// piece of a long value, anywhere in it, must make a quarter of itself else: zstd finds an order also where little repeats, as in
// numbered lines.
const (
	minSampled    = 32 << 10
	sampleOf      = 32
	samplePacksTo = 4
	repeatCost    = 3
)

// valuePacker packs values, in memory that serves the next as well.
type valuePacker struct {
	zstd *zstd.Encoder
	out  []byte
	// seen has where in a value four bytes were seen last, by their hash. What it has of another value may be wrong.
	seen [1 << 12]uint32
}

// unpacker unpacks values. It is for several goroutines.
type unpacker struct{ zstd *zstd.Decoder }

func newPacking() (*valuePacker, *unpacker, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(maxPacked), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, nil, err
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxPacked), zstd.WithDecodeAllCapLimit(true))
	return &valuePacker{zstd: e}, &unpacker{d}, err
}

// pack is what the database is to have for a value, and the mark.
func (p *valuePacker) pack(value []byte) (held []byte, mark byte) {
	if len(value) < minPacked || len(value) >= maxPacked || !p.seemsToPack(value) {
		return value, markPlain
	}
	p.out = binary.AppendUvarint(p.out[:0], uint64(len(value)))
	if p.out = p.zstd.EncodeAll(value, p.out); len(p.out) > len(value)/packsTo {
		return value, markPlain
	}
	return slices.Clone(p.out), markPacked
}

func (p *valuePacker) seemsToPack(value []byte) bool {
	if len(value) < minSampled {
		return p.repeats(value, len(value)/packsTo)
	}
	if p.repeats(value, len(value)/packsTo/2) {
		return true
	}
	length := len(value) / sampleOf
	from := rand.IntN(len(value) - length + 1)
	p.out = p.zstd.EncodeAll(value[from:from+length], p.out[:0])
	return len(p.out) <= length/samplePacksTo
}

// repeats tells whether a value is, but for so many bytes at most, made of stretches that are in it before. A stretch counts as
// repeatCost bytes. It is as far as LZ77 goes with one place for each hash, and gives up where there are too many other bytes.
func (p *valuePacker) repeats(value []byte, others int) bool {
	for i := 0; i+4 <= len(value); {
		next := binary.LittleEndian.Uint32(value[i:])
		hash := next * 2654435761 >> 20
		before := int(p.seen[hash])
		p.seen[hash] = uint32(i)
		if before >= i || binary.LittleEndian.Uint32(value[before:]) != next {
			i++
			others--
		} else {
			i += 4 + sameBytes(value[before+4:], value[i+4:])
			others -= repeatCost
		}
		if others < 0 {
			return false
		}
	}
	return true
}

// sameBytes is how many bytes at the beginning of a and b are the same.
func sameBytes(a, b []byte) (n int) {
	for len(a) >= n+8 && len(b) >= n+8 {
		if other := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); other != 0 {
			return n + bits.TrailingZeros64(other)/8
		}
		n += 8
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// unpack is the value that the database has packed, in the memory of into where it fits. ErrCorrupt, for which no more memory is
// taken than for a value.
func (u *unpacker) unpack(into, held []byte) ([]byte, error) {
	length, n := binary.Uvarint(held)
	if n <= 0 || length < minPacked || length >= maxPacked {
		return into, errPacked
	}
	into = slices.Grow(into[:0], int(length))
	value, err := u.zstd.DecodeAll(held[n:], into[:0:length])
	if err != nil || len(value) != int(length) {
		return into, errPacked
	}
	return value, nil
}

var errPacked = fmt.Errorf("%w: a packed value does not unpack", chainstore.ErrCorrupt)

// value runs f on the value of an item, which is f's until it returns.
func (d *DB) value(item *badger.Item, f func(value []byte) error) error {
	switch mark := item.UserMeta(); mark {
	case markPlain:
		return item.Value(f)
	case markPacked:
		return item.Value(func(held []byte) (err error) {
			room := d.scratches.Get().(*[]byte)
			defer d.scratches.Put(room)
			if *room, err = d.unpacker.unpack(*room, held); err != nil {
				return err
			}
			d.counts.unpacked.Add(uint64(len(*room)))
			return f(*room)
		})
	default:
		return fmt.Errorf("%w: it has the mark %d", errPacked, mark)
	}
}
