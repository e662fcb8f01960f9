package badgerstore

import (
	"context"
	"errors"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
)

// newKeyWait is how long callers wait for a new key where there is one to go on with.
const newKeyWait = time.Second

// TokenKeys reads the keys, and lets the committer make one that is due; see chainstore.TokenKeeper.
func (s *Store) TokenKeys(ctx context.Context) (chainstore.TokenKeys, error) {
	keys, err := s.tokenKeys(ctx)
	if err != nil || !keys.Due(s.millis()) {
		return keys, err
	}
	if keys.Current.Version == 0 {
		err = s.committer.MakeTokenKey(ctx)
	} else {
		waiting, cancel := context.WithTimeout(ctx, newKeyWait)
		err = s.committer.MakeTokenKey(waiting)
		cancel()
	}
	switch {
	case err == nil:
		return s.tokenKeys(ctx)
	case ctx.Err() != nil:
		return chainstore.TokenKeys{}, ctx.Err()
	case keys.Current.Version == 0 || errors.Is(err, chainstore.ErrClosed):
		return chainstore.TokenKeys{}, err
	default:
		return keys, nil
	}
}

func (s *Store) tokenKeys(ctx context.Context) (chainstore.TokenKeys, error) {
	if err := ctx.Err(); err != nil {
		return chainstore.TokenKeys{}, err
	}
	v, err := s.source.Open(layout.OwnNamespace)
	if err != nil {
		return chainstore.TokenKeys{}, err
	}
	defer v.Close()
	keys, err := v.TokenKeys()
	return keys.TokenKeys, err
}
