package wire

import "testing"

// A token is good for the call, the namespace and the scope that it was given for, and for no other.
func TestPageTokensAreBound(t *testing.T) {
	given := Page{RPC: "ListAliases", Namespace: "default", Scope: "p"}
	token := given.Token([]byte("cursor"))
	if cursor, err := given.Cursor(token); err != nil || string(cursor) != "cursor" {
		t.Errorf("%q, %v", cursor, err)
	}
	for _, other := range []Page{
		{RPC: "ListAliasHistory", Namespace: "default", Scope: "p"},
		{RPC: "ListAliases", Namespace: "other", Scope: "p"},
		{RPC: "ListAliases", Namespace: "default", Scope: "q"},
		{RPC: "ListAliasesd", Namespace: "efault", Scope: "p"},
	} {
		if _, err := other.Cursor(token); err == nil {
			t.Errorf("%+v takes the token of %+v", other, given)
		}
	}
}
