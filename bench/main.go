// Command bench measures what tarn costs next to client-go's informers and what is built on them: see "bench --help".
package main

import (
	"os"

	"github.com/tarn-dev/tarn/bench/internal/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
