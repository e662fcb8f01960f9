package main

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// sparing is a listener that closes new connections at once while hardly more file descriptors are left than the store needs to
// write, so that connections, however many, do not end writing. Clients try again. A few connections are taken even so, so that reads go
// on. Accept belongs to one goroutine.
type sparing struct {
	net.Listener
	// open counts the connections.
	open  atomic.Int64
	usage func() badgerdb.Usage
	// part of the limit is left to other listeners, too; 0: none is.
	part int64
	log  *slog.Logger
	// told is when the log was told last.
	told time.Time
}

// So many connections are taken in any case, while so many descriptors are left. They are among those that the store keeps beside what
// merges take.
const (
	alwaysTaken   = 32
	leastForTaken = 64
)

// closedToldEvery is how often the log is told that connections are closed.
const closedToldEvery = time.Minute

// spare makes a listener leave the store the descriptors that it needs; one in memory needs none.
func spare(l net.Listener, store chainstore.Store, log *slog.Logger) net.Listener {
	return spareMore(l, store, 0, log)
}

// spareAdmin is spare for the HTTP side, to which anybody who reaches it may connect: it leaves a quarter of all to gRPC.
func spareAdmin(l net.Listener, store chainstore.Store, log *slog.Logger) net.Listener {
	return spareMore(l, store, 4, log)
}

func spareMore(l net.Listener, store chainstore.Store, part int64, log *slog.Logger) net.Listener {
	if s, ok := store.(*badgerstore.Store); ok {
		return &sparing{Listener: l, usage: s.Descriptors, part: part, log: log}
	}
	return l
}

// Accept waits for a connection that there is a descriptor for.
func (s *sparing) Accept() (net.Conn, error) {
	for {
		conn, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		u := s.usage()
		kept := u.Kept + min(100, u.Limit/16)
		if s.part > 0 {
			kept += u.Limit / s.part
		}
		few := s.open.Load() < alwaysTaken && u.Left() >= leastForTaken
		if few || u.Left() >= kept {
			s.open.Add(1)
			return &sparedConn{Conn: conn, closed: sync.OnceFunc(func() { s.open.Add(-1) })}, nil
		}
		_ = conn.Close()
		s.tell(u)
	}
}

// sparedConn is a connection that is counted until it is closed.
type sparedConn struct {
	net.Conn
	closed func()
}

func (c *sparedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

func (s *sparing) tell(u badgerdb.Usage) {
	if now := time.Now(); now.Sub(s.told) >= closedToldEvery {
		s.told = now
		s.log.Warn("new connections are closed, since the file descriptors are kept for the store; this line comes once a minute at most",
			"used", u.Used, "limit", u.Limit, "kept", u.Kept, "raise", badgerdb.RaiseDescriptors)
	}
}
