package fielddiff

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Kind says how a field changed.
type Kind uint8

// The kinds of change. Reordered is a list whose items are told apart by a field and that stand in another order now: Old
// and New are then the values of that field, as []any of text.
const (
	Added Kind = iota
	Removed
	Changed
	Reordered
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Added:
		return "added"
	case Removed:
		return "removed"
	case Changed:
		return "changed"
	case Reordered:
		return "reordered"
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Change is one field that changed. Old and New share memory with the compared objects; Old is nil for Added, New for
// Removed.
type Change struct {
	Path     Path
	Old, New any
	Kind     Kind
}

// Diff returns what changed from one object to the other: maps by key in alphabetic order, lists in the order of the new
// one with removed items at the end. It is empty exactly if the objects are equal. Values are those of decoded JSON: maps,
// []any, strings, numbers, booleans and nil; a number is equal to one of the same type only. The arguments are not changed.
func Diff(before, after map[string]any) []Change {
	var d differ
	d.maps(nil, before, after)
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) add(p Path, kind Kind, before, after any) {
	d.changes = append(d.changes, Change{Path: slices.Clone(p), Old: before, New: after, Kind: kind})
}

func (d *differ) values(p Path, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok && (b == nil) == (a == nil) {
			d.maps(p, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok && (b == nil) == (a == nil) {
			d.lists(p, b, a)
			return
		}
	}
	if !reflect.DeepEqual(before, after) {
		d.add(p, Changed, before, after)
	}
}

func (d *differ) maps(p Path, before, after map[string]any) {
	keys := slices.Collect(maps.Keys(before))
	for k := range after {
		if _, both := before[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		p := append(p, Step{Kind: Field, Name: k})
		b, was := before[k]
		a, is := after[k]
		switch {
		case !was:
			d.add(p, Added, nil, a)
		case !is:
			d.add(p, Removed, b, nil)
		default:
			d.values(p, b, a)
		}
	}
}

func (d *differ) lists(p Path, before, after []any) {
	if by, ok := keyField(before, after); ok {
		d.items(p, by, before, after)
		return
	}
	if len(before) != len(after) {
		d.add(p, Changed, before, after)
		return
	}
	for i := range before {
		d.values(append(p, Step{Kind: Index, Index: i}), before[i], after[i])
	}
}

// items compares lists whose items the field by tells apart.
func (d *differ) items(p Path, by string, before, after []any) {
	old, now := keys(before, by), keys(after, by)
	at := make(map[string]int, len(old))
	for i, k := range old {
		at[k] = i
	}
	step := func(k string) Path { return append(p, Step{Kind: Item, Name: k, By: by}) }
	last, moved := -1, false
	for i, k := range now {
		j, was := at[k]
		if !was {
			d.add(step(k), Added, nil, after[i])
			continue
		}
		moved = moved || j < last
		last = j
		d.values(step(k), before[j], after[i])
		delete(at, k)
	}
	for i, k := range old {
		if _, gone := at[k]; gone {
			d.add(step(k), Removed, before[i], nil)
		}
	}
	if moved {
		d.add(p, Reordered, texts(old), texts(now))
	}
}

func texts(keys []string) []any {
	out := make([]any, len(keys))
	for i, k := range keys {
		out[i] = k
	}
	return out
}
