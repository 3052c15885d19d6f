package workload

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fields writes the fieldsV1 of a managedFields entry: nested JSON objects whose names say which fields are owned.
type fields struct{ b []byte }

// open starts the object of a field that has fields of its own; close ends it.
func (f *fields) open(name string) {
	f.b = append(f.b, `"f:`...)
	f.b = append(f.b, name...)
	f.b = append(f.b, `":{`...)
}

// self says that the field or item itself is owned besides what is in it.
func (f *fields) self() { f.b = append(f.b, `".":{},`...) }

func (f *fields) close() {
	if f.b[len(f.b)-1] == ',' {
		f.b = f.b[:len(f.b)-1]
	}
	f.b = append(f.b, "},"...)
}

// leaves are fields without owned fields of their own.
func (f *fields) leaves(names ...string) {
	for _, name := range names {
		f.b = append(f.b, `"f:`...)
		f.b = append(f.b, name...)
		f.b = append(f.b, `":{},`...)
	}
}

// openItem starts the object of a list item that is known by a text field.
func (f *fields) openItem(field, value string) {
	f.b = append(f.b, `"k:{\"`...)
	f.b = append(f.b, field...)
	f.b = append(f.b, `\":\"`...)
	f.b = append(f.b, value...)
	f.b = append(f.b, `\"}":{".":{},`...)
}

// keys are the entries of a map that are owned; a nil owned is all of them.
func (f *fields) keys(field string, m map[string]string, owned func(key string) bool) {
	var buffer [24]string // on the stack: this runs several times for every pod
	names := buffer[:0]
	for k := range m {
		if owned == nil || owned(k) {
			names = append(names, k)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	f.open(field)
	f.self()
	f.leaves(names...)
	f.close()
}

// entry ends the writing and returns the managedFields entry; the fields must not be used again.
func (f *fields) entry(manager, apiVersion, subresource string, at metav1.Time) metav1.ManagedFieldsEntry {
	raw := f.b
	if raw[len(raw)-1] == ',' {
		raw = raw[:len(raw)-1]
	}
	raw = append(raw, '}')
	owned := &metav1.FieldsV1{}
	owned.SetRawBytes(raw)
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: apiVersion, Time: &at,
		FieldsType: "FieldsV1", FieldsV1: owned, Subresource: subresource,
	}
}

// newFields returns fields with room for size bytes; growing costs more than anything else here.
func newFields(size int) *fields {
	f := &fields{b: make([]byte, 1, size)}
	f.b[0] = '{'
	return f
}

func ownedByNetwork(key string) bool {
	return strings.HasPrefix(key, "cni.") || strings.HasPrefix(key, "k8s.v1.cni")
}
