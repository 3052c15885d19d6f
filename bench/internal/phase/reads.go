package phase

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/measure"
)

const (
	samples  = 400 // of each kind of read
	perBatch = 16  // reads that are timed together, as a clock costs as much as the shortest read
	hot      = 64  // objects that are read again and again
)

// reads is a workload of reading in every way there is.
func (s *subject) reads() error {
	if err := s.heap(); err != nil {
		return err
	}
	keys := slices.Clone(s.sink.Keys())
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	selector, values, err := s.choose(keys)
	if err != nil {
		return err
	}
	few := keys[:min(hot, len(keys))]
	get := func(key string) error { _, err := s.copy.Get(key); return err }
	view := func(key string) error { _, err := s.copy.View(key); return err }
	for _, p := range []struct {
		phase, metric string
		keys          []string
		read          func(string) error
	}{{"get", GetP50, keys, get}, {"get-hot", GetP50, few, get}, {"view", ViewP50, keys, view}, {"view-hot", ViewP50, few, view}} {
		if err := s.p50(p.phase, p.metric, p.keys, p.read); err != nil {
			return err
		}
	}
	if f, ok := s.copy.(interface {
		Field(key, path string) ([]string, error)
	}); ok {
		field := func(key string) error { _, err := f.Field(key, "status.phase"); return err }
		if err := s.p50("field", GetP50, keys, field); err != nil {
			return err
		}
	}
	if err := s.unmarshal(keys); err != nil {
		return err
	}
	for _, l := range []struct {
		phase string
		times int
		list  func(n int) error
	}{
		{"list", 2, func(int) error { _, err := s.copy.List(labels.Everything()); return err }},
		{"selector", 20, func(int) error { _, err := s.copy.List(selector); return err }},
		{"by-index", 20, func(n int) error { _, err := s.copy.ByIndex(values[n%len(values)], 0); return err }},
	} {
		before := measure.Now()
		for n := range l.times {
			if err := l.list(n); err != nil {
				return err
			}
		}
		s.add(l.phase, ListCPU, measure.Since(before).CPU.Seconds()/float64(l.times))
	}
	return nil
}

// choose returns a selector for one object in a hundred, and values of the index, which is by the same label.
func (s *subject) choose(keys []string) (labels.Selector, []string, error) {
	count := map[string]int{}
	for _, key := range keys {
		obj, err := s.copy.View(key)
		if err != nil {
			return nil, nil, err
		}
		count[obj.(metav1.Object).GetLabels()[client.IndexLabel]]++
	}
	delete(count, "")
	var values, chosen []string
	for v := range count {
		values = append(values, v)
	}
	slices.Sort(values)
	for n, i := 0, 0; n*100 < len(keys) && i < len(values); i++ {
		chosen = append(chosen, values[i])
		n += count[values[i]]
	}
	if len(chosen) == 0 {
		return nil, nil, errors.New("no object has the label " + client.IndexLabel)
	}
	in, err := labels.NewRequirement(client.IndexLabel, selection.In, chosen)
	if err != nil {
		return nil, nil, err
	}
	return labels.NewSelector().Add(*in), values, nil
}

// p50 adds the median time of a read.
func (s *subject) p50(phase, metric string, keys []string, read func(key string) error) error {
	times := make([]time.Duration, samples)
	at := 0
	for n := range times {
		begin := time.Now()
		for range perBatch {
			if err := read(keys[at%len(keys)]); err != nil {
				return err
			}
			at++
		}
		times[n] = time.Since(begin)
	}
	slices.Sort(times)
	s.add(phase, metric, times[len(times)/2].Seconds()/perBatch)
	return nil
}

// unmarshal adds the median time that the generated decoder takes for the same objects, where the bytes are at hand.
func (s *subject) unmarshal(keys []string) error {
	u, ok := s.copy.(interface {
		Unmarshal(key string) (time.Duration, error)
	})
	if !ok {
		return nil
	}
	times := make([]time.Duration, samples*perBatch)
	for n := range times {
		var err error
		if times[n], err = u.Unmarshal(keys[n%len(keys)]); err != nil {
			if errors.Is(err, errors.ErrUnsupported) {
				return nil
			}
			return err
		}
	}
	slices.Sort(times)
	s.add("unmarshal", GetP50, times[len(times)/2].Seconds())
	return nil
}

// A reconciler's burst is about so many objects, and comes in parts of so many modifications, so that none are merged.
const (
	workingSet    = 1000
	reconcilePart = 1000
)

// reconcile is a workload of a handler that reads each modified object three times, and ten of its siblings by index.
func (s *subject) reconcile() error {
	if err := s.heap(); err != nil {
		return err
	}
	type viewer interface {
		ViewByIndex(value string, limit int) (int, error)
	}
	run := func(phase string, get func(string) (any, error), byIndex func(string, int) (int, error)) error {
		s.sink.OnUpdate(func(key string) {
			var obj any
			for range 3 {
				var err error
				if obj, err = get(key); err != nil {
					s.sink.Fail(err)
					return
				}
			}
			_, err := byIndex(obj.(metav1.Object).GetLabels()[client.IndexLabel], 10)
			s.sink.Fail(err)
		})
		return s.bursts(phase, max(s.Burst/5, 1), reconcilePart, workingSet)
	}
	if err := run("reconcile", s.copy.Get, s.copy.ByIndex); err != nil {
		return err
	}
	if v, ok := s.copy.(viewer); ok {
		return run("reconcile-view", s.copy.View, v.ViewByIndex)
	}
	return nil
}
