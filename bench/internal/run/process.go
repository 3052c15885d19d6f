package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/phase"
)

// Address is where a server is, and what makes it do things.
type Address struct {
	// Server is the URL of the API; Kubeconfig, if set, says it better.
	Server, Kubeconfig string
	// Control is the URL of the requests of package serve.
	Control string
}

// server is a process that serves until it is closed.
type server struct {
	Address
	cmd   *exec.Cmd
	stdin io.Closer // it ends with this: also when we end without a word
}

// serveStep starts a serving process for a step and waits until its collection is made.
func serveStep(ctx context.Context, s Step) (*server, error) {
	json, protobuf := false, false
	for _, name := range s.Run {
		if client.NeedsJSON(name, s.Kind) {
			json = true
		} else {
			protobuf = true
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "serve", "--workload="+s.Name, "--objects="+strconv.Itoa(s.Objects),
		"--burst="+strconv.Itoa(s.Burst), "--drift="+strconv.FormatFloat(s.Drift, 'g', -1, 64), "--seed="+strconv.FormatUint(s.Seed, 10),
		"--json="+strconv.FormatBool(json), "--protobuf="+strconv.FormatBool(protobuf))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &server{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the serving process says nothing: %w", errors.Join(err, p.close()))
	}
	p.Server = strings.TrimSpace(line)
	p.Control = p.Server
	return p, nil
}

func (p *server) close() error {
	p.stdin.Close()
	err := p.cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == -1 {
		return nil // ended by its context
	}
	return err
}

// clientTimeout is after how long a run has failed.
const clientTimeout = 20 * time.Minute

// runClient runs one client in a process of its own.
func runClient(ctx context.Context, s Step, name string, at Address) (phase.Result, error) {
	var result phase.Result
	self, err := os.Executable()
	if err != nil {
		return result, err
	}
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "client", name, "--workload="+s.Name, "--objects="+strconv.Itoa(s.Objects),
		"--burst="+strconv.Itoa(s.Burst), "--server="+at.Server, "--kubeconfig="+at.Kubeconfig, "--control="+at.Control)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return result, fmt.Errorf("%s, %s: %w: %s", s.Name, name, err, strings.TrimSpace(problems.String()))
	}
	if err := json.Unmarshal(out.Bytes(), &result); err != nil {
		return result, fmt.Errorf("%s, %s: %w in %.200q", s.Name, name, err, out.Bytes())
	}
	return result, nil
}
