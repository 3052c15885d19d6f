//go:build !race

package tarn_test

// crowdSize is the number of pods in tests of memory.
const crowdSize = 10_000
