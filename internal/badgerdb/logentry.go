package badgerdb

import (
	"crypto/aes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"strconv"

	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/y"
)

// A log as Badger 4 writes it (memtable.go, structs.go, value.go and txn.go there):
//
//	log    key_id:8 base_iv:12 entry... 00...
//	entry  meta:1 user_meta:1 uvarint(len(key)) uvarint(len(value)) uvarint(expires_at) key value crc32c:4
//
// The checksum is that of the entry before it, as it is stored. Where key_id is not 0, key and value are stored encrypted: AES
// in counter mode from base_iv offset:4 on, with the entry's offset. A key ends with ^number:8 of its transaction. The entries
// of a transaction have entryInTxn; behind them is its end mark, which has entryEndsTxn, the key endMarkKey ^number:8 and the
// number in decimal.
//
// A log is made as a sparse file of twice a memtable. It takes entries until they fill a memtable, so zeros follow the last one, until an
// open cuts them off.
const (
	logHeader    = 8 + 12
	maxEntryHead = 22      // meta, user_meta, and three varints
	maxLogKey    = 1 << 16 // what Badger takes for a key when it reads
	entrySum     = 4
	entryInTxn   = 1 << 6
	entryEndsTxn = 1 << 7
	endMarkKey   = "!badger!txn"
	keyNumber    = 8

	// endMarkHead begins every end mark: meta, user_meta, and the length of the key. The length of the number and
	// expires_at, which is 0, follow.
	endMarkHead      = "\x80\x00\x13"
	endMarkHeadBytes = len(endMarkHead) + 2
	maxNumberDigits  = 20
	maxEndMark       = endMarkHeadBytes + len(endMarkKey) + keyNumber + maxNumberDigits + entrySum
)

// dataKeys finds the key that a file is encrypted with: nil for 0. A keyring is one, and a *badger.KeyRegistry.
type dataKeys interface {
	DataKey(id uint64) (*pb.DataKey, error)
}

// logReader reads a log of a size.
type logReader struct {
	file io.ReaderAt
	size int64
	// nextData returns the first offset from one on where there may be anything but zeros; it may be that one.
	nextData func(from int64) int64
	peek     *peek

	key *pb.DataKey // nil: it is not encrypted
	iv  [12]byte
	// ahead has the bytes of the file from an offset on.
	ahead []byte
	from  int64
}

// bytes returns what lies at an offset of the file, and is good until the next call.
func (r *logReader) bytes(at int64, n int64) ([]byte, error) {
	const readAhead = 256 << 10
	if at < r.from || at+n > r.from+int64(len(r.ahead)) {
		n := min(max(n, readAhead), r.size-at)
		if int64(cap(r.ahead)) < n {
			r.ahead = make([]byte, n)
		}
		r.ahead, r.from = r.ahead[:n], at
		if m, err := r.file.ReadAt(r.ahead, at); int64(m) < n {
			return nil, errors.Join(err, io.ErrUnexpectedEOF)
		}
	}
	return r.ahead[at-r.from:][:n], nil
}

// header reads the log's header; false: it is cut, or it names a data key that is not there.
func (r *logReader) header(keys dataKeys) (bool, error) {
	if r.size < logHeader {
		return false, nil
	}
	b, err := r.bytes(0, logHeader)
	if err != nil {
		return false, err
	}
	copy(r.iv[:], b[8:])
	r.key, err = keys.DataKey(binary.BigEndian.Uint64(b))
	return err == nil, nil
}

// entry is a whole entry of a log.
type entry struct {
	meta   byte
	number uint64 // of its transaction; 0: its key, or its end mark, tells none
	length int64
}

// stop is why no entry was read.
type stop int

const (
	goesOn      stop = iota
	stopEnd          // the file ends
	stopZeros        // it has no key, as zeros have none
	stopBroken       // it does not match its checksum
	stopBeyond       // it has a length that none has, or ends behind the file
	stopForeign      // it is whole, but has no place there
	stopHeader       // the log's header is cut, or names a data key that is not there
)

// entry reads the entry at an offset.
func (r *logReader) entry(at int64) (entry, stop, error) {
	left := r.size - at
	if left == 0 {
		return entry{}, stopEnd, nil
	}
	b, err := r.bytes(at, min(left, maxEntryHead))
	if err != nil {
		return entry{}, stopEnd, err
	}
	meta := b[0]
	head, key, value, ok := entryLengths(b)
	switch {
	case ok && key == 0:
		return entry{}, stopZeros, nil
	case !ok || key > maxLogKey || value > uint64(left) || int64(head+key+value+entrySum) > left:
		return entry{}, stopBeyond, nil
	}
	length := int64(head + key + value + entrySum)
	if b, err = r.bytes(at, length); err != nil {
		return entry{}, stopEnd, err
	}
	if !sumMatches(b) {
		return entry{}, stopBroken, nil
	}
	e := entry{meta: meta, length: length}
	if meta&entryEndsTxn != 0 {
		e.number = markNumber(r.decrypt(b[head:length-entrySum], at))
	} else {
		plain := r.decrypt(b[head:head+key], at)
		e.number = y.ParseTs(plain)
		if r.peek.wants(plain) {
			plain = r.decrypt(b[head:length-entrySum], at)
			r.peek.take(plain[:key], meta, b[1], plain[key:])
		}
	}
	return e, goesOn, nil
}

// entryLengths reads how long an entry's head, key and value are; false: b ends before, or a length has no end.
func entryLengths(b []byte) (head, key, value uint64, ok bool) {
	var lengths [3]uint64
	at := 2
	for i := range lengths {
		n := 0
		if at < len(b) {
			lengths[i], n = binary.Uvarint(b[at:])
		}
		if n <= 0 {
			return 0, 0, 0, false
		}
		at += n
	}
	return uint64(at), lengths[0], lengths[1], true
}

// sumMatches tells whether an entry is as it was written.
func sumMatches(b []byte) bool {
	end := len(b) - entrySum
	return crc32.Checksum(b[:end], y.CastagnoliCrcTable) == binary.BigEndian.Uint32(b[end:])
}

// decrypt returns the beginning of an entry's key and value as it was before it was encrypted. It may return b.
func (r *logReader) decrypt(b []byte, at int64) []byte {
	if r.key == nil {
		return b
	}
	iv := make([]byte, aes.BlockSize)
	copy(iv, r.iv[:])
	binary.BigEndian.PutUint32(iv[len(r.iv):], uint32(at))
	plain, err := y.XORBlockAllocate(b, r.key.GetData(), iv)
	if err != nil {
		return nil
	}
	return plain
}

// endMark looks for an end mark at the beginning of what lies at an offset. Its number is 0 where it cannot be decrypted.
func (r *logReader) endMark(b []byte, at int64) (number uint64, length int64, ok bool) {
	const fixed = endMarkHeadBytes + len(endMarkKey) + keyNumber
	if len(b) < fixed || b[3] == 0 || b[3] > maxNumberDigits || b[4] != 0 {
		return 0, 0, false
	}
	n := fixed + int(b[3]) + entrySum
	if len(b) < n || !sumMatches(b[:n]) {
		return 0, 0, false
	}
	return markNumber(r.decrypt(b[endMarkHeadBytes:n-entrySum], at)), int64(n), true
}

// markNumber reads the key and the value of an end mark: 0 where they are of none.
func markNumber(b []byte) uint64 {
	const key = len(endMarkKey) + keyNumber
	if len(b) <= key || string(b[:len(endMarkKey)]) != endMarkKey {
		return 0
	}
	number, err := strconv.ParseUint(string(b[key:]), 10, 64)
	if err != nil || math.MaxUint64-binary.BigEndian.Uint64(b[len(endMarkKey):]) != number {
		return 0
	}
	return number
}
