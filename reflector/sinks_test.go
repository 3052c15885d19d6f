package reflector_test

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
)

// sink is a plain map that logs what it is told.
type sink struct {
	mu      sync.Mutex
	objects map[string]string // key → version
	log     []string
	err     func(op, key string) error
}

func (s *sink) do(op string, obj *object.Object, change func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, op+" "+obj.Key+"@"+obj.Version)
	if s.err != nil {
		if err := s.err(op, obj.Key); err != nil {
			return err
		}
	}
	change()
	return nil
}

func (s *sink) Add(o *object.Object) error {
	return s.do("add", o, func() { s.objects[o.Key] = o.Version })
}

func (s *sink) Update(o *object.Object) error {
	return s.do("update", o, func() { s.objects[o.Key] = o.Version })
}

func (s *sink) Delete(o *object.Object) error {
	return s.do("delete", o, func() { delete(s.objects, o.Key) })
}

func (s *sink) Replace(list []*object.Object, version string) error {
	return s.do("replace", pod(keys(list), version), func() {
		s.objects = map[string]string{}
		for _, o := range list {
			s.objects[o.Key] = o.Version
		}
	})
}

func (s *sink) Resync() error { return s.do("resync", pod("", ""), func() {}) }

func keys(list []*object.Object) string {
	var ks []string
	for _, o := range list {
		ks = append(ks, o.Key+"@"+o.Version)
	}
	return "[" + strings.Join(ks, " ") + "]"
}

// fullSink also has the optional interfaces.
type fullSink struct {
	sink
	stages int // open ones
}

func (s *fullSink) Bookmark(v string) error { return s.do("bookmark", pod("", v), func() {}) }
func (s *fullSink) Flush() error            { return s.do("flush", pod("", ""), func() {}) }

func (s *fullSink) Stage(suspect bool) reflector.Stage {
	s.do(fmt.Sprintf("stage(%v)", suspect), pod("", ""), func() { s.stages++ })
	return &stage{s: s}
}

type stage struct {
	s     *fullSink
	items []*object.Object
}

func (st *stage) Add(o *object.Object) error {
	return st.s.do("stage add", o, func() { st.items = append(st.items, o) })
}

func (st *stage) Delete(o *object.Object) error {
	return st.s.do("stage delete", o, func() {
		for i, item := range st.items {
			if item.Key == o.Key {
				st.items = append(st.items[:i], st.items[i+1:]...)
				return
			}
		}
	})
}

func (st *stage) Commit(version string, newEpoch bool) error {
	st.s.mu.Lock()
	st.s.stages--
	st.s.mu.Unlock()
	return st.s.do(fmt.Sprintf("commit(%v)", newEpoch), pod(keys(st.items), version), func() {
		st.s.objects = map[string]string{}
		for _, o := range st.items {
			st.s.objects[o.Key] = o.Version
		}
	})
}
