package wire

import "time"

func (d draft) json(raw []byte) (draft, error) {
	s := scanner{b: raw}
	for s.begin('{'); s.more('}'); {
		if key := s.key(); s.is(key, "metadata") {
			d = d.jsonMetadata(&s)
			return d, s.err
		}
		s.skip()
	}
	return d, s.err
}

func (d draft) jsonMetadata(s *scanner) draft {
	seen := 0
	for s.begin('{'); s.more('}'); {
		switch key := s.key(); string(key.b) {
		case "name":
			s.once(&seen, 1<<0)
			d.name = s.strOrNull()
		case "namespace":
			s.once(&seen, 1<<1)
			d.namespace = s.strOrNull()
		case "uid":
			s.once(&seen, 1<<2)
			d.uid = s.strOrNull()
		case "resourceVersion":
			s.once(&seen, 1<<3)
			d.version = s.strOrNull()
		case "generation":
			s.once(&seen, 1<<4)
			d.generation = s.integer()
		case "creationTimestamp":
			s.once(&seen, 1<<5)
			d.created = unix(s.time())
		case "deletionTimestamp":
			s.once(&seen, 1<<6)
			d.deleting = unix(s.time())
		case "labels":
			s.once(&seen, 1<<7)
			for s.begin('{'); s.more('}'); {
				key, value := s.pair()
				d.labels = append(d.labels, pair{key, value})
			}
		case "ownerReferences":
			s.once(&seen, 1<<8)
			for s.begin('['); s.more(']'); {
				s.notNull()
				d.owners = append(d.owners, s.owner())
			}
		default:
			if key.escaped {
				s.unusual("escapes in the name of a metadata member")
			}
			s.skip()
		}
	}
	return d
}

func (s *scanner) owner() (o owner) {
	seen := 0
	for s.begin('{'); s.more('}'); {
		switch key := s.key(); string(key.b) {
		case "apiVersion":
			s.once(&seen, 1<<0)
			o.apiVersion = s.strOrNull()
		case "kind":
			s.once(&seen, 1<<1)
			o.kind = s.strOrNull()
		case "name":
			s.once(&seen, 1<<2)
			o.name = s.strOrNull()
		case "uid":
			s.once(&seen, 1<<3)
			o.uid = s.strOrNull()
		case "controller":
			s.once(&seen, 1<<4)
			o.controller = s.boolean()
		default:
			if key.escaped {
				s.unusual("escapes in the name of a metadata member")
			}
			s.skip()
		}
	}
	return o
}

// once notes in seen that a member, known by its bit, occurred.
func (s *scanner) once(seen *int, bit int) {
	if *seen&bit != 0 {
		s.unusual("a member occurs twice")
	}
	*seen |= bit
}

// notNull refuses a null where decoders do not agree on what it means.
func (s *scanner) notNull() {
	if s.err == nil && s.peek() == 'n' {
		s.unusual("null in a map or a list")
	}
}

// pair reads a member whose value is a string.
func (s *scanner) pair() (key, value []byte) {
	key = s.bytes(s.key())
	s.notNull()
	return key, s.bytes(s.str())
}

// boolean reads true, false or null.
func (s *scanner) boolean() bool {
	if s.null() || s.err != nil {
		return false
	}
	switch s.peek() {
	case 't':
		s.literal("true")
		return true
	case 'f':
		s.literal("false")
		return false
	}
	s.fail("no true or false where one is expected")
	return false
}

// time reads an RFC 3339 time; null is the zero time.
func (s *scanner) time() time.Time {
	if s.null() {
		return time.Time{}
	}
	b := s.bytes(s.str())
	if s.err != nil {
		return time.Time{}
	}
	if t, ok := plainTime(b); ok {
		return t
	}
	t, err := time.Parse(time.RFC3339, string(b))
	if err != nil {
		s.fail(err.Error())
	}
	return t
}

// plainTime parses 2006-01-02T15:04:05Z, the form that servers write, without allocating.
func plainTime(b []byte) (time.Time, bool) {
	if len(b) != 20 || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[19] != 'Z' {
		return time.Time{}, false
	}
	ok := true
	num := func(from, to int) (n int) {
		for _, c := range b[from:to] {
			ok = ok && '0' <= c && c <= '9'
			n = n*10 + int(c-'0')
		}
		return n
	}
	year, month, day := num(0, 4), num(5, 7), num(8, 10)
	hour, minute, second := num(11, 13), num(14, 16), num(17, 19)
	// A day that the month may not have is left to the real parser.
	if !ok || month < 1 || month > 12 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC), true
}
