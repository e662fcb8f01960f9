package canary

import (
	"crypto/aes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2"
)

// What Badger and the database have beside each value.
const (
	metaDeleted = 1 << 0
	metaTxnEnd  = 1 << 7
	markPacked  = 1
)

// reader decodes tables and logs.
type reader struct {
	keys *badger.KeyRegistry
	zstd *zstd.Decoder
	// indexes is what Badger wants for tables that are encrypted.
	indexes *ristretto.Cache[uint64, *fb.TableIndex]
}

func newReader(keys *badger.KeyRegistry) (*reader, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	indexes, err := ristretto.NewCache(&ristretto.Config[uint64, *fb.TableIndex]{NumCounters: 1000, MaxCost: 64 << 20, BufferItems: 64})
	return &reader{keys, z, indexes}, err
}

func (r *reader) close() {
	r.zstd.Close()
	r.indexes.Close()
}

// file calls f with the entries of a table or a log. It reads it as a whole: Badger cuts a file that it removes, and a map of that would end the
// process. A table that cannot be decoded may be one that is being made or removed: it is read again, for a second.
func (r *reader) file(path string, f func(Entry) error) error {
	for tries := 0; ; tries++ {
		b, err := os.ReadFile(path)
		if err != nil {
			return ignoreGone(err)
		}
		if isLog(path) {
			return r.log(filepath.Base(path), b, f)
		}
		if len(b) > 0 { // Badger prints what it thinks of an empty one
			t, openErr := r.open(b)
			if err = openErr; err == nil {
				return r.walk(filepath.Base(path), t, f)
			}
		}
		const most, between = 50, 20 * time.Millisecond
		if tries == most {
			return err
		}
		<-time.After(between)
	}
}

// open opens a table with the data key that makes sense of it.
func (r *reader) open(b []byte) (*table.Table, error) {
	ids := []uint64{0}
	if r.keys != nil {
		ids = ids[:0]
		for id := uint64(1); ; id++ {
			if key, err := r.keys.DataKey(id); err != nil || key == nil {
				break
			}
			ids = append(ids, id)
		}
	}
	var last error
	for n := len(ids) - 1; n >= 0; n-- {
		t, err := r.openTable(b, ids[n])
		if err == nil {
			return t, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no data key opens it: %w", last)
}

// openTable opens a table with a data key. Badger panics on what is none, and on one that another key encrypted.
func (r *reader) openTable(b []byte, id uint64) (t *table.Table, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read: %v", p)
		}
	}()
	key, err := r.dataKey(id)
	if err != nil {
		return nil, err
	}
	r.indexes.Clear()
	o := table.Options{Compression: options.ZSTD, BlockSize: 32 << 10, DataKey: key, IndexCache: r.indexes, ChkMode: options.OnBlockRead}
	if t, err = table.OpenInMemoryTable(b, id, &o); err != nil {
		return nil, err
	}
	return t, t.VerifyChecksum()
}

func (r *reader) dataKey(id uint64) (*pb.DataKey, error) {
	if id == 0 || r.keys == nil {
		return nil, nil
	}
	return r.keys.DataKey(id)
}

func (r *reader) walk(name string, t *table.Table, f func(Entry) error) error {
	it := t.NewIterator(table.NOCACHE)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		v := it.Value()
		if err := r.entry(name, it.Key(), v.Meta, v.UserMeta, v.ExpiresAt, v.Value, f); err != nil {
			return err
		}
	}
	return nil
}

// log calls f with the entries of a log, as far as they are whole: meta:1 mark:1, three varints, which are the lengths of key and value, and when it
// expires, then key, value and a checksum (value.go and memtable.go of Badger 4).
func (r *reader) log(name string, b []byte, f func(Entry) error) error {
	const header, sum = 8 + 12, 4
	if len(b) < header {
		return nil
	}
	key, err := r.dataKey(binary.BigEndian.Uint64(b))
	if err != nil {
		return fmt.Errorf("its data key: %w", err)
	}
	iv := make([]byte, aes.BlockSize)
	copy(iv, b[8:header])
	for at := header; at+2 < len(b); {
		e := b[at:]
		head, lengths := 2, [3]uint64{}
		for n := range lengths {
			v, width := binary.Uvarint(e[head:])
			if width <= 0 {
				return nil
			}
			lengths[n], head = v, head+width
		}
		keyEnd := uint64(head) + lengths[0]
		end := keyEnd + lengths[1]
		if lengths[0] == 0 || lengths[0] > 1<<16 || lengths[1] > 1<<30 || end+sum > uint64(len(e)) ||
			crc32.Checksum(e[:end], y.CastagnoliCrcTable) != binary.BigEndian.Uint32(e[end:]) {
			return nil
		}
		plain := e[head:end]
		if key != nil {
			binary.BigEndian.PutUint32(iv[12:], uint32(at))
			if plain, err = y.XORBlockAllocate(plain, key.GetData(), iv); err != nil {
				return err
			}
		}
		if e[0]&metaTxnEnd == 0 {
			if err := r.entry(name, plain[:lengths[0]], e[0], e[1], lengths[2], plain[lengths[0]:], f); err != nil {
				return err
			}
		}
		at += int(end) + sum
	}
	return nil
}

// entry calls f with an entry; the last eight bytes of its key are its number.
func (r *reader) entry(name string, key []byte, meta, mark byte, expires uint64, value []byte, f func(Entry) error) error {
	if len(key) < 8 {
		return nil
	}
	if mark == markPacked {
		length, n := binary.Uvarint(value)
		plain, err := r.zstd.DecodeAll(value[max(0, n):], nil)
		if err != nil || uint64(len(plain)) != length {
			return fmt.Errorf("key %q: it does not unpack", y.ParseKey(key))
		}
		value = plain
	}
	return f(Entry{
		File: name, Key: y.ParseKey(key), Version: y.ParseTs(key), Value: value,
		Deleted: meta&metaDeleted != 0, Expired: expires != 0,
	})
}
