package decode

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// slim plans a type that has some of the fields of its original.
func (c *compiler) slim(p *plan, of reflect.Type, path string) {
	var all []match
	for i := range p.typ.NumField() {
		f := p.typ.Field(i)
		name, _ := jsonName(f)
		if !f.IsExported() || name == "-" {
			continue
		}
		chain, wrong := find(of, f)
		if wrong != "" {
			c.mismatch("%s.%s: %s", path, f.Name, wrong)
			continue
		}
		source := chain[len(chain)-1]
		planned := c.field(f, source.Type, path+"."+f.Name)
		all = append(all, match{i, indexes(chain)})
		c.place(p, chain, planned, path)

		originalName, inline := jsonName(source)
		_, own := jsonName(f)
		c.renamed = c.renamed || len(chain) > 1 || inline != own || !inline && name != originalName
	}
	c.matches[[2]reflect.Type{p.typ, of}] = all
}

// place puts a field into the plan where the original has it: in the message itself, or in one that the original embeds.
func (c *compiler) place(p *plan, chain []reflect.StructField, f field, path string) {
	for i, sf := range chain {
		n := number(sf)
		switch {
		case sf.Type == typeMeta && n == 0:
			return // the message around the object has it
		case n == 0:
			c.withoutProtobuf("%s.%s: %s has no protobuf form in the original", path, f.name, sf.Name)
			return
		case i == len(chain)-1:
			c.add(p, n, f, path)
			return
		}
		// The embedded message is read into the same struct.
		inner := p.field(uint64(n) << 3)
		if inner.wire == noWire {
			into := &plan{typ: p.typ}
			p.set(n, field{fieldType: &fieldType{name: sf.Name}, wire: wireBytes, kind: kindMessage, way: wayMessage, plan: into})
			inner = &p.fields[n]
		}
		if inner.plan == nil || inner.plan.typ != p.typ {
			c.mismatch("%s.%s: it is also in %s", path, f.name, inner.name)
			return
		}
		p = inner.plan
	}
}

// find returns the original's field that f stands for, after those that it is embedded in; or what is wrong.
func find(of reflect.Type, f reflect.StructField) (chain []reflect.StructField, wrong string) {
	n := number(f)
	name, inline := jsonName(f)
	tagged := f.Tag.Get("json") != "" && !inline
	switch {
	case n > 0:
		for i := range of.NumField() {
			if number(of.Field(i)) == n {
				chain = []reflect.StructField{of.Field(i)}
			}
		}
		if chain == nil {
			return nil, fmt.Sprintf("%s has no field with the number %d", of, n)
		}
		if other, _ := jsonName(chain[0]); tagged && name != other {
			return nil, fmt.Sprintf("its tags name two fields of %s: %s and %s", of, name, other)
		}
	case tagged:
		if chain = findJSON(of, name); chain == nil {
			return nil, of.String() + " has no field " + name + " in JSON"
		}
	default:
		sf, ok := of.FieldByName(f.Name)
		if !ok || !sf.IsExported() {
			return nil, of.String() + " has no field " + f.Name
		}
		for i := range sf.Index {
			chain = append(chain, of.FieldByIndex(sf.Index[:i+1]))
		}
	}
	return chain, ""
}

// findJSON returns the field with a JSON name, after the structs that it stands inline in.
func findJSON(t reflect.Type, name string) []reflect.StructField {
	var inlined []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		n, inline := jsonName(f)
		if inline {
			inlined = append(inlined, f)
		} else if n == name && f.IsExported() {
			return []reflect.StructField{f}
		}
	}
	for _, f := range inlined {
		if f.Type.Kind() == reflect.Struct {
			if chain := findJSON(f.Type, name); chain != nil {
				return slices.Insert(chain, 0, f)
			}
		}
	}
	return nil
}

// jsonName returns the field's name in JSON, "-" for none; inline is set for a struct whose fields stand in its place.
func jsonName(f reflect.StructField) (name string, inline bool) {
	tag := f.Tag.Get("json")
	if tag == "-" {
		return tag, false
	}
	name, _, _ = strings.Cut(tag, ",")
	if name == "" {
		name, inline = f.Name, f.Anonymous
	}
	return name, inline
}

func indexes(chain []reflect.StructField) (index []int) {
	for _, f := range chain {
		index = append(index, f.Index[len(f.Index)-1])
	}
	return index
}
