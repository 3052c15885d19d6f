package wire

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of the fields that are read: every object's metadata, ObjectMeta, OwnerReference.
const (
	fieldMetadata protowire.Number = 1

	fieldName              protowire.Number = 1
	fieldNamespace         protowire.Number = 3
	fieldUID               protowire.Number = 5
	fieldResourceVersion   protowire.Number = 6
	fieldGeneration        protowire.Number = 7
	fieldCreationTimestamp protowire.Number = 8
	fieldDeletionTimestamp protowire.Number = 9
	fieldLabels            protowire.Number = 11
	fieldAnnotations       protowire.Number = 12
	fieldOwnerReferences   protowire.Number = 13

	fieldOwnerKind       protowire.Number = 1
	fieldOwnerName       protowire.Number = 3
	fieldOwnerUID        protowire.Number = 4
	fieldOwnerAPIVersion protowire.Number = 5
	fieldOwnerController protowire.Number = 6
)

func (d draft) protobuf(raw []byte) (draft, error) {
	metadata, _, err := only(raw, fieldMetadata)
	if err != nil {
		return d, err
	}
	f, seen := fields{b: metadata}, uint32(0)
	for f.next() {
		switch f.num {
		case fieldName:
			f.once(&seen)
			d.name = f.bytes()
		case fieldNamespace:
			f.once(&seen)
			d.namespace = f.bytes()
		case fieldUID:
			f.once(&seen)
			d.uid = f.bytes()
		case fieldResourceVersion:
			f.once(&seen)
			d.version = f.bytes()
		case fieldGeneration:
			f.once(&seen)
			d.generation = int64(f.varint())
		case fieldCreationTimestamp:
			f.once(&seen)
			d.created = f.unix()
		case fieldDeletionTimestamp:
			f.once(&seen)
			d.deleting = f.unix()
		case fieldLabels:
			key, value, err := entryText(f.bytes())
			if err != nil {
				return d, err
			}
			d.labels = append(d.labels, pair{key, value})
		case fieldOwnerReferences:
			o, err := ownerReference(f.bytes())
			if err != nil {
				return d, err
			}
			d.owners = append(d.owners, o)
		}
	}
	return d, f.err
}

// unix returns the current field, a Timestamp, in Unix seconds.
func (f *fields) unix() int64 {
	seconds, _, set, err := timestamp(f.bytes())
	if f.err == nil {
		f.err = err
	}
	if !set {
		return 0
	}
	return unix(time.Unix(seconds, 0))
}

func ownerReference(msg []byte) (o owner, err error) {
	f, seen := fields{b: msg}, uint32(0)
	for f.next() {
		switch f.num {
		case fieldOwnerKind:
			f.once(&seen)
			o.kind = f.bytes()
		case fieldOwnerName:
			f.once(&seen)
			o.name = f.bytes()
		case fieldOwnerUID:
			f.once(&seen)
			o.uid = f.bytes()
		case fieldOwnerAPIVersion:
			f.once(&seen)
			o.apiVersion = f.bytes()
		case fieldOwnerController:
			f.once(&seen)
			o.controller = f.varint() != 0
		}
	}
	return o, f.err
}
