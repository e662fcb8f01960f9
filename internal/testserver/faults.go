package testserver

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Faults says how often, in a thousand, something befalls what a connection carries at once: about a call, or a part of a large one.
type Faults struct {
	// LoseRequest drops a request, LoseReply a reply, and the connection with it.
	LoseRequest, LoseReply int
	// Late ends the caller's connection before a request, which reaches the server up to Delay later.
	Late int
	// Cut delivers the first half of a reply and ends the connection.
	Cut int
	// Stall delivers a reply up to Delay later.
	Stall int
	Delay time.Duration
}

// FaultyNetwork is an address in front of a server, of whose connections some fail. The server can be exchanged.
type FaultyNetwork struct {
	listener net.Listener
	faults   Faults
	// server is where connections go; empty: nowhere, they are ended.
	server atomic.Pointer[string]
	// Lost, Late, Cut and Stalled count what befell.
	Lost, Late, Cut, Stalled atomic.Int64

	mu     sync.Mutex
	random *rand.Rand
	open   map[net.Conn]bool
	done   chan struct{}
	pumps  sync.WaitGroup
}

// NewFaultyNetwork serves until the test ends.
func NewFaultyNetwork(tb testing.TB, seed uint64, faults Faults) *FaultyNetwork {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	n := &FaultyNetwork{
		listener: l, faults: faults, random: rand.New(rand.NewPCG(seed, 1)), open: map[net.Conn]bool{}, done: make(chan struct{}),
	}
	n.pumps.Go(n.accept)
	tb.Cleanup(n.close)
	return n
}

// Addr is where clients connect to.
func (n *FaultyNetwork) Addr() string { return n.listener.Addr().String() }

// Lead leads further connections to a server; empty: to none.
func (n *FaultyNetwork) Lead(addr string) { n.server.Store(&addr) }

func (n *FaultyNetwork) close() {
	close(n.done)
	_ = n.listener.Close()
	n.mu.Lock()
	for c := range n.open {
		_ = c.Close()
	}
	n.mu.Unlock()
	n.pumps.Wait()
}

// hold notes an open connection; false: the network is closed.
func (n *FaultyNetwork) hold(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.done:
		_ = c.Close()
		return false
	default:
		n.open[c] = true
		return true
	}
}

func (n *FaultyNetwork) drop(c net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
	_ = c.Close()
}

func (n *FaultyNetwork) accept() {
	for {
		caller, err := n.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			n.pumps.Go(func() { n.serve(caller) })
		}
	}
}

// serve carries what one connection carries, until it ends.
func (n *FaultyNetwork) serve(caller net.Conn) {
	if !n.hold(caller) {
		return
	}
	defer n.drop(caller)
	addr := n.server.Load()
	if addr == nil || *addr == "" {
		return
	}
	server, err := net.Dial("tcp", *addr)
	if err != nil || !n.hold(server) {
		return
	}
	defer n.drop(server)
	replies := make(chan struct{})
	n.pumps.Go(func() {
		defer close(replies)
		n.replies(caller, server)
	})
	n.requests(caller, server)
	_ = server.Close()
	<-replies
}

// befalls draws whether a fault befalls.
func (n *FaultyNetwork) befalls(perThousand int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.random.IntN(1000) < perThousand
}

// delay waits for a while that is drawn.
func (n *FaultyNetwork) delay() {
	n.mu.Lock()
	d := time.Duration(n.random.Int64N(int64(n.faults.Delay) + 1))
	n.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-n.done:
	}
}

func (n *FaultyNetwork) requests(caller, server net.Conn) {
	defer func() { _ = caller.Close() }()
	for b := make([]byte, 64<<10); ; {
		size, err := caller.Read(b)
		if err != nil {
			return
		}
		switch {
		case n.befalls(n.faults.LoseRequest):
			n.Lost.Add(1)
			return
		case n.befalls(n.faults.Late):
			n.Late.Add(1)
			_ = caller.Close()
			n.delay()
			_, _ = server.Write(b[:size])
			n.delay() // the server carries it out before its connection ends
			return
		}
		if _, err := server.Write(b[:size]); err != nil {
			return
		}
	}
}

func (n *FaultyNetwork) replies(caller, server net.Conn) {
	defer func() { _ = caller.Close() }()
	for b := make([]byte, 64<<10); ; {
		size, err := server.Read(b)
		if err != nil {
			return
		}
		switch {
		case n.befalls(n.faults.LoseReply):
			n.Lost.Add(1)
			return
		case n.befalls(n.faults.Cut):
			n.Cut.Add(1)
			_, _ = caller.Write(b[:size/2])
			return
		case n.befalls(n.faults.Stall):
			n.Stalled.Add(1)
			n.delay()
		}
		if _, err := caller.Write(b[:size]); err != nil {
			return
		}
	}
}
