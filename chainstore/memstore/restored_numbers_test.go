package memstore

import (
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

// TestNumbersOfRestoredReceipts shows that a namespace which is begun anew has other erasures, when receipts are restored into it, than the one before.
func TestNumbersOfRestoredReceipts(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	s := New(Options{Now: func() time.Time { return now }})
	var last uint64
	for range 2 {
		kept := chainstore.KeptReceipt{ID: chainstore.ID{1}, Bytes: []byte("receipt")}
		if _, err := s.Restore(t.Context(), "n", &chainstore.Restored{Receipts: []chainstore.KeptReceipt{kept}}); err != nil {
			t.Fatal(err)
		}
		erasures, err := s.Erasures(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		if erasures <= last {
			t.Fatalf("the erasures are %d, as they were before the namespace was deleted: %d", erasures, last)
		}
		last = erasures
		if _, err := s.DeleteNamespace(t.Context(), "n", nil); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
}
