//go:build race

package store

// checksums says whether the lean layout checks that what is read back is what was stored: where tests run.
const checksums = true
