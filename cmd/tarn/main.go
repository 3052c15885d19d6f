// Command tarn shows what changes in a Kubernetes cluster, field by field: see "tarn watch --help".
package main

import (
	"os"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/command"
)

func main() { os.Exit(command.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
