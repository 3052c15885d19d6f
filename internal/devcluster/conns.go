package devcluster

import (
	"context"
	"net"
	"sync"
)

// conns dials, and knows every connection that is open: so that they can be cut, and that nothing is left of them when the
// cluster ends (client-go never closes the transports that it shares).
type conns struct {
	mu   sync.Mutex
	open map[*conn]struct{}
}

// conn is a connection that is forgotten when it closes.
type conn struct {
	net.Conn
	of *conns
}

func (c *conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func (cs *conns) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	raw, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{raw, cs}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.open == nil {
		cs.open = map[*conn]struct{}{}
	}
	cs.open[c] = struct{}{}
	return c, nil
}

// cut closes all connections and returns how many there were.
func (cs *conns) cut() int {
	cs.mu.Lock()
	open := cs.open
	cs.open = nil
	cs.mu.Unlock()
	for c := range open {
		_ = c.Conn.Close()
	}
	return len(open)
}
