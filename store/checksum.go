//go:build !race

package store

const checksums = false
