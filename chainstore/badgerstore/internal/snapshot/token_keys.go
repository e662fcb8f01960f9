package snapshot

import "github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"

// TokenKeys reads the keys of page tokens; without any their versions are 0.
func (v *Snapshot) TokenKeys() (keys layout.TokenKeys, err error) {
	_, err = v.Borrow(layout.TokenKeysKey(), func(value []byte) error {
		keys, err = layout.ParseTokenKeys(value)
		keys.Rest = nil
		return err
	})
	return keys, err
}
