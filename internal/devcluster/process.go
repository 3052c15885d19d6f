package devcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stopLimit is how long the process may take to end by itself; its own promise is 5 s.
const stopLimit = 8 * time.Second

// process is one run of the binary.
type process struct {
	cmd *exec.Cmd
	// stdin is held open as long as this process lives: the child ends when it closes, however that comes about.
	stdin io.Closer
	// said is what the child printed: "kubeconfig", "server", "etcd".
	said map[string]string
	// exited closes when the child is gone; err is how it ended.
	exited chan struct{}
	err    error
	stderr *tail
}

// startProcess starts the binary and waits until it is ready. ctx bounds the waiting only.
func startProcess(ctx context.Context, binary string, args []string, output io.Writer) (*process, error) {
	p := &process{said: map[string]string{}, exited: make(chan struct{}), stderr: &tail{also: output}}
	p.cmd = exec.Command(binary, args...)
	p.cmd.Stderr = p.stderr
	// Ctrl-C at the terminal is for the parent, which ends the child in its turn.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan struct{})
	go func() {
		defer close(p.exited)
		isReady := false
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			if name == "ready" && !isReady {
				isReady = true
				close(ready)
			}
			if !isReady {
				p.said[name] = value
			}
		}
		p.err = p.cmd.Wait()
	}()
	select {
	case <-ready:
		return p, nil
	case <-p.exited:
		return nil, fmt.Errorf("ended before it was ready (%v):\n%s", p.err, p.stderr)
	case <-ctx.Done():
		err := fmt.Errorf("not ready: %w:\n%s", context.Cause(ctx), p.stderr)
		return nil, errors.Join(err, p.stop())
	}
}

// stop ends the child: politely, and if that does not help within the limit, by force, which is an error. An end that
// came earlier is an error as well.
func (p *process) stop() error {
	select {
	case <-p.exited:
		return fmt.Errorf("devcluster ended by itself (%v):\n%s", p.err, p.stderr)
	default:
	}
	defer p.stdin.Close()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-p.exited:
	case <-limit.C:
		_ = p.cmd.Process.Kill()
		<-p.exited
		return fmt.Errorf("devcluster did not end within %v of SIGTERM", stopLimit)
	}
	if p.err != nil {
		return fmt.Errorf("devcluster ended with %w:\n%s", p.err, p.stderr)
	}
	return nil
}

// tailSize is how much of the child's output is kept for an error message.
const tailSize = 8 << 10

// tail is a writer that keeps the end of what was written.
type tail struct {
	also io.Writer
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - tailSize; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	if t.also != nil {
		return t.also.Write(b)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}
