package delta

import "testing"

// Ensures that text and digits that split did not make are refused: too few digits or too many, a mark that is cut off, groups
// that do not fit, and more than there is room for.
func TestJoin_Corrupt(t *testing.T) {
	hex := []byte{0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc}
	fit := func(room int, text ...byte) ([]byte, bool) { return join(make([]byte, 0, room), text, hex) }
	if got, ok := fit(14, 'a', mark, 6|hasGroups, groups{2, 1}.byte()); !ok || string(got) != "a1234-56789abc" {
		t.Fatalf("what is right is read as %q, %t", got, ok)
	}
	for name, text := range map[string][]byte{
		"digits are left over":      {mark, 5},
		"there are too few":         {mark, 7},
		"a mark at the end":         {mark, 6, mark},
		"groups at the end":         {mark, 6 | hasGroups},
		"dashes behind the digits":  {mark, 6 | hasGroups, groups{2, 7}.byte()},
		"more before than there is": {mark, 6 | hasGroups, groups{7, 1}.byte()},
		"groups without a dash":     {mark, 6 | hasGroups, groups{9, 0}.byte()},
	} {
		if got, ok := fit(100, text...); ok {
			t.Errorf("%s: read as %q", name, got)
		}
	}
	for room := range 14 {
		if got, ok := fit(room, 'a', mark, 6|hasGroups, groups{2, 1}.byte()); ok || len(got) > room+1 {
			t.Errorf("14 characters are read into %d: %q, %t", room, got, ok)
		}
	}
}

// Ensures that copies of which something is left over, or that are cut off, are refused, and numbers that are too long.
func TestReplay_Corrupt(t *testing.T) {
	base := []byte("0123456789")
	whole := ops{heads: []byte{fromNext}, lens: []byte{2}}
	dst := make([]byte, 10)
	if !replay(dst, nil, base, nil, whole, nil) || string(dst) != string(base) {
		t.Fatalf("what is right is read as %q", dst)
	}
	for name, o := range map[string]ops{
		"a length is left over": {whole.heads, []byte{2, 0}, nil},
		"a place is left over":  {whole.heads, whole.lens, []byte{0}},
		"no length":             {whole.heads, nil, nil},
		"no place":              {[]byte{fromBase}, whole.lens, nil},
		"beyond the base":       {[]byte{fromBase}, []byte{2}, []byte{2}},
		"before it":             {[]byte{fromBase}, []byte{2}, []byte{1}},
		"too long":              {whole.heads, []byte{3}, nil},
	} {
		if replay(dst, nil, base, nil, o, nil) {
			t.Errorf("%s: read as %q", name, dst)
		}
	}
	if n, err := Size([]byte{0x80, 0x80, 0x80, 0x20, 0, 0, 0}); err == nil {
		t.Errorf("a record of %d bytes is taken for one", n)
	}
	if n, next := number([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0x01}, 0); next >= 0 {
		t.Errorf("a number of five bytes is read as %d", n)
	}
}
