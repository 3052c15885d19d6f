package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// dataDir is the folder with everything that a control plane keeps. It belongs to one process at a time.
type dataDir struct {
	path      string
	temporary bool
	lock      *os.File
}

// openDataDir opens the folder, or makes a temporary one where path is empty.
func openDataDir(path string) (*dataDir, error) {
	d := &dataDir{path: path, temporary: path == ""}
	if d.temporary {
		tmp, err := os.MkdirTemp("", "devcluster-")
		if err != nil {
			return nil, err
		}
		d.path = tmp
	}
	abs, err := filepath.Abs(d.path)
	if err != nil {
		return nil, err
	}
	d.path = abs
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return nil, err
	}
	d.lock, err = os.OpenFile(d.file("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%s is in use by another devcluster", d.path)
	}
	return d, err
}

// file returns the path of a file in the folder.
func (d *dataDir) file(name string) string { return filepath.Join(d.path, name) }

// close gives the folder back; a temporary one is removed.
func (d *dataDir) close() error {
	var err error
	if d.temporary {
		err = os.RemoveAll(d.path)
	}
	return errors.Join(err, d.lock.Close())
}
