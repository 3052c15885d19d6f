package decode

import "reflect"

// matches says, by slim type and original, which of their fields belong together. It serves for JSON: where a slim type
// has no JSON form of its own, the original is decoded and copied from.
type matches map[[2]reflect.Type][]match

type match struct {
	to   int   // the slim type's field
	from []int // the original's, after those that it is embedded in
}

// copy fills dst, which is zero, with what it has of src.
func (m matches) copy(dst, src reflect.Value) {
	if dst.Type() == src.Type() {
		dst.Set(src)
		return
	}
	if src.Kind() == reflect.Pointer {
		if src.IsNil() {
			return
		}
		src = src.Elem()
	}
	if dst.Kind() == reflect.Pointer {
		dst.Set(reflect.New(dst.Type().Elem()))
		m.copy(dst.Elem(), src)
		return
	}
	switch dst.Kind() {
	case reflect.Struct:
		for _, f := range m[[2]reflect.Type{dst.Type(), src.Type()}] {
			if from, err := src.FieldByIndexErr(f.from); err == nil { // else it is in a nil pointer
				m.copy(dst.Field(f.to), from)
			}
		}
	case reflect.Slice:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeSlice(dst.Type(), src.Len(), src.Len()))
		for i := range src.Len() {
			m.copy(dst.Index(i), src.Index(i))
		}
	case reflect.Map:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeMapWithSize(dst.Type(), src.Len()))
		for key, from := range src.Seq2() {
			elem := reflect.New(dst.Type().Elem()).Elem()
			m.copy(elem, from)
			dst.SetMapIndex(key.Convert(dst.Type().Key()), elem)
		}
	default:
		dst.Set(src.Convert(dst.Type()))
	}
}
