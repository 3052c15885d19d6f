package wire

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
)

// magic is what the Kubernetes API puts before a protobuf message: an Unknown with the type and the message follows.
const magic = "k8s\x00"

const (
	fieldUnknownTypeMeta        protowire.Number = 1
	fieldUnknownRaw             protowire.Number = 2
	fieldUnknownContentEncoding protowire.Number = 3

	fieldTypeMetaAPIVersion protowire.Number = 1
	fieldTypeMetaKind       protowire.Number = 2

	fieldWatchEventType   protowire.Number = 1
	fieldWatchEventObject protowire.Number = 2
	fieldRawExtensionRaw  protowire.Number = 1
)

// HasEnvelope reports whether raw starts like protobuf in the envelope of the Kubernetes API, which no JSON does.
func HasEnvelope(raw []byte) bool { return bytes.HasPrefix(raw, []byte(magic)) }

// Envelope takes a protobuf object as the Kubernetes API sends it out of its envelope. The body shares raw's memory.
func Envelope(raw []byte) (apiVersion, kind string, body []byte, err error) {
	return new(EnvelopeReader).Read(raw)
}

// EnvelopeReader opens envelopes as [Envelope] does, one after another, and allocates nothing where they are of one type.
// The zero value is ready. It is used by one goroutine at a time.
type EnvelopeReader struct {
	apiVersion, kind string // the last ones
}

// Read is [Envelope].
func (r *EnvelopeReader) Read(raw []byte) (apiVersion, kind string, body []byte, err error) {
	if !HasEnvelope(raw) {
		return "", "", nil, malformed(`no "k8s\x00" before a protobuf object`)
	}
	f, seen := fields{b: raw[len(magic):]}, uint32(0)
	for f.next() {
		switch f.num {
		case fieldUnknownTypeMeta:
			f.once(&seen)
			if apiVersion, kind, err = r.typeMeta(f.bytes()); err != nil {
				return "", "", nil, err
			}
		case fieldUnknownRaw:
			f.once(&seen)
			body = f.bytes()
		case fieldUnknownContentEncoding:
			if len(f.bytes()) > 0 {
				f.err = unusual("envelope with content encoding %q", f.val())
			}
		}
	}
	if f.err != nil {
		return "", "", nil, f.err
	}
	return apiVersion, kind, body, nil
}

// typeMeta reads what an envelope says of its object's type.
func (r *EnvelopeReader) typeMeta(msg []byte) (apiVersion, kind string, err error) {
	f, seen := fields{b: msg}, uint32(0)
	for f.next() {
		switch f.num {
		case fieldTypeMetaAPIVersion:
			f.once(&seen)
			apiVersion = again(&r.apiVersion, f.bytes())
		case fieldTypeMetaKind:
			f.once(&seen)
			kind = again(&r.kind, f.bytes())
		}
	}
	return apiVersion, kind, f.err
}

// again returns text as a string, which is the last one if that is the same.
func again(last *string, text []byte) string {
	if *last != string(text) {
		*last = string(text)
	}
	return *last
}

// WatchEvent splits one frame of a protobuf watch into the event's type (ADDED) and its object, which is in an
// [Envelope] of its own. The object shares frame's memory.
func WatchEvent(frame []byte) (typ string, object []byte, err error) {
	f, seen := fields{b: frame}, uint32(0)
	for f.next() {
		switch f.num {
		case fieldWatchEventType:
			f.once(&seen)
			typ = eventType(f.bytes())
		case fieldWatchEventObject:
			f.once(&seen)
			var err error
			if object, _, err = only(f.bytes(), fieldRawExtensionRaw); err != nil {
				return "", nil, err
			}
		}
	}
	if f.err != nil {
		return "", nil, f.err
	}
	return typ, object, nil
}

// WatchEventJSON is [WatchEvent] for one JSON document. The object is nil where there is none.
func WatchEventJSON(frame []byte) (typ string, object []byte, err error) {
	s, seen := scanner{b: frame}, 0
	for s.begin('{'); s.more('}'); {
		switch key := s.key(); {
		case s.is(key, "type"):
			s.once(&seen, 1)
			typ = eventType(s.strOrNull())
		case s.is(key, "object"):
			s.once(&seen, 2)
			if s.null() {
				continue
			}
			s.peek()
			start := s.i
			s.skip()
			object = s.b[start:s.i:s.i]
		default:
			s.skip()
		}
	}
	s.end()
	if s.err != nil {
		return "", nil, s.err
	}
	return typ, object, nil
}

// eventType is string(b), without allocating for the types that there are.
func eventType(b []byte) string {
	switch string(b) {
	case "ADDED":
		return "ADDED"
	case "MODIFIED":
		return "MODIFIED"
	case "DELETED":
		return "DELETED"
	case "BOOKMARK":
		return "BOOKMARK"
	case "ERROR":
		return "ERROR"
	}
	return string(b)
}
