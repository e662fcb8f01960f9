package memstore_test

import (
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
)

func open(_ testing.TB, o storetest.Options) chainstore.Store {
	return memstore.New(memstore.Options{Now: o.Now})
}

func TestContract(t *testing.T) {
	storetest.Run(t, storetest.Config{
		Open:  open,
		Model: func(o storetest.Options) chainstore.Store { return memstore.New(memstore.Options{Now: o.Now}) },
		Skip:  map[storetest.Category]string{storetest.Reads: "nothing is read from a disk"},
	})
}

func TestAStoreHasAnID(t *testing.T) {
	a, b := memstore.New(memstore.Options{}), memstore.New(memstore.Options{})
	if id := a.Info().ID; id == (chainstore.StoreID{}) || id == b.Info().ID || id != a.Info().ID {
		t.Errorf("the ids of two stores are %s and %s", id, b.Info().ID)
	}
}
