package layout

import (
	"encoding/binary"
	"math"

	"github.com/transcriptd/transcriptd/chainstore"
)

// TokenKeys is the Y row.
type TokenKeys struct {
	chainstore.TokenKeys
	// Rest is what a later version has behind it.
	Rest []byte
}

func TokenKeysKey() []byte { return TableKey(OwnNamespace, TableKeys) }

// AppendTokenKeys appends the keys that there are, one at least.
func AppendTokenKeys(b []byte, k *TokenKeys) []byte {
	keys := []*chainstore.TokenKey{&k.Current, &k.Previous}
	if k.Previous.Version == 0 {
		keys = keys[:1]
	}
	b = binary.AppendUvarint(b, uint64(len(keys)))
	for _, key := range keys {
		b = binary.AppendUvarint(b, uint64(key.Version))
		b = binary.AppendUvarint(b, uint64(key.MadeAt))
		b = append(b, key.Secret[:]...)
	}
	return append(b, k.Rest...)
}

func ParseTokenKeys(value []byte) (k TokenKeys, err error) {
	d := reader{rest: value}
	keys := []*chainstore.TokenKey{&k.Current, &k.Previous}
	for _, key := range keys[:d.atLeast(1, 2)] {
		key.Version = uint32(d.atLeast(1, math.MaxUint32))
		key.MadeAt = int64(d.number(math.MaxInt64))
		copy(key.Secret[:], d.bytes(len(key.Secret)))
	}
	if d.failed || k.Previous.Version > 0 && k.Previous.Version+1 != k.Current.Version {
		return TokenKeys{}, CorruptValue(TableKeys)
	}
	if len(d.rest) > 0 {
		k.Rest = d.rest
	}
	return k, nil
}
