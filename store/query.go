package store

import (
	"iter"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/tarn-dev/tarn/object"
)

// Cond is a condition of [Snapshot.Where]. Make one with [Equals], [InNamespace] or [Matches].
type Cond struct {
	index, value string
	namespace    string
	selector     labels.Selector
	kind         condKind
}

type condKind uint8

const (
	byIndex condKind = iota + 1
	byNamespace
	bySelector
)

// Equals holds for the objects that the index finds under value.
func Equals(index, value string) Cond { return Cond{kind: byIndex, index: index, value: value} }

// InNamespace holds for the objects whose key begins with "namespace/"; for all objects if namespace is empty.
func InNamespace(namespace string) Cond { return Cond{kind: byNamespace, namespace: namespace} }

// Matches holds for the objects whose labels the selector matches; nil matches all. It reads metadata and decodes nothing.
func Matches(selector labels.Selector) Cond { return Cond{kind: bySelector, selector: selector} }

// Where iterates over the objects for which all conditions hold; with none, over all objects. Index conditions are
// intersected, at a cost that goes by the shortest of their lists. The error is [ErrUnknownIndex].
func (s Snapshot) Where(conds ...Cond) (iter.Seq[*object.Object], error) {
	refs, err := s.RefsWhere(conds...)
	if err != nil {
		return nil, err
	}
	return func(yield func(*object.Object) bool) {
		for r := range refs {
			if !yield(r.Object()) {
				return
			}
		}
	}, nil
}

// RefsWhere is [Snapshot.Where] for references to the objects; it makes no objects.
func (s Snapshot) RefsWhere(conds ...Cond) (iter.Seq[Ref], error) {
	q := query{s: s}
	for _, c := range conds {
		switch c.kind {
		case byIndex:
			i, err := s.index(c.index)
			if err != nil {
				return nil, err
			}
			q.terms = append(q.terms, term{i, c.value})
		case byNamespace:
			if c.namespace == "" {
				continue
			}
			prefix := c.namespace + "/"
			if q.prefix != "" && q.prefix != prefix {
				return func(func(Ref) bool) {}, nil
			}
			q.prefix = prefix
		case bySelector:
			if c.selector != nil && !c.selector.Empty() {
				q.selectors = append(q.selectors, c.selector)
			}
		}
	}
	return q.run, nil
}

// term is one index condition.
type term struct {
	index int
	value string
}

// query is a resolved Where.
type query struct {
	s         Snapshot
	terms     []term
	prefix    string
	selectors []labels.Selector
}

func (q *query) run(yield func(Ref) bool) {
	switch len(q.terms) {
	case 0:
		for _, e := range q.s.r.under(q.prefix) {
			if q.matches(e) && !yield(Ref{e.handle}) {
				return
			}
		}
	case 1:
		q.one(yield)
	default:
		q.join(yield)
	}
}

// one walks the single index condition's list.
func (q *query) one(yield func(Ref) bool) {
	t := q.terms[0]
	for p := range q.s.r.indexes[t.index].postings.Ascend(posting{t.value, q.prefix}) {
		if p.value != t.value || !strings.HasPrefix(p.key, q.prefix) {
			return
		}
		if !q.emit(p.key, yield) {
			return
		}
	}
}

// join walks all lists together, each time skipping in every list to the largest key that one of them has come to.
func (q *query) join(yield func(Ref) bool) {
	for key := q.prefix; ; key += "\x00" { // the key directly after
		for agree := 0; agree < len(q.terms); {
			for _, t := range q.terms {
				p, ok := q.s.r.indexes[t.index].postings.Ceil(posting{t.value, key})
				if !ok || p.value != t.value {
					return
				}
				if p.key != key {
					key, agree = p.key, 0
				}
				agree++
			}
		}
		if !strings.HasPrefix(key, q.prefix) || !q.emit(key, yield) {
			return
		}
	}
}

// emit yields the object of key if it matches, and reports whether to go on.
func (q *query) emit(key string, yield func(Ref) bool) bool {
	e, _ := q.s.r.entries.Get(key) // an index of one root only has keys of that root
	return !q.matches(e) || yield(Ref{e.handle})
}

func (q *query) matches(e *entry) bool {
	for _, sel := range q.selectors {
		if !sel.Matches(e.handle.labels()) { // a pointer, because a slice in an interface is an allocation
			return false
		}
	}
	return true
}
