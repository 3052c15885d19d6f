package tarn

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/tarn-dev/tarn/internal/mirror"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
	"github.com/tarn-dev/tarn/wire"
)

// pathReader returns the values that a path leads to in an object.
type pathReader func(*object.Object) ([]string, error)

// pathsOf returns what compiles paths for objects of type of: against the type's tags where it is a struct, so that a
// wrong path is an error, else for JSON. A path to what is not kept is an error, too.
func pathsOf(of reflect.Type, thin *thinning) func(string) (pathReader, error) {
	compile := compiler(of)
	return func(path string) (pathReader, error) {
		p, err := compile(path)
		if err == nil {
			err = thin.check(p)
		}
		if err != nil {
			return nil, err
		}
		return func(o *object.Object) ([]string, error) { return readPath(p, of, o) }, nil
	}
}

// readPath reads a path from the encoded bytes; from the value where there are none, or where they hold what only the
// full decoder can judge.
func readPath(p *wire.Path, of reflect.Type, o *object.Object) ([]string, error) {
	if o.Encoding != object.None {
		values, err := p.Strings(o.Encoding, o.Raw)
		if !errors.Is(err, wire.ErrUnusual) {
			return values, err
		}
	}
	v, err := o.View()
	if err != nil {
		return nil, err
	}
	if t := reflect.TypeOf(v); t != of && of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Struct && !isEncoded(of) {
		return nil, fmt.Errorf("%s cannot be read from a %s", p, t)
	}
	return p.FromValue(v)
}

// indexers returns the index functions by the names they have in the mirror, and those names by the user's.
func (c *config) indexers(t, of reflect.Type, thin *thinning) (names map[string]string, indexers store.Indexers, err error) {
	names, indexers = map[string]string{}, store.Indexers{}
	compile := pathsOf(of, thin)
	for _, ix := range c.indexes {
		if ix.name == "" {
			return nil, nil, errors.New("an index has no name")
		}
		if _, ok := names[ix.name]; ok {
			return nil, nil, fmt.Errorf("index %q: %w", ix.name, store.ErrIndexExists)
		}
		var internal string
		var fn store.IndexFunc
		switch {
		case ix.fn != nil:
			if err := ix.fn.fits(t); err != nil {
				return nil, nil, err
			}
			internal, fn = fmt.Sprintf("func %d %s", indexCount.Add(1), ix.name), ix.fn.index
		case ix.label != "":
			label := ix.label
			internal, fn = "label "+label, func(o *object.Object) ([]string, error) {
				if v, ok := o.Labels.Lookup(label); ok {
					return []string{v}, nil
				}
				return nil, nil
			}
		case ix.path == "":
			return nil, nil, fmt.Errorf("index %q: neither function, label nor path", ix.name)
		default:
			read, err := compile(ix.path)
			if err != nil {
				return nil, nil, fmt.Errorf("index %q: %w", ix.name, err)
			}
			internal, fn = "path "+ix.path, store.IndexFunc(read)
		}
		names[ix.name], indexers[internal] = internal, fn
	}
	return names, indexers, nil
}

// addIndexers adds indexes to a mirror. Those by path and label are the same whoever adds them; the others have names of
// their own.
func addIndexers(m *mirror.Mirror, indexers store.Indexers) error {
	for name, fn := range indexers {
		if err := m.AddIndexers(store.Indexers{name: fn}); err != nil && !errors.Is(err, store.ErrIndexExists) {
			return err
		}
	}
	return nil
}

// AddIndexes adds indexes at any time, also while the informer runs: what is stored already appears in them when
// AddIndexes returns. It takes [IndexField], [IndexLabel] and [IndexFunc]; other options, a wrong path and a name that
// exists already (store.ErrIndexExists) are errors, and then nothing is added.
func (i *Informer[T]) AddIndexes(options ...Option) error {
	var c config
	apply(&c, options)
	wanted := c.indexes
	if c.indexes = nil; !reflect.DeepEqual(c, config{}) {
		return fmt.Errorf("%s: add indexes: only IndexField, IndexLabel and IndexFunc can be given here", i.name)
	}
	c.indexes = wanted
	added, indexers, err := c.indexers(i.valueType(), i.of, i.thin)
	if err != nil {
		return fmt.Errorf("%s: add indexes: %w", i.name, err)
	}
	i.adding.Lock()
	defer i.adding.Unlock()
	all := maps.Clone(*i.indexes.Load())
	for name, internal := range added {
		if _, ok := all[name]; ok {
			return fmt.Errorf("%s: add index %q: %w", i.name, name, store.ErrIndexExists)
		}
		all[name] = internal
	}
	if err := addIndexers(i.mirror, indexers); err != nil {
		return fmt.Errorf("%s: add indexes: %w", i.name, err)
	}
	i.indexes.Store(&all)
	return nil
}
