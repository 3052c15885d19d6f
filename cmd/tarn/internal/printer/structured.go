package printer

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"time"

	"sigs.k8s.io/yaml"
)

// jsonLines writes one JSON object per record and line.
type jsonLines struct {
	encoder *json.Encoder
	o       Options
}

func newJSON(w io.Writer, o Options) *jsonLines {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return &jsonLines{encoder, o}
}

// jsonRecord is the form that scripts read; its field names stay.
type jsonRecord struct {
	Type       Type           `json:"type"`
	Time       time.Time      `json:"time"`
	Resource   string         `json:"resource"`
	Kind       string         `json:"kind"`
	Key        string         `json:"key"`
	UID        string         `json:"uid,omitempty"`
	OldVersion string         `json:"oldVersion,omitempty"`
	NewVersion string         `json:"newVersion"`
	Missed     bool           `json:"missed,omitempty"`
	Error      string         `json:"error,omitempty"`
	Changes    []jsonChange   `json:"changes,omitempty"`
	Old        map[string]any `json:"old,omitempty"`
	New        map[string]any `json:"new,omitempty"`
}

// jsonChange is one changed field. Old or New is missing where there was, or is, no such field.
type jsonChange struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	Old  any    `json:"old,omitempty"`
	New  any    `json:"new,omitempty"`
}

// Print implements [Printer].
func (j *jsonLines) Print(r Record) error {
	out := jsonRecord{
		Type: r.Type, Time: r.Time, Resource: r.Resource, Kind: r.Kind, Key: r.Name, UID: r.UID,
		OldVersion: r.OldVersion, NewVersion: r.NewVersion, Missed: r.Missed,
		Old: whole(r.Old, j.o.AllFields), New: whole(r.New, j.o.AllFields),
	}
	if r.Namespace != "" {
		out.Key = r.Namespace + "/" + r.Name
	}
	if r.Err != nil {
		out.Error = r.Err.Error()
	}
	shown, _ := changes(r, j.o.AllFields)
	for _, c := range shown {
		out.Changes = append(out.Changes, jsonChange{c.Path.String(), c.Kind.String(), c.Old, c.New})
	}
	if r.Type == Deleted {
		out.Old, out.New = out.New, nil // what is gone is no new state
	}
	return j.encoder.Encode(out)
}

// yamlDocuments writes a document per record: what happened as a comment, then the object.
type yamlDocuments struct {
	w io.Writer
	o Options
}

// Print implements [Printer].
func (y *yamlDocuments) Print(r Record) error {
	comment := fmt.Sprintf("# %s %s %s, version %s", clock(r.Time), r.Type, objectName(r), r.NewVersion)
	if r.Type == Updated && r.OldVersion != "" {
		comment = fmt.Sprintf("# %s %s %s, version %s → %s", clock(r.Time), r.Type, objectName(r), r.OldVersion, r.NewVersion)
	}
	if r.Err != nil {
		_, err := fmt.Fprintf(y.w, "---\n%s\n# cannot be read: %s\n", comment, Printable(r.Err.Error()))
		return err
	}
	raw, err := yaml.Marshal(whole(r.New, y.o.AllFields))
	if err == nil {
		_, err = fmt.Fprintf(y.w, "---\n%s\n%s", comment, raw)
	}
	return err
}

// whole returns the object as it is printed: without metadata.managedFields, except with all fields. The object given, which
// others may be reading, stays as it is.
func whole(object map[string]any, all bool) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if _, managed := metadata["managedFields"]; all || !ok || !managed {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	delete(metadata, "managedFields")
	object["metadata"] = metadata
	return object
}

// names writes the name of each record's object.
type names struct{ w io.Writer }

// Print implements [Printer].
func (n names) Print(r Record) error {
	_, err := fmt.Fprintln(n.w, objectName(r))
	return err
}
