//go:build race

package tarn_test

// crowdSize is smaller where everything takes ten times as long.
const crowdSize = 3_000
