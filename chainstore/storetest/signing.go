package storetest

import (
	"bytes"
	"fmt"

	"github.com/transcriptd/transcriptd/chainstore"
)

func signingChecks() []check {
	return []check{
		{Signing, "Drawn", signingKeyDrawn},
		{Signing, "AtOnce", signingKeyAtOnce},
		{Signing, "Reopened", signingKeyReopened},
		{Signing, "Exported", signingKeyNotExported},
	}
}

func (f *fixture) signingKey() chainstore.Secret {
	f.Helper()
	seed, err := f.store.SigningKey(f.ctx())
	f.ok(err)
	return seed
}

// sameKey compares without showing.
func (f *fixture) sameKey(what string, a, b chainstore.Secret, want bool) {
	f.Helper()
	equal(f, what, a == b, want)
}

// signingKeyDrawn: the key is drawn when it is asked for, is no other store's, and stays.
func signingKeyDrawn(f *fixture) {
	seed := f.signingKey()
	f.sameKey("that the key is zero", seed, chainstore.Secret{}, false)
	f.clock.Advance(400 * 24 * 60 * 60 * 1e9)
	f.put(root(user("u")))
	f.sameKey("that the key stays", f.signingKey(), seed, true)
	f.sameKey("that two stores have one key", newFixture(f.TB, f.cfg).signingKey(), seed, false)
	for _, shown := range []string{fmt.Sprint(seed), fmt.Sprintf("%x %v %+v %#v", seed, seed, seed, seed)} {
		equal(f, "that a key is shown", bytes.Contains([]byte(shown), []byte(fmt.Sprintf("%x", seed[:]))), false)
	}
	f.clean()
}

// signingKeyAtOnce: of all who ask first, one draws it.
func signingKeyAtOnce(f *fixture) {
	all := atOnce(callers, func(int) chainstore.Secret {
		seed, err := f.store.SigningKey(f.ctx())
		f.ok(err)
		return seed
	})
	for _, seed := range all {
		f.sameKey("that callers get one key", seed, all[0], true)
	}
}

// signingKeyReopened: the key outlives a Close.
func signingKeyReopened(f *fixture) {
	if f.cfg.Reopen == nil {
		return
	}
	seed := f.signingKey()
	f.ok(f.bare.Close())
	f.bare = f.cfg.Reopen(f.TB, Options{Now: f.clock.Now})
	f.store = Mangle(f.TB, f.bare)
	f.sameKey("that the store that was opened again has the key", f.signingKey(), seed, true)
	f.clean()
}

// signingKeyNotExported: no page of an export has it.
func signingKeyNotExported(f *fixture) {
	if f.skips(Export) {
		return
	}
	seed := f.signingKey()
	f.put(root(user("u")), set("chat", 0, anything()))
	shown := ""
	point, err := f.store.ExportAliases(f.ctx(), 0, func(string) bool { return true }, chainstore.ExportYield{
		Namespace: func(n *chainstore.ExportedNamespace) error { shown += fmt.Sprintf("%q", n.Name); return nil },
		Alias:     func(a *chainstore.ExportedAlias) error { shown += fmt.Sprintf("%q", a.Name); return nil },
	})
	f.ok(err)
	for _, ns := range []string{"", f.ns} {
		nodes, _, err := f.store.ExportNodes(f.ctx(), ns, chainstore.ExportSpan{Through: point}, nil, 1<<20)
		f.ok(err)
		for i := range nodes {
			n := &nodes[i]
			shown += fmt.Sprintf("%s%s%s%s", n.Payload, n.Metadata, n.Details, n.Receipt)
		}
	}
	equal(f, "that an export has the key", bytes.Contains([]byte(shown), seed[:]), false)
}
