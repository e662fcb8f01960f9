// Package storetest is the contract of chainstore.Store as tests: every engine, and the client over the wire through
// an adapter, passes them. It knows no encoding: payloads come from the Encoding in its Config.
//
// Every store runs behind Mangle, so that one that keeps a slice which it borrowed fails. Flag -storetest.long makes
// the long chains 100,000 nodes instead of 1,000.
package storetest

import (
	"flag"
	"sync"
	"testing"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
)

var long = flag.Bool("storetest.long", false, "storetest: chains of 100,000 nodes")

// longChain is the length of a long chain.
func longChain() int {
	if *long {
		return 100_000
	}
	return 1_000
}

// Config says what to test.
type Config struct {
	// Open opens an empty store, which the suite closes. It may fail the test; what it needs to clean up (a directory)
	// it registers before it returns.
	Open func(tb testing.TB, o Options) chainstore.Store
	// Model opens the store whose behaviour is right by definition; nil: the random programs check the store against
	// nothing but itself, and are skipped with a word.
	Model func(o Options) chainstore.Store
	// Reopen opens again the store that the test opened last and has closed; nil: nothing outlives a Close.
	Reopen func(tb testing.TB, o Options) chainstore.Store
	// Encoding makes nodes and judges them; the zero Encoding stands for Simple().
	Encoding Encoding
	// PutOrder says that children and spawned nodes are listed exactly in the order in which they were put, which is more than the
	// contract asks for; the model must do so too. The random programs then compare it.
	PutOrder bool
	// Skip lists the categories that do not apply, each with the reason.
	Skip map[Category]string
}

// Options are what the store under test must be opened with.
type Options struct {
	// Now is the store's clock. A few checks set it back.
	Now func() time.Time
}

// Category is a part of the contract that a store may opt out of as a whole, with a reason.
type Category string

// The categories. What each asks for beyond its name:
const (
	// RoundTrip: what was put comes back: ids, payloads, metadata, salts, links, notes, totals.
	RoundTrip Category = "RoundTrip"
	// Headers: headers equal what the folds give, byte for byte; forks, links and marks included.
	Headers Category = "Headers"
	// Retries: what may be repeated may be repeated.
	Retries Category = "Retries"
	// Conditions: preconditions of every kind and mixture, and the order of errors.
	Conditions Category = "Conditions"
	// Export: pages of nodes, and aliases as of one state, for a copy elsewhere.
	Export Category = "Export"
	// Restore: aliases and settings as they were exported.
	Restore Category = "Restore"
	// Collect: what nobody refers to is deleted, and what is forgotten at once.
	Collect Category = "Collect"
	// Meanwhile: what is done while a collection reports, which waits for it, and holds.
	Meanwhile Category = "Meanwhile"
	// Erase: the content of nodes is taken away, and all else stays. Needs Encoding.Erase.
	Erase Category = "Erase"
	// Elsewhere: nodes that were put elsewhere, with the time of then.
	Elsewhere Category = "Elsewhere"
	// Mixed: changes that put nodes and at once set aliases to other nodes, or delete some, that set them in another order than that of the
	// nodes, or forget some beside anything else.
	Mixed Category = "Mixed"
	// Batches: several nodes in one change.
	Batches Category = "Batches"
	// Revisions: what revisions count, conditions on them, and what is forgotten.
	Revisions Category = "Revisions"
	// Aliases: labels, deletes, moves, those of a node.
	Aliases Category = "Aliases"
	// Lists: pages of aliases.
	Lists Category = "Lists"
	// ListReach: pages of aliases, and lists of those of a node, end where they have looked at chainstore.AliasReach rows; thousands are deleted in a change.
	ListReach Category = "ListReach"
	// History: an alias's states.
	History Category = "History"
	// Forks: chains over more forks than a fork path holds.
	Forks Category = "Forks"
	// LongChains: 1,000 nodes, or 100,000 with -storetest.long.
	LongChains Category = "LongChains"
	// Limits: nodes at each limit.
	Limits Category = "Limits"
	// Children: a node's children, in pages.
	Children Category = "Children"
	// Find: ids by prefix.
	Find Category = "Find"
	// Descendants: all nodes below a node.
	Descendants Category = "Descendants"
	// Spawned: what a path spawned.
	Spawned Category = "Spawned"
	// Calls: call ids on a path.
	Calls Category = "Calls"
	// Tables: tools and variables of a path.
	Tables Category = "Tables"
	// Namespaces: nothing is seen across them.
	Namespaces Category = "Namespaces"
	// Concurrency: many callers at once.
	Concurrency Category = "Concurrency"
	// Contexts: calls end with their contexts.
	Contexts Category = "Contexts"
	// Statistics: Stats and Info.
	Statistics Category = "Statistics"
	// Verify: a store that the suite filled is clean.
	Verify Category = "Verify"
	// Judging: Verify asks the judge that it is given, and hears it.
	Judging Category = "Judging"
	// Closing: after Close, ErrClosed.
	Closing Category = "Closing"
	// Reopening: what was acknowledged outlives a Close. Needs Config.Reopen.
	Reopening Category = "Reopening"
	// Random: random programs against the model.
	Random Category = "Random"
	// Linearizable: aliases under concurrent callers are registers.
	Linearizable Category = "Linearizable"
	// Compaction: compaction nodes, what they cover, and the condition Extends.
	Compaction Category = "Compaction"
	// Runs: the stretches of a path.
	Runs Category = "Runs"
	// TokenKeys: the keys of page tokens.
	TokenKeys Category = "TokenKeys"
	// Signing: the key that receipts are signed with.
	Signing Category = "Signing"
	// Settings: the names of namespaces, and the settings of each.
	Settings Category = "Settings"
	// Retention: what expires is found, and what is held stays: deleted names, and collections that ask before they delete.
	Retention Category = "Retention"
	// Deletion: namespaces are deleted.
	Deletion Category = "Deletion"
	// Quotas: what settings bound.
	Quotas Category = "Quotas"
	// Reads: the reads of an engine that counts them (ReadCounter) do not depend on the position in the chain.
	Reads Category = "Reads"
)

// Clock is a test's clock: it stands still unless told.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows some time in 2026.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
}

// Now is the time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// check is one test of the suite.
type check struct {
	category Category
	name     string
	run      func(*fixture)
}

// Run tests a store; each test opens one of its own, and tests run beside each other.
func Run(t *testing.T, c Config) {
	if c.Encoding.Make == nil {
		c.Encoding = Simple()
	}
	for _, k := range checks() {
		t.Run(string(k.category)+"/"+k.name, func(t *testing.T) {
			t.Parallel()
			if reason, skip := c.Skip[k.category]; skip {
				t.Skipf("%s does not apply: %s", k.category, reason)
			}
			k.run(newFixture(t, c))
		})
	}
}

// checks lists the whole suite.
func checks() []check {
	var all []check
	for _, part := range [][]check{
		roundTripChecks(), retryChecks(), conditionChecks(), batchChecks(), aliasChecks(), revisionChecks(), treeChecks(), recallChecks(),
		spawnedChecks(), limitChecks(), concurrencyChecks(), lifecycleChecks(),
		verifyChecks(), compactionChecks(), runChecks(), questionChecks(), randomChecks(), registerChecks(), readChecks(),
		tokenKeyChecks(), settingsChecks(), exportChecks(), restoreChecks(), collectChecks(), eraseChecks(), signingChecks(), descendantChecks(), retentionChecks(), deletionChecks(),
	} {
		all = append(all, part...)
	}
	return all
}
