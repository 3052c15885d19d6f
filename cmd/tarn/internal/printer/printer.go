// Package printer writes changes of objects, or their state, the way the user asked for: as lines of a table, as field
// diffs, as JSON lines, YAML documents or names.
package printer

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/fielddiff"
)

// Type says what a [Record] tells.
type Type string

// The types of record. Present is an object as it stands, without a change.
const (
	Added   Type = "added"
	Updated Type = "updated"
	Deleted Type = "deleted"
	Present Type = "present"
)

// Record is one line, or one document, of output.
type Record struct {
	Type Type
	// Time is when it was seen.
	Time time.Time
	// Resource is the collection as a person types it, pods or deployments.apps; Short is what a table calls it, and Kind
	// that of the object.
	Resource, Short, Kind string
	// Namespace is empty for a cluster-scoped object.
	Namespace, Name string
	UID             string
	// Created is zero where the object does not say.
	Created time.Time
	// OldVersion and NewVersion are resource versions; the old one is empty for Added and Present.
	OldVersion, NewVersion string
	// Missed is true for a deletion that nobody saw and a later list showed: New is then the last state that was known.
	Missed bool
	// Old and New are the object before and now. Old is nil for Added and Present; for Deleted, New is the last state.
	Old, New map[string]any
	// Err is why the object cannot be read; Old and New are then nil.
	Err error
}

// Printer writes records. It is used by one goroutine at a time.
type Printer interface{ Print(Record) error }

// Options says how to print.
type Options struct {
	// Color writes colours.
	Color bool
	// Width returns the columns of the terminal; 0, or nil, is no limit.
	Width func() int
	// Kinds shows of which resource each object is, Namespaces its namespace.
	Kinds, Namespaces bool
	// State says that all records are Present: then a table has no columns for time and sign.
	State bool
	// AllFields shows changes of metadata.resourceVersion and metadata.managedFields as well, and whole objects with the
	// latter.
	AllFields bool
	// MaxChanges is how many changed fields of an object a table shows; 0 is 5.
	MaxChanges int
	// Expect are objects that may come, for the first guess at the widths of a table's columns. Only their Short, Namespace
	// and Name are looked at.
	Expect []Record
}

// Formats are the names that [New] knows.
var Formats = []string{"table", "diff", "json", "yaml", "name"}

// New returns the printer of a format. The error says which formats there are.
func New(format string, w io.Writer, o Options) (Printer, error) {
	if o.Width == nil {
		o.Width = func() int { return 0 }
	}
	if o.MaxChanges <= 0 {
		o.MaxChanges = 5
	}
	switch format {
	case "table":
		return newTable(w, o), nil
	case "diff":
		return &diff{w: w, o: o, p: newPalette(o.Color)}, nil
	case "json":
		return newJSON(w, o), nil
	case "yaml":
		return &yamlDocuments{w, o}, nil
	case "name":
		return names{w}, nil
	}
	return nil, fmt.Errorf("there is no output %q: take one of %s", format, strings.Join(Formats, ", "))
}

// changes returns what changed, what matters first, and how many changes are not shown.
func changes(r Record, all bool) (shown []fielddiff.Change, hidden int) {
	if r.Type != Updated {
		return nil, 0
	}
	for _, c := range fielddiff.Diff(r.Old, r.New) {
		if !all && (c.Path.Under("metadata", "resourceVersion") || c.Path.Under("metadata", "managedFields")) {
			hidden++
			continue
		}
		shown = append(shown, c)
	}
	return shown, hidden
}
