// Package reflector keeps a sink in step with a source.
package reflector
