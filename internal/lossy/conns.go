package lossy

import (
	"net"
	"sync"
)

// conns are the connections of clients, by their remote address.
type conns struct{ open sync.Map }

// close closes a connection, as a network does that breaks.
func (c *conns) close(remote net.Addr) {
	if conn, ok := c.open.Load(remote.String()); ok {
		_ = conn.(*tracked).Conn.Close() // it is to be gone, and it is
	}
}

// listener notes the connections that it accepts.
type listener struct {
	net.Listener
	conns *conns
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	t := &tracked{Conn: conn, conns: l.conns}
	l.conns.open.Store(conn.RemoteAddr().String(), t)
	return t, nil
}

// tracked is a connection that is forgotten once it is closed.
type tracked struct {
	net.Conn
	conns *conns
}

func (t *tracked) Close() error {
	t.conns.open.Delete(t.RemoteAddr().String())
	return t.Conn.Close()
}
