package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

// listBody returns the answer of an API server, and the items in it.
func listBody(tb testing.TB, enc object.Encoding, n int) (body []byte, items [][]byte) {
	tb.Helper()
	left := int64(7)
	list := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "42", Continue: "next", RemainingItemCount: &left},
	}
	for i := range n {
		list.Items = append(list.Items, *newPod(i))
		items = append(items, encode(tb, enc, &list.Items[i]))
	}
	if enc == object.Protobuf {
		return inEnvelope(tb, list), items
	}
	return must[[]byte](tb)(json.Marshal(list)), items
}

// readList reads a list to its end.
func readList(r io.Reader, enc object.Encoding, opts wire.ListOptions) (items [][]byte, meta wire.ListMeta, err error) {
	l, err := wire.NewListReader(r, enc, opts)
	if err != nil {
		return nil, meta, err
	}
	for {
		item, err := l.Next()
		if err != nil {
			if _, again := l.Next(); again != err {
				err = fmt.Errorf("a second Next: %w", again)
			}
			return items, l.Meta(), err
		}
		items = append(items, item)
	}
}

var podListMeta = wire.ListMeta{APIVersion: "v1", Kind: "PodList", Version: "42", Continue: "next", Remaining: 7}

// Ensures that a list comes apart into exactly its items, each in memory of its size, however the body arrives.
func TestListReader_Next_Items(t *testing.T) {
	for _, enc := range encodings {
		for _, n := range []int{0, 1, 40} {
			body, want := listBody(t, enc, n)
			for how, r := range map[string]io.Reader{
				"whole": bytes.NewReader(body), "halves": iotest.HalfReader(bytes.NewReader(body)),
				"bytes": iotest.OneByteReader(bytes.NewReader(body)), "with EOF": iotest.DataErrReader(bytes.NewReader(body)),
			} {
				items, meta, err := readList(r, enc, wire.ListOptions{})
				if err != io.EOF || meta != podListMeta || len(items) != n {
					t.Fatalf("%s %s: %d items, %+v, %v", enc, how, len(items), meta, err)
				}
				for i := range items {
					if !bytes.Equal(items[i], want[i]) {
						t.Fatalf("%s %s: item %d is %q", enc, how, i, items[i])
					}
					if cap(items[i]) != len(items[i]) {
						t.Errorf("item %d has %d bytes of room for %d", i, cap(items[i]), len(items[i]))
					}
				}
			}
		}
	}
}

// Ensures that a list that ends early, wherever, is noticed and never taken for a shorter one.
func TestListReader_Next_CutOff(t *testing.T) {
	for _, enc := range encodings {
		body, _ := listBody(t, enc, 2)
		tail := 0
		for n := 0; n < len(body); n += 1 + n/200 {
			_, _, err := readList(bytes.NewReader(body[:n]), enc, wire.ListOptions{})
			switch {
			case errors.Is(err, io.ErrUnexpectedEOF):
			case enc == object.Protobuf && err == io.EOF && len(body)-n < 30:
				tail++ // behind the list message: its contentEncoding and contentType are missing whole
			default:
				t.Fatalf("%s cut off at %d of %d: %v", enc, n, len(body), err)
			}
		}
		broken := errors.New("connection reset")
		_, _, err := readList(io.MultiReader(bytes.NewReader(body[:len(body)/2]), iotest.ErrReader(broken)), enc, wire.ListOptions{})
		wantErr(t, err, broken)
	}
}

// Ensures that JSON lists are read in every order of members, and what is none is refused.
func TestListReader_Next_JSONForms(t *testing.T) {
	for _, test := range []struct {
		raw   string
		items string
		meta  wire.ListMeta
		err   error
	}{
		{
			`{"apiVersion":"x/v1","items":[{"a":1},{"b":"]}"}],"kind":"XList","metadata":{"continue":"c","resourceVersion":"3"}}`,
			`{"a":1}|{"b":"]}"}`,
			wire.ListMeta{APIVersion: "x/v1", Kind: "XList", Version: "3", Continue: "c"},
			io.EOF,
		},
		{" {\n\"items\" : [ { } , {\"a\":\n[1]} ] ,\"more\":[[{}],\"x\",1] , \"kind\":\"X\" }\n ", "{ }|{\"a\":\n[1]}", wire.ListMeta{Kind: "X"}, io.EOF},
		{`{"items":null,"metadata":null}`, ``, wire.ListMeta{}, io.EOF},
		{`{"items":[]}`, ``, wire.ListMeta{}, io.EOF},
		{`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`, ``, wire.ListMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}, wire.ErrNotList},
		{`{"kind":"Status","apiVersion":"v1","code":410}`, ``, wire.ListMeta{APIVersion: "v1", Kind: "Status"}, wire.ErrNotList},
		{`{"kind":"Pod"}`, ``, wire.ListMeta{Kind: "Pod"}, wire.ErrMalformed},
		{`{}`, ``, wire.ListMeta{}, wire.ErrMalformed},
		{`[]`, ``, wire.ListMeta{}, wire.ErrMalformed},
		{`{"items":[{}],"items":[{}]}`, `{}`, wire.ListMeta{}, wire.ErrUnusual},
		{`{"kind":"a","kind":"b"}`, ``, wire.ListMeta{Kind: "a"}, wire.ErrUnusual},
		{`{"metadata":{"continue":"a","continue":"b"}}`, ``, wire.ListMeta{}, wire.ErrUnusual},
		{`{"items":[{}]} {}`, `{}`, wire.ListMeta{}, wire.ErrMalformed},
		{`{"items":[{},]}`, `{}`, wire.ListMeta{}, wire.ErrMalformed},
		{`{"items":[,{}]}`, ``, wire.ListMeta{}, wire.ErrMalformed},
		{`{"items":[{} {}]}`, `{}`, wire.ListMeta{}, wire.ErrMalformed},
		{`{"items":[1]}`, ``, wire.ListMeta{}, wire.ErrMalformed},
		{`{"items":[{]]}`, ``, wire.ListMeta{}, wire.ErrMalformed},
		{`{"items":nil}`, ``, wire.ListMeta{}, wire.ErrMalformed},
		{`{"items":{}}`, ``, wire.ListMeta{}, wire.ErrMalformed},
		{`{"x":,"items":[]}`, ``, wire.ListMeta{}, wire.ErrMalformed},
		{`{"items":[],}`, ``, wire.ListMeta{}, wire.ErrMalformed},
		{`{"kind":1}`, ``, wire.ListMeta{}, wire.ErrMalformed},
		{`{kind:"a"}`, ``, wire.ListMeta{}, wire.ErrMalformed},
	} {
		items, meta, err := readList(strings.NewReader(test.raw), object.JSON, wire.ListOptions{})
		if got := string(bytes.Join(items, []byte("|"))); got != test.items || meta != test.meta || !errors.Is(err, test.err) {
			t.Errorf("%s: %s, %+v, %v, want %v", test.raw, got, meta, err, test.err)
		}
	}
}

// Ensures that protobuf bodies that are no list, or lie about their lengths, are refused without taking memory for them.
func TestListReader_Next_ProtobufTrouble(t *testing.T) {
	magic := []byte("k8s\x00")
	kind := func(apiVersion, kind string) []byte {
		return field(1, field(1, []byte(apiVersion)), field(2, []byte(kind)))
	}
	lie := func(n uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.BytesType), n)
	}
	for _, test := range []struct {
		name string
		raw  []byte
		want error
	}{
		{"nothing", nil, io.ErrUnexpectedEOF},
		{"JSON", []byte(`{"kind":"PodList"}`), wire.ErrMalformed},
		{"a status", join(magic, kind("v1", "Status"), field(2)), wire.ErrNotList},
		{"a table", join(magic, kind("meta.k8s.io/v1", "Table"), field(2)), wire.ErrNotList},
		{"two types", join(magic, kind("v1", "A"), kind("v1", "A")), wire.ErrUnusual},
		{"two bodies", join(magic, field(2), field(2)), wire.ErrUnusual},
		{"gzip inside", join(magic, field(2), field(3, []byte("gzip"))), wire.ErrUnusual},
		{"two metadata", join(magic, field(2, field(1), field(1))), wire.ErrUnusual},
		{"two versions", join(magic, field(2, field(1, field(2), field(2)))), wire.ErrUnusual},
		{"item as a number", join(magic, field(2, varint(2, 1))), wire.ErrMalformed},
		{"group", join(magic, field(2, []byte{0x1b})), wire.ErrUnusual},
		{"item beyond the list", join(magic, field(2, lie(5), []byte("abc")), field(4, []byte("abc"))), wire.ErrMalformed},
		{"tag beyond the list", join(magic, field(2, []byte{0x92}), []byte{1}), wire.ErrMalformed},
		{"an endless varint", join(magic, field(2, bytes.Repeat([]byte{0xff}, 20))), wire.ErrMalformed},
		{"field number 0", join(magic, field(2, []byte{0})), wire.ErrMalformed},
		{"a list of 60 MB, cut off", join(magic, lie(60<<20), lie(50<<20)), io.ErrUnexpectedEOF},
		{"an item of 1 GB", join(magic, lie(2<<30), lie(1<<30)), wire.ErrTooLarge},
		{"metadata of 1 GB", join(magic, lie(2<<30), protowire.AppendVarint([]byte{0x0a}, 1<<30)), wire.ErrTooLarge},
		{"a list of 16 EB", join(magic, lie(1<<63)), wire.ErrMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := readList(bytes.NewReader(test.raw), object.Protobuf, wire.ListOptions{})
			runtime.ReadMemStats(&after)
			wantErr(t, err, test.want)
			if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
				t.Errorf("took %d bytes", n)
			}
		})
	}
	_, _, err := readList(bytes.NewReader(join(magic, field(2, field(9), varint(8, 1), field(2, []byte("x"))))), object.Protobuf, wire.ListOptions{})
	wantErr(t, err, io.EOF) // unknown fields are skipped
}

// Ensures that an item above the limit is refused with an error that names both sizes.
func TestListReader_Next_TooLarge(t *testing.T) {
	for _, enc := range encodings {
		body, _ := listBody(t, enc, 1)
		_, _, err := readList(bytes.NewReader(body), enc, wire.ListOptions{MaxSize: 1000})
		if wantErr(t, err, wire.ErrTooLarge); !strings.Contains(err.Error(), "limit 1000") {
			t.Error(err)
		}
	}
}

// endless is the body of a list that repeats one item.
type endless struct{ parts [][]byte }

func (e *endless) Read(p []byte) (int, error) {
	for len(e.parts) > 0 && len(e.parts[0]) == 0 {
		e.parts = e.parts[1:]
	}
	if len(e.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, e.parts[0])
	e.parts[0] = e.parts[0][n:]
	return n, nil
}

// Ensures that reading 20,000 pods holds no more than a buffer and one pod.
func TestListReader_Next_MemoryDoesNotGrow(t *testing.T) {
	const count = 20_000
	for _, enc := range encodings {
		item := encode(t, enc, newPod(1))
		var parts [][]byte
		if enc == object.Protobuf {
			one := field(2, item)
			parts = append(parts, join([]byte("k8s\x00"), protowire.AppendVarint([]byte{0x12}, uint64(count*len(one)))))
			for range count {
				parts = append(parts, one)
			}
		} else {
			parts = append(parts, []byte(`{"items":[`), item)
			for range count - 1 {
				parts = append(parts, []byte(","), item)
			}
			parts = append(parts, []byte("]}"))
		}
		l := must[*wire.ListReader](t)(wire.NewListReader(&endless{parts}, enc, wire.ListOptions{}))
		heap := func() int64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		n, before, most := 0, heap(), int64(0)
		for {
			if _, err := l.Next(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if n++; n%5000 == 0 {
				most = max(most, heap()-before)
			}
		}
		if n != count || most > 1<<20 {
			t.Errorf("%s: %d items, %d bytes held", enc, n, most)
		}
	}
}
