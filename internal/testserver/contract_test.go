package testserver_test

import (
	"flag"
	"testing"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/internal/testserver"
)

var onDisk = flag.Bool("testserver.disk", false, "testserver: run the contract over the wire on the engine on disk too")

// TestContract runs the contract suite of stores over the wire: handlers, encoders, error table and pages together give
// what the store beneath promises.
func TestContract(t *testing.T) {
	overTheWire(t, func(_ testing.TB, o storetest.Options) chainstore.Store {
		return memstore.New(memstore.Options{Now: o.Now})
	})
}

// TestContractOnDisk is the same on the engine on disk.
func TestContractOnDisk(t *testing.T) {
	if !*onDisk {
		t.Skip("each part passes the suite by itself; set -testserver.disk for both together, which takes some 10 s more")
	}
	overTheWire(t, func(tb testing.TB, o storetest.Options) chainstore.Store {
		store, err := badgerstore.Open(tb.TempDir(), badgerstore.Options{Now: o.Now})
		if err != nil {
			tb.Fatal(err)
		}
		return store
	})
}

func overTheWire(t *testing.T, open func(testing.TB, storetest.Options) chainstore.Store) {
	storetest.Run(t, storetest.Config{
		Open: func(tb testing.TB, o storetest.Options) chainstore.Store {
			store := open(tb, o)
			return testserver.Wire(testserver.Start(tb, store), store.Close)
		},
		Model:    func(o storetest.Options) chainstore.Store { return memstore.New(memstore.Options{Now: o.Now}) },
		Encoding: storetest.Encoding{Make: testserver.Make},
		PutOrder: true, // as both engines
		Skip: map[storetest.Category]string{
			storetest.Headers:    "marks, loops, groups and forks of a header are not on the wire",
			storetest.Mixed:      "a call puts nodes with aliases on them, or moves aliases, and deletes some; it never does both",
			storetest.ListReach:  "a page goes on behind a token, not behind a name",
			storetest.Find:       "GetNode takes prefixes of 6 digits or more and lists at most 10 candidates",
			storetest.Calls:      "RecallToolCall gives one call and its result, and not which nodes have it",
			storetest.Tables:     "Describe lists 64 tools and 64 variables at most, the store all",
			storetest.Compaction: "PutNode takes no compaction nodes from clients, and no precondition is Extends: Compact alone writes both",
			storetest.TokenKeys:  "keys never leave the server",
			storetest.Runs:       "the stretches of a path are how a store lays out nodes: they are not on the wire",
			storetest.Judging:    "the server judges by itself: the suite's own judge is not asked",
			storetest.Closing:    "a client cannot close the store",
			storetest.Reopening:  "a client cannot open the store",
			storetest.Reads:      "reads are counted at the engine",
		},
	})
}
