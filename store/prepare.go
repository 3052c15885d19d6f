package store

import (
	"errors"
	"slices"
	"strings"
	"unsafe"

	"github.com/tarn-dev/tarn/object"
)

// Prepared is an object on which everything that runs user code has been done: it only has to be put. It is used for one
// Put in one Write, and can then be used again for another object. The zero value is ready.
type Prepared struct {
	name    []byte // memory for key
	key     string
	handle  handle
	values  []value // sorted
	indexed int     // for how many of the store's indexes values are there
	err     error
	tx      *Txn
}

// Key returns the key that the object will be stored under. It is good until p is used for another object.
func (p *Prepared) Key() string { return p.key }

// Ref returns a reference to the object as it will be stored.
func (p *Prepared) Ref() Ref { return Ref{p.handle} }

// Err returns what went wrong in a tolerant store ([Options.OnError] has been told): nil for a good object.
func (p *Prepared) Err() error { return p.err }

// Prepare does what can be done for obj before the lock is taken: it names it, decodes it where the layout wants that,
// and calls the index functions. The error is the key function's or, in a store that is not tolerant, wraps what failed.
func (s *Store) Prepare(obj *object.Object) (*Prepared, error) {
	p := new(Prepared)
	if err := s.PrepareInto(p, obj); err != nil {
		return nil, err
	}
	return p, nil
}

// PrepareInto is [Store.Prepare] with a Prepared of the caller's. What it was of an earlier object is gone. On an error it
// is of none.
func (s *Store) PrepareInto(p *Prepared, obj *object.Object) error {
	p.Reset()
	key, err := s.opts.key(obj)
	if err != nil {
		return err
	}
	p.key = key
	if obj.Release != nil {
		p.name = append(p.name, key...)
		p.key = unsafe.String(unsafe.SliceData(p.name), len(p.name)) // name does not change before the next Reset
	}
	p.handle, p.err = s.layout.prepare(obj)
	if marked := p.handle.object(); marked != nil {
		obj = marked
	}
	r := s.root.Load()
	p.err = errors.Join(p.err, evaluate(p, obj, r.indexes))
	switch {
	case p.err == nil:
	case s.opts.OnError == nil:
		err := p.err
		p.Reset()
		return err
	case !s.known(r, p):
		s.opts.OnError(p.handle.object(), p.err)
	}
	return nil
}

// Reset makes p the Prepared of no object, so that it keeps none from being freed.
func (p *Prepared) Reset() {
	clear(p.values)
	*p = Prepared{name: p.name[:0], values: p.values[:0]}
}

// Spares holds what objects were prepared in, to be used again. The zero value holds nothing. It is used by one goroutine at
// a time.
type Spares struct{ all []*Prepared }

// Take returns one that was given, or a new one.
func (s *Spares) Take() *Prepared {
	last := len(s.all) - 1
	if last < 0 {
		return new(Prepared)
	}
	p := s.all[last]
	s.all = s.all[:last]
	return p
}

// Give resets the Prepareds, which nobody may use any more, and holds them.
func (s *Spares) Give(used ...*Prepared) {
	for _, p := range used {
		p.Reset()
	}
	s.all = append(s.all, used...)
}

// Hold returns a reference to an object that is not stored, kept as the layout keeps objects.
func (s *Store) Hold(obj *object.Object) Ref {
	h, _ := s.layout.prepare(obj) // what fails is kept, and marked
	return Ref{h}
}

// known reports whether this very version was stored with an error before.
func (s *Store) known(r *root, p *Prepared) bool {
	e, ok := r.entries.Get(p.key)
	return ok && e.handle.err() != nil && e.handle.isVersion(p.handle.object())
}

// refresh evaluates the indexes that were added since p was prepared.
func (s *Store) refresh(p *Prepared, indexes []index) error {
	if p.indexed == len(indexes) {
		return nil
	}
	err := evaluate(p, p.handle.get(), indexes)
	switch {
	case err == nil:
	case s.opts.OnError == nil:
		return err
	default:
		p.err = errors.Join(p.err, err)
		s.opts.OnError(p.handle.object(), err)
	}
	return nil
}

// evaluate calls those of the index functions that p has no values of yet on obj, which is p's object. If some fail, p's
// object is one that is marked with the error that it returns.
func evaluate(p *Prepared, obj *object.Object, indexes []index) error {
	var failed []error
	for i := p.indexed; i < len(indexes); i++ {
		if indexes[i].state == dropped {
			continue
		}
		values, err := appendValues(p.values, obj, p.key, i, indexes[i])
		if err != nil {
			failed = append(failed, err)
			continue
		}
		p.values = values
	}
	p.indexed = len(indexes)
	err := errors.Join(failed...)
	if err != nil {
		p.handle = handleOf(mark(obj.Keep(), err))
	}
	return err
}

// appendValues calls an index function and appends its values, sorted and without duplicates.
func appendValues(dst []value, obj *object.Object, key string, i int, ix index) ([]value, error) {
	texts, err := callIndex(ix.fn, obj)
	if err != nil && obj.Release != nil { // its error may hold a part of what is lent: once more, with what stays
		obj = obj.Keep()
		texts, err = callIndex(ix.fn, obj)
	}
	if err != nil {
		return nil, &IndexError{Index: ix.name, Key: strings.Clone(key), Version: obj.Version, Err: err}
	}
	start := len(dst)
	for _, text := range texts {
		if obj.Release != nil {
			text = strings.Clone(text)
		}
		dst = append(dst, value{i, text})
	}
	slices.SortFunc(dst[start:], value.compare)
	return dst[:start+len(slices.Compact(dst[start:]))], nil
}

// mark returns a copy of obj that carries err besides what it carries already.
func mark(obj *object.Object, err error) *object.Object {
	marked := *obj
	marked.Err = errors.Join(obj.Err, err)
	return &marked
}

// reindex moves key from the postings of the values that its entry has to those of its new ones, which the entry gets.
// Where a value stays, so does its old string, because the new one may share memory with the object that it came from.
func (tx *Txn) reindex(key string, e *entry, values []value) {
	old := e.indexed()
	if slices.Equal(old, values) {
		return
	}
	kept := make([]value, 0, len(values))
	for len(old) > 0 || len(values) > 0 {
		c := 0
		switch {
		case len(old) == 0:
			c = 1
		case len(values) == 0:
			c = -1
		default:
			c = old[0].compare(values[0])
		}
		switch {
		case c == 0:
			kept = append(kept, old[0])
			old, values = old[1:], values[1:]
		case c < 0:
			tx.postings(old[0].index).Delete(posting{old[0].text, key})
			old = old[1:]
		default:
			if tx.indexes[values[0].index].state != dropped {
				kept = append(kept, tx.post(key, values[0]))
			}
			values = values[1:]
		}
	}
	e.values = nil
	if len(kept) > 0 {
		e.values = &kept
	}
}

// post adds a posting. Its string is that of another posting of the same value, if there is one, else a copy.
func (tx *Txn) post(key string, v value) value {
	postings := tx.postings(v.index)
	if p, ok := postings.Ceil(posting{value: v.text}); ok && p.value == v.text {
		v.text = p.value
	} else {
		v.text = strings.Clone(v.text)
	}
	postings.Set(posting{v.text, key}, struct{}{})
	return v
}
