package client

import (
	"context"
	"testing"

	transcriptv1 "github.com/transcriptd/transcriptd/gen/transcript/v1"
)

// A ledger gives each append of unknown outcome to one repeat, the oldest of equal ones first, and remembers a bounded number.
func TestLedger(t *testing.T) {
	var l ledger
	salts := 0
	take := func(text string) *pending {
		return l.take(&transcriptv1.NewNode{Messages: []*transcriptv1.Message{User(text)}}, func() []byte {
			salts++
			return []byte{byte(salts)}
		})
	}
	lost := &Error{Reason: ErrDeadlineExceeded}
	first, second := take("same"), take("same")
	l.end(first, lost)
	l.end(second, lost)
	l.end(take("other"), nil)
	l.end(take("other"), &Error{Reason: ErrAliasMoved})
	l.end(take("other"), context.Canceled) // no *Error: it says nothing
	if len(l.open) != 2 {
		t.Fatalf("%d appends are remembered", len(l.open))
	}
	if a, b, c := take("same"), take("same"), take("same"); a != first || b != second || c == first || c == second || c.unsure || !a.unsure {
		t.Error("a repeat has another's salt")
	}
	for range maxUnsure + 5 {
		l.end(take("x"), lost)
		l.end(&pending{}, lost)
	}
	if len(l.open) > maxUnsure {
		t.Errorf("%d appends are remembered", len(l.open))
	}
}
