package limit

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/transcriptd/transcriptd/client"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
	"github.com/transcriptd/transcriptd/internal/turns"
	"github.com/transcriptd/transcriptd/tools/limits/internal/raw"
)

// served is a connection to a limit.
func served(t *testing.T, kind string, args ...string) *grpc.ClientConn {
	t.Helper()
	s, err := open(t.Context(), kind, t.TempDir(), args)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpcServer(s)
	go func() { _ = g.Serve(listener) }() // until it is stopped
	conn, err := raw.Dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close() // with the test
		g.Stop()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// The walk answers the messages that transcriptd answers, and the canned limit its very bytes, in the same frames.
func TestLimitsAnswerWhatTranscriptdDoes(t *testing.T) {
	const alias, length = "some", 30 // more than a frame
	transcriptd, walk := served(t, Beside), served(t, Walk)
	var said [2][]byte
	for i, conn := range []*grpc.ClientConn{transcriptd, walk} {
		c := client.New(conn)
		if _, err := turns.Fill(t.Context(), c, alias, 0, length, func(int) {}); err != nil {
			t.Fatal(err)
		}
		a, err := c.Assemble(t.Context(), client.ByAlias(alias), client.Query{})
		if err != nil {
			t.Fatal(err)
		}
		messages, err := a.Encoded()
		if err != nil || len(messages) != length*turns.Messages {
			t.Fatal(len(messages), err)
		}
		for _, m := range messages {
			said[i] = append(said[i], m...)
		}
	}
	if string(said[0]) != string(said[1]) {
		t.Error("the walk has other messages")
	}
	canned := served(t, Canned, transcriptd.Target(), "", alias)
	if a, b := read(t, transcriptd, alias), read(t, canned, "anything"); a != b {
		t.Errorf("%d and %d bytes", len(a), len(b))
	}
}

// read is a reply and the frames of a stream, with the length of each.
func read(t *testing.T, conn *grpc.ClientConn, alias string) string {
	t.Helper()
	r := &raw.Reader{Conn: conn}
	reply, err := r.Assemble(t.Context(), raw.ByAlias(alias), "")
	if err != nil {
		t.Fatal(err)
	}
	all := string(reply)
	if err := r.Stream(t.Context(), raw.ByAlias(alias), func(frame []byte) { all += fmt.Sprint(len(frame)) + string(frame) }); err != nil {
		t.Fatal(err)
	}
	return all
}

// What the bare committer and bare transactions have answered is in the database, each node under two keys.
func TestBareThingsKeepWhatTheyTook(t *testing.T) {
	const callers, each, payloads = 8, 5, 3
	dir := t.TempDir()
	c, err := OpenCommitter(dir)
	if err != nil {
		t.Fatal(err)
	}
	group := new(errgroup.Group)
	for range callers {
		group.Go(func() error {
			for range each {
				if err := c.Put(make([]byte, 100), make([]byte, 200), make([]byte, 300<<10)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := badgerdb.Open(dir, badgerdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := keys(db.NewTransactionAt(1<<62, false)); n != 2*callers*each*payloads {
		t.Errorf("%d keys", n)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	bare, err := OpenTransactions(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range each {
		if err := bare.Put(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	if n := keys(bare.db.NewTransaction(false)); n != 2*each {
		t.Errorf("%d keys", n)
	}
	if err := bare.Close(); err != nil {
		t.Error(err)
	}
}

func keys(txn *badger.Txn) (n int) {
	defer txn.Discard()
	it := txn.NewIterator(badger.DefaultIteratorOptions)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		n++
	}
	return n
}

func TestNoSuchLimit(t *testing.T) {
	for _, args := range [][]string{nil, {"canned"}, {"other", t.TempDir()}} {
		if err := Serve(context.Background(), args, nil); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
