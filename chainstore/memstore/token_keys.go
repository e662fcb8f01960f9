package memstore

import (
	"context"
	"crypto/rand"

	"github.com/transcriptd/transcriptd/chainstore"
)

// TokenKeys makes a key that is due; see chainstore.TokenKeeper.
func (s *Store) TokenKeys(ctx context.Context) (chainstore.TokenKeys, error) {
	_, unlock, err := s.read(ctx, "")
	if err != nil {
		return chainstore.TokenKeys{}, err
	}
	defer unlock()
	if now := s.millis(); s.keys.Due(now) {
		var secret chainstore.Secret
		_, _ = rand.Read(secret[:]) // it ends the program where it cannot
		s.keys = s.keys.Next(now, secret)
	}
	return s.keys, nil
}
