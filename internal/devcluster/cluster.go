// Package devcluster starts the devcluster binary, a real etcd and a real kube-apiserver in one process on loopback, as a
// child process: for tests that need a server, and for the demo.
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(devcluster.Sharing(m)) }
//
//	func TestX(t *testing.T) {
//		cluster := devcluster.Shared(t) // one for the package; devcluster.Start(t) starts one for the test alone
//		client, err := kubernetes.NewForConfig(cluster.Config())
//
// The binary is built by `make devcluster`; see [Find]. Tests that need it stand under the build tag devcluster.
package devcluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startLimit is how long a start may take on a busy machine; on an idle one it takes three seconds.
const startLimit = 2 * time.Minute

// Cluster is a running control plane. Its methods may be called concurrently, except that Stop, Resume, Restart and Close
// exclude one another and affect whoever uses the server.
type Cluster struct {
	binary string
	set    settings
	// ownDir is the temporary data folder, if there is one.
	ownDir string
	conns  conns
	config *rest.Config
	// said is what the first start printed; it stays true, since every later one has the same ports and files.
	said map[string]string

	mu   sync.Mutex
	proc *process // nil while stopped
}

// Start starts a cluster that ends with the test. It fails the test where that is not possible.
func Start(t testing.TB, opts ...Option) *Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	c, err := New(ctx, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// New starts a cluster and waits until it is ready. ctx bounds the waiting, not the life of the cluster, which lasts until
// Close or until this process ends, in whatever way.
func New(ctx context.Context, opts ...Option) (*Cluster, error) {
	binary, err := Find()
	if err != nil {
		return nil, err
	}
	c := &Cluster{binary: binary}
	for _, o := range opts {
		o(&c.set)
	}
	if c.set.dataDir == "" {
		if c.ownDir, err = os.MkdirTemp("", "devcluster-"); err != nil {
			return nil, err
		}
		c.set.dataDir = c.ownDir
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// start starts the process: with new credentials on free ports the first time, with the same ones afterwards.
func (c *Cluster) start(ctx context.Context) error {
	args := append([]string{"--exit-with-stdin", "--data-dir=" + c.set.dataDir}, c.set.flags...)
	if c.said != nil {
		args = append(args, "--keep-credentials", "--secure-port="+port(c.said["server"]), "--etcd-port="+port(c.said["etcd"]))
	}
	args = append(append(args, "--"), c.set.extra...)
	p, err := startProcess(ctx, c.binary, args, c.set.output)
	if err != nil {
		return fmt.Errorf("start devcluster: %w", err)
	}
	c.proc = p
	if c.said != nil {
		return nil
	}
	c.said = p.said
	c.config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return err
	}
	c.config.Dial = c.conns.dial
	c.config.QPS = -1 // no limit on this side: tests want to be fast, and the server has its own
	return nil
}

func port(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Port()
}

// Config returns a new copy of the configuration of an administrator's client. It stays valid over restarts. Connections made
// with it are cut by [Cluster.Disconnect] and [Cluster.Close]; the transports that client-go keeps need no closing.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// Kubeconfig returns the path of the kubeconfig file.
func (c *Cluster) Kubeconfig() string { return c.said["kubeconfig"] }

// EtcdURL returns the client URL of etcd: plain HTTP, no authentication.
func (c *Cluster) EtcdURL() string { return c.said["etcd"] }

// DataDir returns the folder with the cluster's state, and with devcluster.log, the log of both servers.
func (c *Cluster) DataDir() string { return c.set.dataDir }

// PID returns the id of the process that runs the servers; 0 while the cluster is stopped.
func (c *Cluster) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc == nil {
		return 0
	}
	return c.proc.cmd.Process.Pid
}

// Disconnect cuts every connection made with [Cluster.Config], as a network would, and returns how many there were. The server
// goes on.
func (c *Cluster) Disconnect() int { return c.conns.cut() }

// Stop ends both servers, as SIGTERM does, and keeps their state: the server is gone until Resume. It does nothing where they
// are stopped already.
func (c *Cluster) Stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc == nil {
		return nil
	}
	p := c.proc
	c.proc = nil
	return p.stop()
}

// Resume starts the servers again, with the same ports, credentials and state. It does nothing where they run.
func (c *Cluster) Resume(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.proc != nil {
		return nil
	}
	return c.start(ctx)
}

// Restart is Stop and Resume.
func (c *Cluster) Restart(ctx context.Context) error {
	if err := c.Stop(); err != nil {
		return err
	}
	return c.Resume(ctx)
}

// Close ends the cluster, cuts what is still connected and removes the data folder if it is a temporary one. It may be called
// more than once.
func (c *Cluster) Close() error {
	err := c.Stop()
	c.conns.cut()
	if c.ownDir != "" {
		err = errors.Join(err, os.RemoveAll(c.ownDir))
	}
	return err
}
