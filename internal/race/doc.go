// Package race says whether the program was built with the race detector, as tests are: where it costs little, what should
// never happen is then looked for.
package race
