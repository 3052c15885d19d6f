package reflector

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

const (
	module  = "github.com/tarn-dev/tarn"
	unnamed = "reflector"
)

// callerName returns "folder/file.go:line" of the innermost caller that is not in the library itself.
func callerName() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		frame, more := frames.Next()
		if frame.File != "" && !isLibrary(frame) {
			return fmt.Sprintf("%s/%s:%d", path.Base(path.Dir(frame.File)), path.Base(frame.File), frame.Line)
		}
		if !more {
			return unnamed
		}
	}
}

// isLibrary reports whether the frame is in a package of the library. Its tests and the commands and examples beside it
// are users of it.
func isLibrary(frame runtime.Frame) bool {
	rest, ok := strings.CutPrefix(frame.Function, module)
	if !ok || strings.HasSuffix(frame.File, "_test.go") {
		return false
	}
	for _, user := range []string{"/cmd/", "/examples/", "/bench/"} {
		if strings.HasPrefix(rest, user) {
			return false
		}
	}
	return strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/")
}
