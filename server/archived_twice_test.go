package server_test

import (
	"testing"

	"google.golang.org/grpc/codes"
)

// TestArchivedBothWays: a request with a node as it was and as it was erased is answered as a wrong request, and is no fault of the server.
func TestArchivedBothWays(t *testing.T) {
	bothEngines(t, func(r *rig) {
		id := r.put("", user("some words"))
		r.point("chat", id)
		before := r.archivedNodes("default")
		r.erase(id)
		after := r.archivedNodes("default")
		err := r.putArchived("there", before[0], after[0])
		if f := failureOf(err); f.code == codes.Internal {
			r.Fatalf("the answer is %v", err)
		}
	})
}
