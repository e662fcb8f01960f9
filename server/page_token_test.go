package server

import "testing"

// A token is good for the call, the namespace and the scope that it was given for, and for no other.
func TestPageTokensAreBound(t *testing.T) {
	given := page{rpc: "ListAliases", namespace: "default", scope: "p"}
	token := given.token([]byte("cursor"))
	if cursor, err := given.cursor(token); err != nil || string(cursor) != "cursor" {
		t.Errorf("%q, %v", cursor, err)
	}
	for _, other := range []page{
		{rpc: "ListAliasHistory", namespace: "default", scope: "p"},
		{rpc: "ListAliases", namespace: "other", scope: "p"},
		{rpc: "ListAliases", namespace: "default", scope: "q"},
		{rpc: "ListAliasesd", namespace: "efault", scope: "p"},
	} {
		if _, err := other.cursor(token); err == nil {
			t.Errorf("%+v takes the token of %+v", other, given)
		}
	}
}
