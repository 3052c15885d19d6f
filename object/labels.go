package object

import (
	"sort"
	"strings"
)

// Label is one label of an object.
type Label struct{ Key, Value string }

// Labels is a label set, sorted by key. It implements the Labels interface of k8s.io/apimachinery/pkg/labels, so that a
// selector can be matched against it. It must not be modified once it is part of an [Object].
type Labels []Label

// LabelsFromMap returns the labels of m, sorted.
func LabelsFromMap(m map[string]string) Labels {
	if len(m) == 0 {
		return nil
	}
	ls := make(Labels, 0, len(m))
	for k, v := range m {
		ls = append(ls, Label{k, v})
	}
	ls.Sort()
	return ls
}

// Sort sorts ls by key, in place: for who builds a set.
func (ls Labels) Sort() {
	// Servers write maps in sorted order, so this is nearly always a single pass.
	for i := 1; i < len(ls); i++ {
		if ls[i].Key < ls[i-1].Key {
			sort.SliceStable(ls, func(i, j int) bool { return ls[i].Key < ls[j].Key })
			return
		}
	}
}

// Lookup returns the value of the label and whether it exists.
func (ls Labels) Lookup(key string) (value string, exists bool) {
	i := sort.Search(len(ls), func(i int) bool { return ls[i].Key >= key })
	if i < len(ls) && ls[i].Key == key {
		return ls[i].Value, true
	}
	return "", false
}

// Has reports whether the label exists.
func (ls Labels) Has(key string) bool { _, ok := ls.Lookup(key); return ok }

// Get returns the value of the label, or "".
func (ls Labels) Get(key string) string { v, _ := ls.Lookup(key); return v }

// Map returns the labels as a new map; nil where there are none.
func (ls Labels) Map() map[string]string {
	if len(ls) == 0 {
		return nil
	}
	m := make(map[string]string, len(ls))
	for _, l := range ls {
		m[l.Key] = l.Value
	}
	return m
}

// String returns "a=1,b=2".
func (ls Labels) String() string {
	var b strings.Builder
	for i, l := range ls {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.Key)
		b.WriteByte('=')
		b.WriteString(l.Value)
	}
	return b.String()
}
