package badgerdb

import (
	"cmp"
	"crypto/aes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/y"
)

// A KEYREGISTRY as Badger 4 writes it (key_registry.go there):
//
//	registry  iv:16 text:12 key...
//	key       length:4 crc32c:4 bytes               a pb.DataKey
//
// Where the store is encrypted, the text, and of each key its data, are encrypted with the store's key: AES in counter mode, from iv on,
// or the key's own. The text is known, and so tells whether a key is the store's. A data key is appended, and synced, before the first
// file that is encrypted with it is written.
const (
	registryText = "Hello Badger"
	registryHead = aes.BlockSize + len(registryText)
	keyHead      = 4 + 4
	// maxDataKey is more than a key takes: 32 bytes, an iv, and two numbers.
	maxDataKey = 128
	// maxRegistry is far above what a registry has: a key of 80 bytes for each hour that the store is in use.
	maxRegistry = 64 << 20
)

// keyring has the data keys of a store by their ids; nil: it is not encrypted.
type keyring map[uint64]*pb.DataKey

// DataKey finds a key: nil for 0, with which files are named that are not encrypted.
func (k keyring) DataKey(id uint64) (*pb.DataKey, error) {
	if key, ok := k[id]; ok || id == 0 {
		return key, nil
	}
	return nil, badger.ErrInvalidDataKeyID
}

// newestFirst are the ids of the keys that a table may be encrypted with, which of the store's tables alone the MANIFEST tells; 0 alone where
// the store is not encrypted.
func (k keyring) newestFirst() []uint64 {
	if len(k) == 0 {
		return []uint64{0}
	}
	ids := slices.Collect(maps.Keys(k))
	slices.SortFunc(ids, func(a, b uint64) int { return cmp.Compare(b, a) })
	return ids
}

// registry is what a KEYREGISTRY has, as it lies there.
type registry struct {
	head []byte
	keys []*pb.DataKey
	// end is the offset behind the last whole key, size that of the file.
	end, size int64
}

// readRegistry reads a registry as far as its keys are whole; nil: its head is cut or zeroed.
func readRegistry(b []byte) *registry {
	if len(b) < registryHead || allZero(b[:registryHead]) {
		return nil
	}
	r := &registry{head: b[:registryHead], end: int64(registryHead), size: int64(len(b))}
	for {
		key, length := firstKey(b[r.end:])
		if key == nil {
			return r
		}
		r.keys = append(r.keys, key)
		r.end += length
	}
}

// firstKey reads the key that b begins with; nil: it is not whole.
func firstKey(b []byte) (key *pb.DataKey, length int64) {
	if len(b) < keyHead {
		return nil, 0
	}
	n := binary.BigEndian.Uint32(b)
	if n > maxDataKey || int(n) > len(b)-keyHead {
		return nil, 0
	}
	data := b[keyHead:][:n]
	key = new(pb.DataKey)
	switch {
	case crc32.Checksum(data, y.CastagnoliCrcTable) != binary.BigEndian.Uint32(b[4:]), proto.Unmarshal(data, key) != nil,
		key.GetKeyId() == 0, len(key.GetIv()) != aes.BlockSize, !isKeySize(len(key.GetData())):
		return nil, 0
	}
	return key, int64(keyHead + n)
}

// isKeySize tells whether AES has keys of so many bytes.
func isKeySize(n int) bool { return n == 16 || n == 24 || n == 32 }

// plain tells whether the registry is that of a store that is not encrypted.
func (r *registry) plain() bool { return string(r.head[aes.BlockSize:]) == registryText }

// torn tells whether what follows the last whole key may be one that was being written: nothing was encrypted with it yet.
func (r *registry) torn(b []byte) bool {
	tail := b[r.end:]
	if len(tail) > keyHead+maxDataKey {
		return false
	}
	for n := range tail {
		if key, _ := firstKey(tail[n:]); key != nil {
			return false
		}
	}
	return true
}

// unlock returns the data keys; false: the key is not that of the store.
func (r *registry) unlock(key []byte) (keyring, bool) {
	text, err := y.XORBlockAllocate(r.head[aes.BlockSize:], key, r.head[:aes.BlockSize])
	if err != nil || string(text) != registryText {
		return nil, false
	}
	keys := keyring{}
	for _, sealed := range r.keys {
		data, err := y.XORBlockAllocate(sealed.GetData(), key, sealed.GetIv())
		if err != nil {
			return nil, false
		}
		keys[sealed.GetKeyId()] = &pb.DataKey{KeyId: sealed.GetKeyId(), Data: data, Iv: sealed.GetIv(), CreatedAt: sealed.GetCreatedAt()}
	}
	return keys, true
}

// registryBytes are a registry with these data keys, encrypted with a key.
func registryBytes(keys keyring, key []byte) ([]byte, error) {
	iv, err := newIV()
	if err != nil {
		return nil, err
	}
	text, err := y.XORBlockAllocate([]byte(registryText), key, iv)
	if err != nil {
		return nil, fmt.Errorf("encrypt the keys: %w", err)
	}
	b := append(iv, text...)
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if b, err = appendKey(b, keys[id], key); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// appendKey appends a data key as a registry has it. It has another iv then: no two of what is encrypted with a key begin alike.
func appendKey(b []byte, plain *pb.DataKey, key []byte) ([]byte, error) {
	iv, err := newIV()
	if err != nil {
		return nil, err
	}
	data, err := y.XORBlockAllocate(plain.GetData(), key, iv)
	if err != nil {
		return nil, fmt.Errorf("encrypt a data key: %w", err)
	}
	sealed, err := proto.Marshal(&pb.DataKey{KeyId: plain.GetKeyId(), Data: data, Iv: iv, CreatedAt: plain.GetCreatedAt()})
	if err != nil {
		return nil, fmt.Errorf("encode a data key: %w", err)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(sealed)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(sealed, y.CastagnoliCrcTable))
	return append(b, sealed...), nil
}

func newIV() ([]byte, error) { return randomBytes(aes.BlockSize) }

func randomBytes(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		return nil, fmt.Errorf("find random bytes: %w", err)
	}
	return b, nil
}

// keysOf reads the data keys of a store that is open; none, where it is not encrypted. A key that is being written is not among them.
func keysOf(dir string, key []byte) (keyring, error) {
	if len(key) == 0 {
		return nil, nil
	}
	b, err := os.ReadFile(filepath.Join(dir, badger.KeyRegistryFileName))
	if err != nil {
		return nil, fmt.Errorf("read the data keys: %w", err)
	}
	r := readRegistry(b)
	if r == nil {
		return nil, errors.New("read the data keys: KEYREGISTRY is cut")
	}
	keys, ok := r.unlock(key)
	if !ok {
		return nil, errKeyMismatch
	}
	return keys, nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
