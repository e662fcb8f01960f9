package badgerstore

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/commit"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore/internal/layout"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

// TestTokenKeysThatCannotBeMade: the keys that there are stay valid; without any the error is told. What is kept for deletes may be
// taken for a key.
func TestTokenKeysThatCannotBeMade(t *testing.T) {
	clock := storetest.NewClock()
	s := openStore(t, Options{Now: clock.Now})
	ctx, full := context.Background(), chainstore.ErrDiskFull
	ready, deletes := s.committer.Ready, full
	s.committer.Ready = func() (error, error) { return full, deletes }
	if _, err := s.TokenKeys(ctx); !errors.Is(err, full) {
		t.Errorf("the first key on a full disk: %v", err)
	}
	deletes = nil
	first, err := s.TokenKeys(ctx)
	if err != nil || first.Current.Version != 1 {
		t.Fatalf("%v, %v", first, err)
	}
	clock.Advance(chainstore.TokenKeyLife * time.Millisecond)
	deletes = full
	if keys, err := s.TokenKeys(ctx); err != nil || keys != first {
		t.Errorf("a further key on a full disk: %v, %v", keys, err)
	}
	s.committer.Ready = ready
	keys, err := s.TokenKeys(ctx)
	if err != nil || keys.Previous != first.Current {
		t.Errorf("once there is room: %v, %v", keys, err)
	}
	clock.Advance(chainstore.TokenKeyLife * time.Millisecond)
	s.committer.Durable = func(map[string]commit.Write, uint64) error { return errors.New("input/output error") }
	for range 2 {
		if again, err := s.TokenKeys(ctx); err != nil || again != keys {
			t.Errorf("on a store that failed: %v, %v", again, err)
		}
	}
}

// TestTokenKeysOfALaterVersion: what a later version keeps behind the keys stays when a key is made.
func TestTokenKeysOfALaterVersion(t *testing.T) {
	s := openStore(t, Options{})
	old := layout.TokenKeys{TokenKeys: chainstore.TokenKeys{Current: chainstore.TokenKey{Version: 7}}, Rest: []byte("later")}
	rewrite(t, s, map[string]commit.Write{string(layout.TokenKeysKey()): {Value: layout.AppendTokenKeys(nil, &old)}})
	keys, err := s.TokenKeys(context.Background())
	if err != nil || keys.Current.Version != 8 || keys.Previous != old.Current {
		t.Errorf("%v, %v", keys, err)
	}
	if row := allRows(t, s)[string(layout.TokenKeysKey())]; !bytes.HasSuffix(row, []byte("later")) {
		t.Error("what was behind the keys is gone")
	}
	mustBeClean(t, s)
}
