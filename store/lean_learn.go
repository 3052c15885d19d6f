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
func (l *lean) learn(e *leanEncoder, on *base, obj *object.Object) {
	l.mu.Lock()
	s := &l.lesson
	s.seen++
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
	without, with := 0, 0
	var e delta.Encoder
	for _, sample := range s.samples {
		e.SetBase(sample.Base)
		without += len(e.Append(nil, plain, sample.Object))
		with += len(e.Append(nil, c, sample.Object))
	}
	if with > without-without/20 {
		return plain
	}
	return c
}

// bytesOf returns the bytes of a base that was just used.
func (e *leanEncoder) bytesOf(on *base) []byte {
	if on.rec == "" || e.base != on {
		return nil
	}
	return e.plain
}
