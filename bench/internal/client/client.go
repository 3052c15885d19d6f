// Package client has the libraries that are compared, each behind the same interface, so that the same phases run on all.
package client

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/internal/workload"
)

// Copy is a local copy of a collection, in step with a server. Get and the rest may be called once the sink has seen all
// objects, also by the handler.
type Copy interface {
	// Run keeps the copy in step, with the sink as its handler, until ctx ends.
	Run(ctx context.Context) error
	// Get returns an object that the caller may change.
	Get(key string) (any, error)
	// View returns an object that is shared with others, where the library has such.
	View(key string) (any, error)
	// List reads the objects that the selector matches, as the library's users do, and returns how many.
	List(selector labels.Selector) (int, error)
	// ByIndex reads up to limit objects (0: all) whose label [IndexLabel] has the value, and returns how many.
	ByIndex(value string, limit int) (int, error)
}

// IndexLabel is what copies are indexed by, where an index is asked for: siblings share it.
const IndexLabel = "app.kubernetes.io/instance"

const indexName = "instance"

// Options says what a copy is of.
type Options struct {
	// Config is the server's; it is copied.
	Config *rest.Config
	// Kind is what is read, Objects how many there are.
	Kind    workload.Kind
	Objects int
	// Index asks for an index by [IndexLabel].
	Index bool
	// Sink is the handler.
	Sink *Sink
}

// The names of the clients. Empty is none: what the program itself costs.
const (
	ClientGo          = "client-go"
	ClientGoStrip     = "client-go-strip"
	ClientGoDynamic   = "client-go-dynamic"
	ControllerRuntime = "controller-runtime"
	StateDB           = "statedb"
	TarnLive          = "tarn-live"
	TarnLean          = "tarn-lean"
	LimitRead         = "limit-read"
	LimitWalk         = "limit-walk"
	Empty             = "empty"
)

var makers = []struct {
	name string
	make func(Options) (Copy, error)
}{
	{Empty, nil},
	{ClientGo, newTyped},
	{ClientGoStrip, newStripping},
	{ClientGoDynamic, newDynamic},
	{ControllerRuntime, newControllerRuntime},
	{StateDB, newStateDB},
	{TarnLive, newTarnLive},
	{TarnLean, newTarnLean},
	{LimitRead, newLimitRead},
	{LimitWalk, newLimitWalk},
}

// Names returns the names of all clients, in the order of tables.
func Names() []string {
	var names []string
	for _, m := range makers {
		names = append(names, m.name)
	}
	return names
}

// New returns the client of that name, which has not begun; nil for [Empty].
func New(name string, o Options) (Copy, error) {
	for _, m := range makers {
		if m.name != name {
			continue
		}
		if m.make == nil {
			return nil, nil
		}
		c, err := m.make(o)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return c, nil
	}
	return nil, fmt.Errorf("no client %q (there are: %q)", name, Names())
}

// NeedsJSON reports whether the client reads the kind in JSON.
func NeedsJSON(name string, kind workload.Kind) bool {
	return kind == workload.CustomObjects || name == ClientGoDynamic
}

// Reads reports whether the client has something to read from.
func Reads(name string) bool { return !slices.Contains([]string{Empty, LimitRead, LimitWalk}, name) }
