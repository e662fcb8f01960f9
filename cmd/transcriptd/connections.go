package main

import (
	"log/slog"
	"net"
	"time"

	"github.com/transcriptd/transcriptd/chainstore"
	"github.com/transcriptd/transcriptd/chainstore/badgerstore"
	"github.com/transcriptd/transcriptd/internal/badgerdb"
)

// sparing is a listener that closes new connections at once while hardly more file descriptors are left than the store needs to
// write, so that connections, however many, do not end writing. Clients try again. Accept belongs to one goroutine.
type sparing struct {
	net.Listener
	usage func() badgerdb.Usage
	log   *slog.Logger
	// told is when the log was told last.
	told time.Time
}

// closedToldEvery is how often the log is told that connections are closed.
const closedToldEvery = time.Minute

// spare makes a listener leave the store the descriptors that it needs; one in memory needs none.
func spare(l net.Listener, store chainstore.Store, log *slog.Logger) net.Listener {
	if s, ok := store.(*badgerstore.Store); ok {
		return &sparing{Listener: l, usage: s.Descriptors, log: log}
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
		if u.Left() >= u.Kept+min(100, u.Limit/16) {
			return conn, nil
		}
		_ = conn.Close()
		s.tell(u)
	}
}

func (s *sparing) tell(u badgerdb.Usage) {
	if now := time.Now(); now.Sub(s.told) >= closedToldEvery {
		s.told = now
		s.log.Warn("new connections are closed, since the file descriptors are kept for the store; this line comes once a minute at most",
			"used", u.Used, "limit", u.Limit, "kept", u.Kept, "raise", badgerdb.RaiseDescriptors)
	}
}
