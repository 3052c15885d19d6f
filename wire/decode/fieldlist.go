package decode

import "reflect"

// Fields returns the paths, as package wire knows them, of the fields that t, a slim type of the struct type of, has of it: of
// a part that is taken over whole only the path of that. Of types that do not compile it returns what it finds.
func Fields(t, of reflect.Type) []string { return fieldsOf(t, of, "") }

func fieldsOf(t, of reflect.Type, prefix string) (paths []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _ := jsonName(f); !f.IsExported() || name == "-" {
			continue
		}
		chain, wrong := find(of, f)
		if wrong != "" {
			continue
		}
		path := prefix
		for _, sf := range chain {
			if name, inline := jsonName(sf); !inline {
				path = join(path, name)
			}
		}
		in, source := f.Type, chain[len(chain)-1].Type
		for in = target(in); in.Kind() == reflect.Slice && in != target(source) && in.Elem().Kind() != reflect.Uint8; in = target(in.Elem()) {
			path, source = path+"[*]", target(source).Elem()
		}
		if in.Kind() == reflect.Struct && in != target(source) {
			paths = append(paths, fieldsOf(in, target(source), path)...)
			continue
		}
		paths = append(paths, path)
	}
	return paths
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func target(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
