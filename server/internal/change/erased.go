package change

import "github.com/transcriptd/transcriptd/chainstore"

// Erased is a chainstore.ErasedError of a node of the request: Field is what has to be another for it to be put.
type Erased struct {
	Field string
	Err   *chainstore.ErasedError
}

// Error is the store's.
func (e *Erased) Error() string { return e.Err.Error() }

// Unwrap is the store's error.
func (e *Erased) Unwrap() error { return e.Err }
