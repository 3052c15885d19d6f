package queue_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tarn-dev/tarn/queue"
)

// model is the DeltaFIFO of the documentation, written for clarity: one goroutine, one slice.
type model struct {
	known map[string]pod
	items map[string]deltas
	line  []string
	// running is being processed; what happens to it meanwhile waits in later.
	running string
	later   []func()
	// requeued says that the item was put back and nothing has arrived behind it.
	requeued bool
	// initial are the keys of the first Replace that are not processed.
	populated  bool
	initial    map[string]bool
	wasInitial bool
}

func newModel() *model {
	return &model{known: map[string]pod{}, items: map[string]deltas{}, initial: map[string]bool{}}
}

func (m *model) join(key string) {
	if !slices.Contains(m.line, key) {
		m.line = append(m.line, key)
	}
}

// on does something to a key now, or when its process has returned.
func (m *model) on(key string, do func()) {
	if key == m.running {
		m.join(key)
		m.later = append(m.later, do)
		return
	}
	do()
	if len(m.items[key]) > 0 {
		m.join(key)
	}
}

func (m *model) push(d delta) {
	ds := m.items[d.Key]
	if n := len(ds); n > 0 && d.Type == queue.Deleted && ds[n-1].Type == queue.Deleted {
		if d.FinalStateUnknown && (!ds[n-1].FinalStateUnknown || d.NoObject) {
			return
		}
		ds = ds[:n-1]
	}
	m.items[d.Key] = append(ds, d)
}

func (m *model) remove(d delta) {
	_, known := m.known[d.Key]
	if !known && len(m.items[d.Key]) == 0 {
		return
	}
	if d.NoObject {
		objects := []pod{}
		if p, ok := m.known[d.Key]; ok {
			objects = append(objects, p)
		}
		for _, older := range m.items[d.Key] {
			if !older.NoObject {
				objects = append(objects, older.Object)
			}
		}
		if n := len(objects); n > 0 {
			d.Object, d.NoObject = objects[n-1], false
		}
	}
	m.push(d)
}

func (m *model) change(d delta) {
	m.populated = true
	m.on(d.Key, func() {
		if d.Type == queue.Deleted {
			m.remove(d)
		} else {
			m.push(d)
		}
	})
}

func (m *model) addIfNotPresent(ds deltas) {
	m.populated = true
	m.on(ds[0].Key, func() {
		// An item that comes back was not pending when this was put in.
		if len(m.items[ds[0].Key]) == 0 || m.requeued {
			for _, d := range ds {
				m.push(d)
			}
		}
	})
}

func (m *model) replace(list []pod) {
	listed := map[string]bool{}
	for _, p := range list {
		listed[p.name] = true
		m.on(p.name, func() { m.push(delta{Type: queue.Replaced, Key: p.name, Object: p}) })
	}
	keys := []string{m.running}
	for key := range m.items {
		keys = append(keys, key)
	}
	slices.Sort(keys[1:])
	known := []string{}
	for key := range m.known {
		known = append(known, key)
	}
	slices.Sort(known)
	seen := map[string]bool{"": true}
	for _, key := range append(keys, known...) {
		if !listed[key] && !seen[key] {
			m.on(key, func() { m.remove(delta{Type: queue.Deleted, Key: key, FinalStateUnknown: true, NoObject: true}) })
		}
		seen[key] = true
	}
	if !m.populated {
		m.populated = true
		for key, ds := range m.items {
			if len(ds) > 0 {
				m.initial[key] = true
			}
		}
		if m.running != "" {
			m.initial[m.running] = true
		}
	}
}

func (m *model) resync() {
	keys := []string{}
	for key := range m.known {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if len(m.items[key]) == 0 && key != m.running {
			p := m.known[key]
			m.on(key, func() { m.push(delta{Type: queue.Sync, Key: key, Object: p}) })
		}
	}
}

// pop returns the next item, or nil; the caller then calls done.
func (m *model) pop() deltas {
	for i, key := range m.line {
		if item := m.items[key]; len(item) > 0 {
			m.line = slices.Clone(m.line[i+1:])
			delete(m.items, key)
			m.running, m.wasInitial = key, m.initial[key]
			return item
		}
	}
	return nil
}

// done ends a pop; back is what is put back.
func (m *model) done(back deltas) {
	key, later := m.running, m.later
	m.running, m.later = "", nil
	if len(back) > 0 {
		m.items[key] = slices.Clone(back)
		m.join(key)
	} else if m.wasInitial {
		delete(m.initial, key)
	}
	m.requeued = len(back) > 0
	for _, do := range later {
		do()
		m.requeued = false
	}
	m.requeued = false
	if len(m.items[key]) == 0 {
		delete(m.initial, key)
	}
}

func (m *model) synced() bool { return m.populated && len(m.initial) == 0 }

// random does one random mutation to queue and model.
func random(t *testing.T, r *rand.Rand, q *queue.DeltaFIFO[pod], m *model, version int) string {
	name := func() string { return string(rune('a' + r.IntN(5))) }
	p := pod{name(), version}
	// Half of what happens while a key is processed happens to that key.
	if m.running != "" && r.IntN(2) == 0 {
		p.name = m.running
	}
	switch r.IntN(11) {
	case 0, 1:
		must(t, q.Add(p))
		m.change(delta{Type: queue.Added, Key: p.name, Object: p})
		return fmt.Sprint("Add ", p)
	case 2:
		must(t, q.Update(p))
		m.change(delta{Type: queue.Updated, Key: p.name, Object: p})
		return fmt.Sprint("Update ", p)
	case 3, 4:
		must(t, q.Delete(p))
		m.change(delta{Type: queue.Deleted, Key: p.name, Object: p})
		return fmt.Sprint("Delete ", p)
	case 5:
		must(t, q.DeleteKey(p.name))
		m.change(delta{Type: queue.Deleted, Key: p.name, FinalStateUnknown: true, NoObject: true})
		return fmt.Sprint("DeleteKey ", p.name)
	case 6:
		must(t, q.DeleteTombstone(p.name, p))
		m.change(delta{Type: queue.Deleted, Key: p.name, FinalStateUnknown: true, Object: p})
		return fmt.Sprint("DeleteTombstone ", p)
	case 7:
		ds := deltas{{Type: queue.Updated, Key: p.name, Object: p}}
		if r.IntN(2) == 0 {
			ds = append(ds, delta{Type: queue.Deleted, Key: p.name, Object: p})
		}
		must(t, q.AddIfNotPresent(ds))
		m.addIfNotPresent(ds)
		return fmt.Sprint("AddIfNotPresent ", show(ds))
	case 8, 9:
		var list []pod
		for range r.IntN(5) {
			list = append(list, pod{name(), version})
		}
		must(t, q.Replace(list, ""))
		m.replace(list)
		return fmt.Sprint("Replace ", list)
	default:
		must(t, q.Resync())
		m.resync()
		return "Resync"
	}
}

func TestDeltaFIFO_Model(t *testing.T) {
	// Random sequences of calls, from outside and while process runs, give what a plain model of the semantics gives: the
	// items popped and their order, what is pending, the initial list and HasSynced.
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, m := newStore(), newModel()
		for i := range r.IntN(4) {
			p := pod{string(rune('a' + i)), 1}
			s.pods[p.name], m.known[p.name] = p, p
		}
		q := newDelta(queue.Options[pod]{KnownObjects: s})
		var log []string
		version := 1
		mutate := func(n int) {
			for range n {
				version++
				log = append(log, random(t, r, q, m, version))
			}
		}
		mutate(r.IntN(4))
		for range 12 {
			check(t, seed, log, q, m)
			item := m.pop()
			if item == nil {
				mutate(1 + r.IntN(3))
				continue
			}
			log = append(log, "Pop "+show(item))
			outcome := r.IntN(4)
			back := deltas(nil)
			popOne(q, func(got deltas, initial bool) error {
				if show(got) != show(item) || initial != m.wasInitial {
					t.Fatalf("seed %d, after %q: popped %s, initial %v, want %s, %v", seed, log, show(got), initial, show(item), m.wasInitial)
				}
				mutate(r.IntN(3))
				if outcome > 0 { // apply some of it, or all
					n := len(item)
					if outcome == 1 {
						n = r.IntN(n + 1)
					}
					must(t, s.apply(item[:n], initial))
					m.known = maps.Clone(s.pods)
					if outcome == 1 {
						back = item[n:]
						mutate(r.IntN(3))
						log = append(log, fmt.Sprint("requeue without the first ", n))
						return queue.ErrRequeue{Applied: n}
					}
				}
				mutate(r.IntN(3))
				log = append(log, fmt.Sprint("outcome ", outcome))
				switch r.IntN(4) {
				case 0:
					return errors.New("failed")
				case 1:
					panic(errOnPurpose)
				}
				return nil
			})
			m.done(back)
			mutate(r.IntN(3))
		}
	}
}

// popOne pops once and swallows the panics that the test makes.
func popOne(q *queue.DeltaFIFO[pod], process queue.ProcessFunc[deltas]) {
	defer func() {
		if p := recover(); p != nil && p != errOnPurpose {
			panic(p)
		}
	}()
	_, _ = q.Pop(process)
}

var errOnPurpose = errors.New("a panic on purpose")

func check(t *testing.T, seed uint64, log []string, q *queue.DeltaFIFO[pod], m *model) {
	t.Helper()
	want := []string{}
	for key, ds := range m.items {
		if len(ds) > 0 {
			want = append(want, key)
		}
		got, exists, _ := q.GetByKey(key)
		if show(got) != show(ds) || exists != (len(ds) > 0) {
			t.Fatalf("seed %d, after %q: %s holds %s, want %s", seed, log, key, show(got), show(ds))
		}
	}
	if got := sorted(q.ListKeys()); !slices.Equal(got, sorted(want)) {
		t.Fatalf("seed %d, after %q: keys %v, want %v", seed, log, got, want)
	}
	if q.HasSynced() != m.synced() {
		t.Fatalf("seed %d, after %q: HasSynced %v", seed, log, q.HasSynced())
	}
}
