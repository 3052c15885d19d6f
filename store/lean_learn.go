package store

import (
	"bytes"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store/internal/delta"
)

// lesson is what has been seen of the collection, to make the next coding of: a dictionary of some objects, spread over
// what has come, and pairs of an object and its base.
type lesson struct {
	seen, next int // objects: so far, and when the coding is made
	bases      int // how many of those are kept without a base, as they became one
	dict       []byte
	samples    []delta.Sample
}

const (
	firstLesson = 64 // objects; each further lesson is lessonStep times as long
	lessonStep  = 16
	maxDict     = 128 << 10
	maxSamples  = 32
)

// learn takes note of an object, and after enough of them makes a coding that fits what has come since the last one. What
// is encoded already stays as it is.
func (l *lean) learn(e *leanEncoder, on *base, obj *object.Object, isBase bool) {
	l.mu.Lock()
	s := &l.lesson
	s.seen++
	if isBase {
		s.bases++
	}
	if size := min(maxDict, len(obj.Raw)*max(2, s.next/128)); len(s.dict)+len(obj.Raw) <= size && len(s.dict) <= size*s.seen/s.next {
		s.dict = append(s.dict, obj.Raw...)
	}
	if want := min(maxSamples, s.next/8); len(s.samples) <= want*s.seen/s.next {
		s.samples = append(s.samples, delta.Sample{Base: bytes.Clone(e.bytesOf(on)), Object: bytes.Clone(obj.Raw)})
	}
	if s.seen < s.next {
		l.mu.Unlock()
		return
	}
	done := *s
	*s = lesson{next: done.next * lessonStep}
	l.mu.Unlock()

	c := done.coding()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.coding = c
	clear(l.alone)
}

// coding returns a coding for what was seen. If a dictionary gains little, it has none.
func (s *lesson) coding() *delta.Coding {
	plain, c := delta.NewCoding(nil).Trained(s.samples), delta.NewCoding(s.dict).Trained(s.samples)
	if without := s.cost(plain); s.cost(c) > without-without/20 {
		return plain
	}
	return c
}

// cost returns what the samples take when they are encoded, of which so many are bases as have been seen: for those a
// dictionary matters most.
func (s *lesson) cost(c *delta.Coding) int {
	var e delta.Encoder
	siblings, bases := 0, 0
	for _, sample := range s.samples {
		e.SetBase(sample.Base)
		siblings += len(e.Append(nil, c, nil, sample.Object))
		e.SetBase(nil)
		bases += len(e.Append(nil, c, nil, sample.Object))
	}
	return siblings*(s.seen-s.bases) + bases*s.bases
}

// bytesOf returns the bytes of a base that was just used.
func (e *leanEncoder) bytesOf(on *base) []byte {
	if on.rec == "" || e.base != on {
		return nil
	}
	return e.plain
}
