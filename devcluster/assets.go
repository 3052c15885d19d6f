package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// The names under which this program is another one.
const (
	etcdName      = "etcd"
	apiserverName = "kube-apiserver"
)

// assets links this program into a folder under both names.
func assets(args []string) error {
	if len(args) != 1 || args[0] == "" || args[0][0] == '-' {
		return errors.New("usage: devcluster assets DIR")
	}
	dir, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// The name under .build may itself be a link; the file behind it is what should stay.
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{etcdName, apiserverName} {
		if err := link(self, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	fmt.Println(dir)
	return nil
}

// link makes path a name of the file. A hard link outlives a rebuild that removes the file; between two file systems
// there is only the symbolic one.
func link(file, path string) error {
	tmp := path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if os.Link(file, tmp) != nil {
		if err := os.Symlink(file, tmp); err != nil {
			return err
		}
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	// Renaming one name of a file to another of the same file does nothing, and leaves both.
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
