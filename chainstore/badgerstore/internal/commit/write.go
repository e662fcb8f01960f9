package commit

import "github.com/transcriptd/transcriptd/internal/badgerdb"

// Write is a value to set, or a key to delete.
type Write struct {
	Value   []byte
	Deleted bool
	// by is the number of the draft that wrote it last.
	by int
}

func Cost(key string, w Write) int64 { return int64(len(key)+len(w.Value)) + badgerdb.WriteOverhead }

// WriteTo commits writes as one durable transaction at a timestamp above every other; readers do not see it yet. Errors:
// badgerdb's Commit's.
func WriteTo(db *badgerdb.DB, writes map[string]Write, ts uint64) error {
	return db.Write(ts, func(b *badgerdb.Batch) error { return fill(b, writes) })
}

// fill puts writes into a transaction.
func fill(b *badgerdb.Batch, writes map[string]Write) (err error) {
	keys := make([]byte, 0, keyBytes(writes))
	for key, w := range writes {
		begin := len(keys)
		keys = append(keys, key...)
		if k := keys[begin:len(keys):len(keys)]; w.Deleted {
			err = b.Delete(k)
		} else {
			err = b.Set(k, w.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func keyBytes(writes map[string]Write) (n int) {
	for key := range writes {
		n += len(key)
	}
	return n
}
