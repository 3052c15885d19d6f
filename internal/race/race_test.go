package race_test

import (
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/internal/race"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Ensures that it says what the program was built with.
func TestEnabled(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("no build info")
	}
	built := false
	for _, s := range info.Settings {
		built = built || s.Key == "-race" && s.Value == "true"
	}
	if race.Enabled != built {
		t.Errorf("Enabled is %t, built with -race: %t", race.Enabled, built)
	}
}
