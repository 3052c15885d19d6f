package fielddiff

import (
	"strconv"
	"strings"
	"unicode"
)

// StepKind says what a [Step] selects by.
type StepKind uint8

// The kinds of step: a value of a map, an item of a list by a field that tells its items apart, an item by its place.
const (
	Field StepKind = iota
	Item
	Index
)

// Step leads from a map or a list to one of its values.
type Step struct {
	Kind StepKind
	// Name is the map's key for Field, and the value of the field By, as text, for Item.
	Name, By string
	// Index is the place for Index, from 0.
	Index int
}

// Path leads from an object to a value in it. It must not be changed.
type Path []Step

// String returns the path as it is commonly written: status.conditions[Ready].status, metadata.labels[app.kubernetes.io/name],
// spec.args[0]. It is for people: two paths may look the same.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Kind == Index:
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case s.Kind == Field && plain(s.Name):
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Name)
		default:
			b.WriteString("[" + printable(s.Name) + "]")
		}
	}
	return b.String()
}

// Last returns the name of the last field on the path; "" if there is none.
func (p Path) Last() string {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].Kind == Field {
			return p[i].Name
		}
	}
	return ""
}

// Under reports whether the path begins with the given fields.
func (p Path) Under(fields ...string) bool {
	if len(p) < len(fields) {
		return false
	}
	for i, f := range fields {
		if p[i].Kind != Field || p[i].Name != f {
			return false
		}
	}
	return true
}

// plain reports whether a key can stand between dots.
func plain(key string) bool {
	for _, r := range key {
		if r != '_' && r != '-' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return key != ""
}

// printable returns the key, quoted where it would disturb what it is written into.
func printable(key string) string {
	for _, r := range key {
		if !unicode.IsPrint(r) || r == '[' || r == ']' {
			return strconv.Quote(key)
		}
	}
	if key == "" {
		return `""`
	}
	return key
}
