//go:build race

package race

// Enabled says whether the race detector is there.
const Enabled = true
