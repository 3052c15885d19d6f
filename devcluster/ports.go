package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// loopback is the only address that anything here listens on.
const loopback = "127.0.0.1"

// Free ports are taken from below the range that systems hand out by themselves (32768 and up on Linux): a port from
// there could become the local end of somebody's connection while the server that owns it restarts.
const firstPort, lastPort = 20000, 32767

// choosePort returns the given port, or a free one where it is 0. That nobody takes it before it is listened on is
// likely, not certain.
func choosePort(given int) (int, error) {
	if given != 0 {
		return given, tryPort(given)
	}
	var err error
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if err = tryPort(port); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port found: %w", err)
}

// tryPort reports why the port cannot be listened on; nil where it can.
func tryPort(port int) error {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return err
	}
	return l.Close()
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }
