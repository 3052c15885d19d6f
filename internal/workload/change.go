package workload

import (
	"fmt"
	"strconv"
)

// ChangeKind says what a modification does.
type ChangeKind uint8

// The kinds of modification.
const (
	StatusChange     ChangeKind = iota // phase, conditions, readiness, restarts
	LabelChange                        // one label gets another value
	AnnotationChange                   // one annotation gets another value
	SpecChange                         // another image; of a custom object, another part of its spec
	Delete                             // the object goes
	Create                             // a new object takes the place of the deleted one
	numChangeKinds
)

// String returns the kind in lower case.
func (k ChangeKind) String() string {
	names := [...]string{"status", "label", "annotation", "spec", "delete", "create"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("change(%d)", uint8(k))
}

// Change is one modification of one object.
type Change struct {
	Kind ChangeKind
	// Object is the object after the modification; for Delete, the state that it had last, at the version of the delete.
	// It is new and the caller's own.
	Object Object
}

// Change returns the n-th modification (from 1) of the i-th object of the kind, which is Pods or CustomObjects; others
// panic. Modification 0 is the object itself, as an addition. A delete is always followed by a create, which makes an
// object with another uid; a pod that has an owner also gets another name, a bare pod and a custom object keep theirs.
// Of the others, 66 in 100 change the status, 10 each a label, an annotation and the spec; 4 delete.
//
// Versions grow with n first and i second, so modifications applied round by round (all i at n = 1, then all at n = 2)
// have versions in order. It takes time in proportion to n.
func (g *Generator) Change(kind Kind, i, n int) Change {
	if kind != Pods && kind != CustomObjects {
		panic(fmt.Sprintf("workload: no modifications of %s", kind))
	}
	s, c := state{}, Create
	seed := mix(g.seed, 0xc4a6e, uint64(kind), uint64(i))
	for step := 1; step <= n; step++ {
		c = nextChange(seed, step, s.deleted)
		s.apply(c)
	}
	return Change{c, g.build(kind, i, s)}
}

func nextChange(seed uint64, step int, deleted bool) ChangeKind {
	if deleted {
		return Create
	}
	r := rng(mix(seed, uint64(step)))
	switch u := r.n(100); {
	case u < 4:
		return Delete
	case u < 14:
		return LabelChange
	case u < 24:
		return AnnotationChange
	case u < 34:
		return SpecChange
	}
	return StatusChange
}

// state is where an object is in its history: how often each part of it has changed. The zero state is the object as
// the cluster starts with it.
type state struct {
	steps       int // modifications so far
	incarnation int // times it was made anew
	status      int // status changes of this incarnation
	statusAt    int // the step of the last one
	label       int // the step of the last label change; 0 = none in this incarnation
	annotation  int
	image       int // spec changes of this incarnation
	deleted     bool
}

func (s *state) apply(c ChangeKind) {
	s.steps++
	switch c {
	case StatusChange:
		s.status++
		s.statusAt = s.steps
	case LabelChange:
		s.label = s.steps
	case AnnotationChange:
		s.annotation = s.steps
	case SpecChange:
		s.image++
	case Delete:
		s.deleted = true
	case Create:
		*s = state{steps: s.steps, incarnation: s.incarnation + 1}
	}
}

// resourceVersion orders the versions of one resource: first by the number of modifications, then by index.
func (g *Generator) resourceVersion(kind Kind, i int, s state) string {
	return strconv.FormatInt(1000+int64(s.steps)*int64(g.counts[kind]+1)+int64(i), 10)
}
