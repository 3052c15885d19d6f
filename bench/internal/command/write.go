package command

import (
	"errors"
	"io"
	"os"
)

// write makes a file of what f writes.
func write(name string, f func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(f(file), file.Close())
}
