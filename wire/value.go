package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// FromValue returns the values that the path leads to in a decoded object: a pointer to the type the path was compiled
// for, the type itself, or in either case the object as a map (map[string]any or unstructured). The result is the one
// that [Path.Strings] gives for the encoded object. The strings may share memory with v.
func (p *Path) FromValue(v any) ([]string, error) {
	if u, ok := v.(unstructuredContent); ok {
		v = u.UnstructuredContent()
	}
	err := p.readable()
	out := values{}
	if err == nil {
		rv := follow(reflect.ValueOf(v))
		switch _, isMap := asMap(rv); {
		case !rv.IsValid():
			err = malformed("no object")
		case !isMap && rv.Type() != p.typ:
			err = fmt.Errorf("%w: the path was not compiled for a %T", ErrEncoding, v)
		default:
			out, err = p.readGo(rv, 0, out)
		}
	}
	if err != nil {
		return nil, p.wrap(err)
	}
	return out.strings(), nil
}

// readGo reads the steps of p from i on, in a value that is neither a pointer nor an interface.
func (p *Path) readGo(v reflect.Value, i int, out values) (values, error) {
	if i == len(p.steps) {
		return p.readGoLeaf(v, out)
	}
	st := &p.steps[i]
	member := v
	if m, isMap := asMap(v); isMap {
		if st.name != "" {
			member = follow(reflect.ValueOf(m[st.name]))
		}
	} else if st.index >= 0 {
		if v.Kind() != reflect.Struct {
			return out, malformed("%s where an object is expected", v.Type())
		}
		member = follow(v.Field(st.index))
	} else if st.name != "" {
		return out, malformed("%s where an object is expected", v.Type())
	}
	if !member.IsValid() {
		if st.zero {
			out = out.addZero(&p.leaf)
		}
		return out, nil
	}
	return p.readGoPart(member, i, out)
}

func (p *Path) readGoPart(v reflect.Value, i int, out values) (values, error) {
	st := &p.steps[i]
	next := func(part reflect.Value, out values) (values, error) {
		if part = follow(part); !part.IsValid() {
			return out, nil
		}
		return p.readGo(part, i+1, out)
	}
	switch st.sel {
	case selectAt, selectEvery:
		if v.Kind() != reflect.Slice {
			return out, malformed("%s where a list is expected", v.Type())
		}
		for n := range v.Len() {
			if st.sel == selectAt && n != st.at {
				continue
			}
			var err error
			if out, err = next(v.Index(n), out); err != nil {
				return out, err
			}
		}
		return out, nil
	case selectKey:
		if v.Kind() != reflect.Map || v.Type().Key().Kind() != reflect.String {
			return out, malformed("%s where an object is expected", v.Type())
		}
		return next(v.MapIndex(reflect.ValueOf(st.key).Convert(v.Type().Key())), out)
	}
	return p.readGo(v, i+1, out)
}

func (p *Path) readGoLeaf(v reflect.Value, out values) (_ values, err error) {
	start, found := len(out.buf), false
	if p.leaf.kind == leafAny || leafOf(v.Type()).kind != p.leaf.kind {
		// A value from a map: what it is in JSON decides.
		switch v.Kind() {
		case reflect.Map, reflect.Slice, reflect.Struct:
			return out, ErrNotScalar
		}
		b, err := json.Marshal(v.Interface())
		if err != nil {
			return out, err
		}
		s := scanner{b: b}
		out.buf, found = p.leaf.appendJSON(out.buf, &s)
		return out.add(&p.leaf, start, found), s.err
	}
	out.buf, found, err = p.leaf.appendGo(out.buf, v)
	return out.add(&p.leaf, start, found), err
}

// asMap returns v as the map that an object without a Go type is.
func asMap(v reflect.Value) (map[string]any, bool) {
	if !v.IsValid() || v.Kind() != reflect.Map || v.Type() != reflect.TypeFor[map[string]any]() {
		return nil, false
	}
	return v.Interface().(map[string]any), true
}

// follow returns what pointers and interfaces lead to; the zero Value for nil.
func follow(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}
