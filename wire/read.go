package wire

// readProtobuf reads the steps of p from i on, in a message.
func (p *Path) readProtobuf(msg []byte, i int, out values) (values, error) {
	st, f, n := &p.steps[i], fields{b: msg}, 0
	for f.next() {
		if f.num != st.num {
			continue
		}
		value, hit := f, true
		switch st.sel {
		case selectWhole:
			if n > 0 {
				return out, unusual("protobuf field %d occurs twice", f.num)
			}
		case selectAt:
			hit = n == st.at
			n++
		case selectKey:
			key, v, complete, err := entry(f.bytes())
			if err != nil {
				return out, err
			}
			if hit = string(key) == st.key; hit && (n > 0 || !complete) {
				return out, unusual("map key %q occurs twice or lacks its value", st.key)
			}
			value = v
		}
		if !hit {
			continue
		}
		if st.sel != selectAt {
			n++
		}
		var err error
		if out, err = p.readProtobufValue(&value, i+1, out); err != nil {
			return out, err
		}
	}
	if n == 0 && st.zero {
		out = out.addZero(&p.leaf)
	}
	return out, f.err
}

func (p *Path) readProtobufValue(f *fields, i int, out values) (_ values, err error) {
	if i < len(p.steps) {
		msg := f.bytes()
		if f.err != nil {
			return out, f.err
		}
		return p.readProtobuf(msg, i, out)
	}
	start, found := len(out.buf), false
	out.buf, found, err = p.leaf.appendProtobuf(out.buf, f)
	return out.add(&p.leaf, start, found), err
}

// readJSON reads the steps of p from i on, in the value that s stands before.
func (p *Path) readJSON(s *scanner, i int, out values) values {
	if s.err != nil {
		return out
	}
	if i == len(p.steps) {
		if s.null() {
			return out
		}
		start, found := len(out.buf), false
		out.buf, found = p.leaf.appendJSON(out.buf, s)
		return out.add(&p.leaf, start, found)
	}
	st := &p.steps[i]
	if st.name == "" {
		return p.readJSONPart(s, i, out)
	}
	seen, missing := 0, true
	for s.begin('{'); s.more('}'); {
		if key := s.key(); !s.is(key, st.name) {
			s.skip()
			continue
		}
		s.once(&seen, 1)
		if !s.null() {
			missing = false
			out = p.readJSONPart(s, i, out)
		}
	}
	if missing && st.zero {
		out = out.addZero(&p.leaf)
	}
	return out
}

// readJSONPart reads what step i selects from the value that s stands before, and goes on from there.
func (p *Path) readJSONPart(s *scanner, i int, out values) values {
	st, n := &p.steps[i], 0
	switch st.sel {
	case selectWhole:
		out = p.readJSON(s, i+1, out)
	case selectAt, selectEvery:
		for s.begin('['); s.more(']'); n++ {
			if st.sel == selectAt && n != st.at {
				s.skip()
				continue
			}
			if p.typ != nil {
				s.notNull()
			}
			out = p.readJSON(s, i+1, out)
		}
	case selectKey:
		for s.begin('{'); s.more('}'); {
			if key := s.key(); !s.is(key, st.key) {
				s.skip()
				continue
			}
			s.once(&n, 1)
			if p.typ != nil {
				s.notNull()
			}
			out = p.readJSON(s, i+1, out)
		}
	}
	return out
}
