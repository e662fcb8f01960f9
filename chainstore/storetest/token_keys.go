package storetest

import (
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

func tokenKeyChecks() []check {
	return []check{
		{TokenKeys, "Made", tokenKeysMade},
		{TokenKeys, "Replaced", tokenKeysReplaced},
		{TokenKeys, "AtOnce", tokenKeysAtOnce},
		{TokenKeys, "Reopened", tokenKeysReopened},
	}
}

func (f *fixture) tokenKeys() chainstore.TokenKeys {
	f.Helper()
	keys, err := f.store.TokenKeys(f.ctx())
	f.ok(err)
	return keys
}

// tokenKeysMade: the first key is made when it is asked for, is no other store's, and stays.
func tokenKeysMade(f *fixture) {
	first := f.tokenKeys()
	equal(f, "the version of the first key", first.Current.Version, 1)
	equal(f, "when it was made", first.Current.MadeAt, millis(f.clock.Now()))
	equal(f, "the key before it", first.Previous, chainstore.TokenKey{})
	f.clock.Advance(chainstore.TokenKeyLife*time.Millisecond - time.Millisecond)
	f.put(root(user("u")))
	equal(f, "the keys before one is due", f.tokenKeys(), first)
	other := newFixture(f.TB, f.cfg).tokenKeys()
	equal(f, "that two stores have one secret", other.Current.Secret == first.Current.Secret, false)
	equal(f, "that a secret is zero", first.Current.Secret == chainstore.Secret{}, false)
	f.clean()
}

// tokenKeysReplaced: a key that is old enough is replaced when the keys are asked for, and stays valid until the next is.
func tokenKeysReplaced(f *fixture) {
	last := f.tokenKeys().Current
	for _, age := range []time.Duration{1, 1, 5} {
		f.clock.Advance(age * chainstore.TokenKeyLife * time.Millisecond)
		now := f.tokenKeys()
		equal(f, "the key before", now.Previous, last)
		equal(f, "the version", now.Current.Version, last.Version+1)
		equal(f, "when it was made", now.Current.MadeAt, millis(f.clock.Now()))
		equal(f, "that two keys have one secret", now.Current.Secret == last.Secret, false)
		equal(f, "the keys again", f.tokenKeys(), now)
		last = now.Current
		f.clean()
	}
}

// tokenKeysAtOnce: of all who are to make a key at once, one does.
func tokenKeysAtOnce(f *fixture) {
	for version := range uint32(3) {
		all := atOnce(callers, func(int) chainstore.TokenKeys {
			keys, err := f.store.TokenKeys(f.ctx())
			f.ok(err)
			return keys
		})
		for _, keys := range all {
			equal(f, "the keys of one caller and another", keys, all[0])
			equal(f, "the version", keys.Current.Version, version+1)
		}
		f.clock.Advance(chainstore.TokenKeyLife * time.Millisecond)
	}
}

// tokenKeysReopened: keys outlive a Close.
func tokenKeysReopened(f *fixture) {
	if f.cfg.Reopen == nil {
		return
	}
	f.tokenKeys()
	f.clock.Advance(chainstore.TokenKeyLife * time.Millisecond)
	keys := f.tokenKeys()
	f.ok(f.bare.Close())
	f.bare = f.cfg.Reopen(f.TB, Options{Now: f.clock.Now})
	f.store = Mangle(f.TB, f.bare)
	equal(f, "the keys of the store that was opened again", f.tokenKeys(), keys)
	f.clean()
}
