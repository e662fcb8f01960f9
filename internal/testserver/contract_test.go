package testserver_test

import (
	"flag"
	"net/http"
	"testing"

	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/chainstore/memstore"
	"github.com/transcriptd/transcriptd/chainstore/storetest"
	"github.com/transcriptd/transcriptd/internal/overhttp"
	"github.com/transcriptd/transcriptd/internal/testserver"
	"github.com/transcriptd/transcriptd/server"
)

var overHTTP = flag.Bool("testserver.http", false, "testserver: run the contract over HTTP too")

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

// TestContractOverHTTP runs it over HTTP, in the form that differs most from gRPC's: JSON, with streams as lines.
func TestContractOverHTTP(t *testing.T) {
	if !*overHTTP {
		t.Skip("server's tests compare HTTP with gRPC, method by method; set -testserver.http for the whole contract, which takes a minute")
	}
	throughThe(t, func(tb testing.TB, store chainstore.Store) grpc.ClientConnInterface {
		s := testserver.StartWith(tb, store, server.Config{Version: "test"})
		return &overhttp.Conn{URL: s.HTTP(tb, server.HTTPConfig{}), Form: overhttp.Curl, Client: http.DefaultClient}
	}, func(_ testing.TB, o storetest.Options) chainstore.Store {
		return memstore.New(memstore.Options{Now: o.Now})
	})
}

func overTheWire(t *testing.T, open func(testing.TB, storetest.Options) chainstore.Store) {
	throughThe(t, func(tb testing.TB, store chainstore.Store) grpc.ClientConnInterface {
		return testserver.Start(tb, store)
	}, open)
}

func throughThe(t *testing.T, dial func(testing.TB, chainstore.Store) grpc.ClientConnInterface, open func(testing.TB, storetest.Options) chainstore.Store) {
	storetest.Run(t, storetest.Config{
		Open: func(tb testing.TB, o storetest.Options) chainstore.Store {
			store := open(tb, o)
			return testserver.Wire(dial(tb, store), store.Close)
		},
		Model:    func(o storetest.Options) chainstore.Store { return memstore.New(memstore.Options{Now: o.Now}) },
		Encoding: storetest.Encoding{Make: testserver.Make},
		PutOrder: true, // as both engines
		Skip: map[storetest.Category]string{
			storetest.Headers:     "marks, loops, groups and forks of a header are not on the wire",
			storetest.Export:      "what is read for a copy elsewhere is not on the wire",
			storetest.Meanwhile:   "a collection on the wire does not wait for who reads its reports, and holds are not on the wire",
			storetest.Erase:       "what is to be left of a node is not on the wire: the server makes it",
			storetest.Retention:   "the server alone asks which names were deleted, and lets no caller judge whether it may delete",
			storetest.Elsewhere:   "the wire puts such nodes as an archive has them, which tests of the server do",
			storetest.Mixed:       "a call puts nodes with aliases on them, or moves aliases, and deletes some; it never does both",
			storetest.ListReach:   "a page goes on behind a token, not behind a name",
			storetest.Find:        "GetNode takes prefixes of 6 digits or more and lists at most 10 candidates",
			storetest.Calls:       "RecallToolCall gives one call and its result, and not which nodes have it",
			storetest.Tables:      "Describe lists 64 tools and 64 variables at most, the store all",
			storetest.Compaction:  "PutNode takes no compaction nodes from clients, and no precondition is Extends: Compact alone writes both",
			storetest.TokenKeys:   "keys never leave the server",
			storetest.Signing:     "the key never leaves the server",
			storetest.Descendants: "they are asked for by the server itself",
			storetest.Runs:        "the stretches of a path are how a store lays out nodes: they are not on the wire",
			storetest.Judging:     "the server judges by itself: the suite's own judge is not asked",
			storetest.Closing:     "a client cannot close the store",
			storetest.Reopening:   "a client cannot open the store",
			storetest.Reads:       "reads are counted at the engine",
		},
	})
}
