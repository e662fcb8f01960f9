package commit

import (
	"crypto/rand"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// nextTokenKeys is the row of the keys of page tokens with a new key; nil where none is due. row is the present one, if it is there.
func nextTokenKeys(row []byte, isThere bool, now int64) ([]byte, error) {
	var keys layout.TokenKeys
	if isThere {
		var err error
		if keys, err = layout.ParseTokenKeys(row); err != nil {
			return nil, err
		}
	}
	if !keys.Due(now) {
		return nil, nil
	}
	var secret chainstore.Secret
	_, _ = rand.Read(secret[:]) // it ends the program where it cannot
	keys.TokenKeys = keys.Next(now, secret)
	return layout.AppendTokenKeys(nil, &keys), nil
}
