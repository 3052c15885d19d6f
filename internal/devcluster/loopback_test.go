//go:build devcluster && linux

package devcluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarn-dev/tarn/internal/devcluster"
)

// Ensure that the process listens on 127.0.0.1 and on no other address, TCP and UDP, IPv4 and IPv6.
func TestCluster_ListensOnLoopbackOnly(t *testing.T) {
	pid := devcluster.Shared(t).PID()
	// What the process has open: links like socket:[12345].
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for _, fd := range fds {
		to, _ := os.Readlink(fd)
		if inode, ok := strings.CutPrefix(to, "socket:["); ok {
			own[strings.TrimSuffix(inode, "]")] = true
		}
	}
	listening := 0
	// The state of a socket that waits for others: LISTEN for TCP, unconnected for UDP.
	for table, state := range map[string]string{"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"} {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if os.IsNotExist(err) {
			continue // a kernel without IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			f := strings.Fields(line) // sl local remote state ... inode
			if len(f) < 10 || f[3] != state || !own[f[9]] {
				continue
			}
			listening++
			if !strings.HasPrefix(f[1], "0100007F:") {
				t.Errorf("%s: listens on %s", table, f[1])
			}
		}
	}
	if listening != 3 {
		t.Errorf("%d listening sockets, want 3: kube-apiserver, etcd for clients, etcd for peers", listening)
	}
}
