package faultproxy

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// listener hands out connections through which faults can be played. Its address outlives a time of refusing.
type listener struct {
	addr     net.Addr
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
	loops    sync.WaitGroup

	mu      sync.Mutex
	tcp     net.Listener // nil while dials are refused
	conns   map[*conn]struct{}
	swallow bool          // new connections are dead
	delay   time.Duration // before each write towards the client
	rate    int           // bytes per second towards each client; 0 = no limit
}

func listen() (*listener, error) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &listener{
		addr:     tcp.Addr(),
		accepted: make(chan net.Conn),
		closed:   make(chan struct{}),
		conns:    make(map[*conn]struct{}),
	}
	l.serve(tcp)
	return l, nil
}

// serve starts to take connections from tcp.
func (l *listener) serve(tcp net.Listener) {
	l.mu.Lock()
	l.tcp = tcp
	l.mu.Unlock()
	l.loops.Go(func() {
		for {
			nc, err := tcp.Accept()
			if err != nil {
				return
			}
			c := &conn{Conn: nc, l: l, closed: make(chan struct{})}
			l.mu.Lock()
			c.dead = l.swallow
			l.conns[c] = struct{}{}
			l.mu.Unlock()
			select {
			case l.accepted <- c:
			case <-l.closed:
				c.Close()
			}
		}
	})
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return l.addr }

// Close implements [net.Listener].
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	l.refuse()
	l.loops.Wait()
	return nil
}

// refuse makes dials fail until listenAgain.
func (l *listener) refuse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tcp != nil {
		l.tcp.Close()
		l.tcp = nil
	}
}

// listenAgain takes dials again, at the same address.
func (l *listener) listenAgain() error {
	l.mu.Lock()
	listening := l.tcp != nil
	l.mu.Unlock()
	if listening {
		return nil
	}
	tcp, err := net.Listen("tcp", l.addr.String())
	if err != nil {
		return fmt.Errorf("listen again: %w", err)
	}
	l.serve(tcp)
	return nil
}

// cut resets every connection.
func (l *listener) cut() {
	for _, c := range l.open() {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset, not an orderly end; it matters only to how the client's error reads
		}
		c.Close()
	}
}

// blackHole makes every connection dead for good, and new ones too as long as on.
func (l *listener) blackHole(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.swallow = on
	if on {
		for c := range l.conns {
			c.dead = true
		}
	}
}

func (l *listener) slow(delay time.Duration, rate int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay, l.rate = delay, rate
}

func (l *listener) open() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	conns := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	return conns
}

// conn is one client's connection.
type conn struct {
	net.Conn
	l      *listener
	closed chan struct{}
	once   sync.Once
	dead   bool // guarded by l.mu
}

// state returns the faults that are on.
func (c *conn) state() (dead bool, delay time.Duration, rate int) {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	return c.dead, c.l.delay, c.l.rate
}

// Read implements [net.Conn]. What arrives on a dead connection is dropped; deadlines and the client's end still count,
// so that the server's goroutines end.
func (c *conn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if dead, _, _ := c.state(); !dead || err != nil {
			return n, err
		}
	}
}

// Write implements [net.Conn]. What is written to a dead connection counts as written.
func (c *conn) Write(b []byte) (written int, err error) {
	const piece = 4 << 10
	_, delay, rate := c.state()
	if err := c.pause(delay); err != nil {
		return 0, err
	}
	for len(b) > 0 {
		n := len(b)
		if rate > 0 {
			n = min(n, piece)
			if err := c.pause(time.Duration(n) * time.Second / time.Duration(rate)); err != nil {
				return written, err
			}
		}
		if dead, _, _ := c.state(); !dead {
			if n, err = c.Conn.Write(b[:n]); err != nil {
				return written + n, err
			}
		}
		written += n
		b = b[n:]
	}
	return written, nil
}

// pause waits, or less if the connection is closed.
func (c *conn) pause(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.closed:
		return net.ErrClosed
	}
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.l.mu.Lock()
	delete(c.l.conns, c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}
