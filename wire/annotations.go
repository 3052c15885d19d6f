package wire

import "github.com/tarn-dev/tarn/object"

// Annotation returns the value of one annotation and whether it exists. It reads as far as [Meta] does.
func Annotation(enc object.Encoding, raw []byte, key string) (value string, found bool, err error) {
	var last []byte
	err = eachAnnotation(enc, raw, func(k, v []byte) error {
		if string(k) != key {
			return nil
		}
		if found {
			return unusual("annotation %q occurs twice", key)
		}
		last, found = v, true
		return nil
	})
	if err != nil {
		return "", false, err
	}
	return string(last), found, nil
}

// Annotations returns all annotations as a new map; nil where there are none. It reads as far as [Meta] does.
func Annotations(enc object.Encoding, raw []byte) (map[string]string, error) {
	var all map[string]string
	err := eachAnnotation(enc, raw, func(k, v []byte) error {
		if _, twice := all[string(k)]; twice {
			return unusual("annotation %q occurs twice", k)
		}
		if all == nil {
			all = map[string]string{}
		}
		all[string(k)] = string(v)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func eachAnnotation(enc object.Encoding, raw []byte, do func(key, value []byte) error) error {
	switch enc {
	case object.Protobuf:
		metadata, _, err := only(raw, fieldMetadata)
		if err != nil {
			return err
		}
		f := fields{b: metadata}
		for f.next() {
			if f.num != fieldAnnotations {
				continue
			}
			key, value, err := entryText(f.bytes())
			if err == nil {
				err = do(key, value)
			}
			if err != nil {
				return err
			}
		}
		return f.err
	case object.JSON:
		s := scanner{b: raw}
		for s.begin('{'); s.more('}'); {
			if key := s.key(); s.is(key, "metadata") {
				s.annotations(do)
				return s.err
			}
			s.skip()
		}
		return s.err
	}
	return unsupported(enc)
}

// annotations reads a metadata object.
func (s *scanner) annotations(do func(key, value []byte) error) {
	seen := 0
	for s.begin('{'); s.more('}'); {
		if key := s.key(); !s.is(key, "annotations") {
			s.skip()
			continue
		}
		s.once(&seen, 1)
		for s.begin('{'); s.more('}'); {
			key, value := s.pair()
			if s.err == nil {
				s.err = do(key, value)
			}
		}
	}
}
