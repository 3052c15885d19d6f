package decode_test

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
	"github.com/tarn-dev/tarn/wire/decode"
)

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func sized(num protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), join(parts...))
}

func text(num protowire.Number, s string) []byte { return sized(num, []byte(s)) }

func varint(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}

// decoding is a method that decodes.
type decoding = func(enc object.Encoding, raw []byte, into any) error

// eachWay runs a test with both methods.
func eachWay(d *decode.Decoder, test func(name string, decode decoding)) {
	test("Decode", d.Decode)
	test("DecodeOwned", d.DecodeOwned)
}

// Ensures that what protobuf allows and a server does not write is read as the generated Unmarshal reads it.
func TestDecoder_Decode_UncommonEqualsUnmarshal(t *testing.T) {
	pod, secret, quota := new(corev1.Pod), new(corev1.Secret), new(corev1.ResourceQuota)
	lease, job, review := new(coordinationv1.Lease), new(batchv1.Job), new(authenticationv1.TokenReview)
	for _, test := range []struct {
		name string
		as   message
		raw  []byte
	}{
		{"nothing", pod, nil},
		{"empty messages", pod, join(sized(1), sized(2), sized(3))},
		{"a field twice: the last one counts", pod, sized(1, text(1, "a"), text(1, "b"))},
		{"a message twice: they merge", pod, join(sized(1, text(1, "a"), text(3, "n")), sized(1, text(1, "b")))},
		{"a message behind a pointer twice", pod, sized(2, sized(14, varint(2, 5)), sized(14, varint(3, 1)))},
		{"a number behind a pointer twice", pod, sized(2, varint(4, 5), varint(4, 6))},
		{"a list in two parts", pod, join(sized(2, sized(2, text(1, "a")), text(10, "n"), sized(2, text(1, "b"))), sized(2, sized(2, text(1, "c"))))},
		{"a list of strings in parts", pod, sized(2, sized(2, text(3, "x"), text(1, "c"), text(3, ""), text(3, "y")))},
		{"numbers one by one", pod, sized(2, sized(14, varint(4, 1), varint(4, 1<<40), varint(2, 1), varint(4, 2)))},
		{"numbers packed", pod, sized(2, sized(14, sized(4, []byte{1, 0x80, 1, 3}), varint(4, 7), sized(4)))},
		{"empty packed", pod, sized(2, sized(14, sized(4)))},
		{"a negative number", pod, sized(2, varint(4, 1<<64-1), varint(25, 1<<64-2))},
		{"a true of another number", pod, sized(2, varint(11, 2))},
		{"unknown fields of all wire types", pod, join(varint(100, 5), text(101, "x"), []byte{0xb5, 0x06, 1, 2, 3, 4}, []byte{0xb1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8}, sized(1, text(1, "a"), varint(2000, 1)))},
		{"long forms of small numbers", pod, join([]byte{0x8a, 0x00, 0x83, 0x80, 0x00}, text(1, "a"))},
		{"a number of 70 bits", pod, sized(2, []byte{4 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})},
		{"an empty time", pod, sized(1, sized(8), sized(9))},
		{"times with parts left out", pod, sized(1, sized(8, varint(2, 5)), sized(9, varint(1, 7), varint(9, 1)))},
		{"a time twice: the last one counts", pod, sized(1, sized(9, varint(1, 7)), sized(9, varint(2, 1)))},
		{"fractions of a second", lease, join(sized(2, sized(3, varint(1, 7), varint(2, 123456789)), sized(4, varint(2, 1<<64-1500))), sized(2, sized(3, varint(1, 7), varint(2, 1<<33+5000))))},
		{"bytes that are empty", secret, join(sized(2, text(1, "a"), sized(2)), sized(2, text(1, "b")))},
		{"a map entry of nothing", secret, join(sized(2), sized(4))},
		{"a map key twice", secret, join(sized(4, text(1, "a"), text(2, "x")), sized(4, text(1, "a"), text(2, "y")))},
		{"a map entry the wrong way round", secret, sized(4, text(2, "x"), text(1, "a"), text(7, "unknown"))},
		{"a map value twice", secret, sized(2, text(1, "a"), text(2, "x"), text(2, "y"))},
		{"long map entries", secret, sized(2, text(1, strings.Repeat("k", 200)), text(2, strings.Repeat("v", 300)))},
		{"quantities", quota, sized(2, sized(1, text(1, "a"), sized(2, text(1, "1Gi"))), sized(1, text(1, "b"), sized(2)), sized(1, text(1, "c")))},
		{"a quantity twice", quota, sized(2, sized(1, text(1, "a"), sized(2, text(1, "1"), text(1, "2"))))},
		{"a quantity with more to it", quota, sized(2, sized(1, text(1, "a"), sized(2, text(1, "1"), varint(7, 1))))},
		{"elements without pointers in two parts", job, join(sized(3, varint(4, 1), varint(5, 2)), sized(3, varint(4, 3)))},
		{"lists with a form of their own", review, sized(3, sized(2, sized(4, text(1, "a"), sized(2, text(1, "x"), text(1, "y"))), sized(4, text(1, "b"), sized(2)), sized(4, text(1, "c"))))},
		{"bytes in metadata", pod, sized(1, sized(17, sized(7, text(1, "")), text(8, "s")), sized(17, sized(7)), sized(17, sized(7, text(1, "x")), sized(7, text(1, "y"))))},
		{"metadata behind the rest", pod, join(sized(2, text(10, "n")), sized(1, text(1, "a")))},
	} {
		t.Run(test.name, func(t *testing.T) {
			typ := reflect.TypeOf(test.as).Elem()
			want := reflect.New(typ).Interface().(message)
			if err := want.Unmarshal(test.raw); err != nil {
				t.Fatal("the case is wrong: ", err)
			}
			eachWay(compile(t, typ, nil), func(name string, decode decoding) {
				got := reflect.New(typ).Interface()
				if err := decode(object.Protobuf, slices.Clone(test.raw), got); err != nil {
					t.Fatal(name, err)
				}
				if !reflect.DeepEqual(got, any(want)) {
					t.Fatal(name, cmp.Diff(want, got))
				}
			})
		})
	}
}

// Ensures that broken objects are refused, by the right error, which names the field.
func TestDecoder_Decode_Broken(t *testing.T) {
	nested := []byte{}
	for range 200 {
		nested = sized(1, nested)
	}
	type tree struct {
		Sub *tree `protobuf:"bytes,1,opt,name=sub"`
	}
	deep := []byte{}
	for range 3000 {
		deep = sized(1, deep)
	}
	for _, test := range []struct {
		name string
		as   any
		raw  []byte
		want error
		text string
	}{
		{"cut off in a tag", new(corev1.Pod), []byte{0x80}, wire.ErrMalformed, ""},
		{"cut off in a number", new(corev1.Pod), sized(2, []byte{4 << 3, 0x80}), wire.ErrMalformed, "Spec: "},
		{"cut off before a number", new(corev1.Pod), sized(2, []byte{4 << 3}), wire.ErrMalformed, "Spec: "},
		{"cut off in a length", new(corev1.Pod), []byte{1<<3 | 2, 0x80}, wire.ErrMalformed, ""},
		{"cut off in a value", new(corev1.Pod), sized(2, sized(2, []byte{1<<3 | 2, 5, 'a'})), wire.ErrMalformed, "Spec: Containers: "},
		{"cut off in an unknown field", new(corev1.Pod), []byte{0xb5, 0x06, 1, 2, 3}, wire.ErrMalformed, ""},
		{"a length beyond all bounds", new(corev1.Pod), append([]byte{1<<3 | 2}, protowire.AppendVarint(nil, 1<<63)...), wire.ErrMalformed, ""},
		{"cut off in packed numbers", new(corev1.Pod), sized(2, sized(14, sized(4, []byte{0x80}))), wire.ErrMalformed, "SupplementalGroups: "},
		{"a number for a string", new(corev1.Pod), sized(2, varint(10, 1)), wire.ErrMalformed, "Spec: NodeName: malformed object: protobuf wire type 0 in field 10"},
		{"a string for a number", new(corev1.Pod), sized(2, text(4, "x")), wire.ErrMalformed, "Spec: "},
		{"a string for a time's seconds", new(corev1.Pod), sized(1, sized(8, text(1, "x"))), wire.ErrMalformed, "CreationTimestamp: "},
		{"a quantity that is none", new(corev1.ResourceQuota), sized(2, sized(1, text(1, "a"), sized(2, text(1, "many")))), wire.ErrMalformed, "Hard: "},
		{"a wire type that does not exist", new(corev1.Pod), []byte{1<<3 | 7, 0}, wire.ErrMalformed, ""},
		{"the end of a group", new(corev1.Pod), []byte{1<<3 | 4}, wire.ErrMalformed, ""},
		{"a group", new(corev1.Pod), []byte{100<<3&0x7f | 0x80 | 3, 6, 100<<3&0x7f | 0x80 | 4, 6}, wire.ErrUnusual, "group"},
		{"field number 0", new(corev1.Pod), []byte{2, 0}, wire.ErrUnusual, "number 0"},
		{"a map key that is a number", new(corev1.Secret), sized(4, varint(1, 5)), wire.ErrUnusual, "StringData: "},
		{"a map entry cut off", new(corev1.Secret), sized(4, []byte{1<<3 | 2, 9, 'a'}), wire.ErrUnusual, "StringData: "},
		{"nesting without end", new(tree), deep, wire.ErrUnusual, "Sub: Sub: "},
		{"another encoding", new(corev1.Pod), nil, wire.ErrEncoding, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			enc := object.Protobuf
			if test.want == wire.ErrEncoding {
				enc = object.None
			}
			err := compile(t, reflect.TypeOf(test.as).Elem(), nil).Decode(enc, test.raw, test.as)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error = %v, want %v and %q in it", err, test.want, test.text)
			}
		})
	}
}

// Ensures that a value of another type is refused.
func TestDecoder_Decode_IntoOtherType(t *testing.T) {
	d := compile(t, reflect.TypeFor[corev1.Pod](), nil)
	for _, into := range []any{nil, new(corev1.Secret), corev1.Pod{}, (*corev1.Pod)(nil)} {
		if err := d.Decode(object.Protobuf, nil, into); err == nil || !strings.Contains(err.Error(), "*v1.Pod is expected") {
			t.Errorf("%T: error = %v", into, err)
		}
	}
}

// Ensures that whoever keeps the names and labels of objects does not keep the objects' text.
func TestDecoder_Decode_MetadataKeepsLittle(t *testing.T) {
	typ, raws := workloadObjects(t, workload.Pods, 16)
	for i := range raws { // every second one has metadata of a size that is not worth keeping for a name
		pod := new(corev1.Pod)
		if err := pod.Unmarshal(raws[i]); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "last-applied", strings.Repeat("x", 8000))
		}
		var err error
		if raws[i], err = pod.Marshal(); err != nil {
			t.Fatal(err)
		}
	}
	d := compile(t, typ, nil)
	var kept []string
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	eachWay(d, func(name string, decode decoding) {
		before := heap()
		const n = 1000
		for i := range n {
			pod := new(corev1.Pod)
			if err := decode(object.Protobuf, slices.Clone(raws[i%16]), pod); err != nil {
				t.Fatal(err)
			}
			kept = append(kept, pod.Name)
			for key := range pod.Labels {
				kept = append(kept, key)
			}
			for _, m := range pod.ManagedFields {
				if name == "Decode" { // managers of bytes that are handed over are a part of them
					kept = append(kept, m.Manager, m.Subresource)
				}
			}
		}
		if per := int(heap()-before) / n; per > 3000 {
			t.Errorf("%s: %d bytes are kept for each pod", name, per)
		}
		runtime.KeepAlive(kept)
	})
}

// Ensures that byte slices of a result can be appended to and changed without anything else of it changing.
func TestDecoder_Decode_ByteSlicesAreSeparate(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "n", ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1("{}")}, {FieldsV1: metav1.NewFieldsV1("{}")}}},
		Data:       map[string][]byte{"a": []byte("aaa"), "b": []byte("bbb"), "c": {}},
		Type:       "Opaque",
	}
	raw, err := secret.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	want := secret.DeepCopy()
	for key, b := range want.Data {
		want.Data[key] = bytes.ToUpper(b)
	}
	eachWay(compile(t, reflect.TypeFor[corev1.Secret](), nil), func(name string, decode decoding) {
		got := new(corev1.Secret)
		if err := decode(object.Protobuf, slices.Clone(raw), got); err != nil {
			t.Fatal(err)
		}
		for key, b := range got.Data {
			_ = append(b, "zzzzzzzzzzzz"...)
			for i := range b {
				b[i] = key[0] - 'a' + 'A'
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Error(name, cmp.Diff(want, got))
		}
	})
}

// Ensures that the maps and lists that no built-in type has are read, too.
func TestDecoder_Decode_OtherMapsAndLists(t *testing.T) {
	type value struct {
		Counts map[string]int64        `protobuf:"bytes,1,rep,name=counts"`
		Flags  map[string]bool         `protobuf:"bytes,2,rep,name=flags"`
		Times  map[string]*metav1.Time `protobuf:"bytes,3,rep,name=times"`
		Refs   []*corev1.EnvVar        `protobuf:"bytes,4,rep,name=refs"`
		Blobs  [][]byte                `protobuf:"bytes,5,rep,name=blobs"`
		Bits   []bool                  `protobuf:"varint,6,rep,name=bits"`
	}
	d := compile(t, reflect.TypeFor[value](), nil)
	raw := join(
		sized(1, text(1, "a"), varint(2, 300)), sized(1, text(1, "b")), sized(2, text(1, "c"), varint(2, 1)),
		sized(3, text(1, "d"), sized(2, varint(1, 7))), sized(4, text(1, "x")), sized(4, text(1, "y")), text(5, "z"), text(5, ""), varint(6, 1), sized(6, []byte{0, 1}),
	)
	want := &value{
		Counts: map[string]int64{"a": 300, "b": 0}, Flags: map[string]bool{"c": true}, Times: map[string]*metav1.Time{"d": {Time: time.Unix(7, 0)}},
		Refs: []*corev1.EnvVar{{Name: "x"}, {Name: "y"}}, Blobs: [][]byte{[]byte("z"), {}}, Bits: []bool{true, false, true},
	}
	got := new(value)
	if err := d.Decode(object.Protobuf, raw, got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	if err := d.Decode(object.Protobuf, sized(1, text(1, "a"), text(2, "x")), new(value)); !errors.Is(err, wire.ErrUnusual) {
		t.Errorf("a string for a number: error = %v", err)
	}
}

// Ensures that strings are not allocated one by one.
func TestDecoder_Decode_AllocatesLess(t *testing.T) {
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name: "name", Namespace: "space", UID: "uid", ResourceVersion: "12",
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet", Operation: "Update", APIVersion: "v1", FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 4000))}},
		},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "p", Namespace: "s", UID: "v", APIVersion: "v1", FieldPath: "f"},
		Reason:         "Started", Message: "Container started", Source: corev1.EventSource{Component: "kubelet", Host: "n1"}, Type: "Normal",
	}
	raw, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	d := compile(t, reflect.TypeFor[corev1.Event](), nil)
	into := new(corev1.Event)
	allocs := testing.AllocsPerRun(100, func() {
		*into = corev1.Event{}
		if err := d.Decode(object.Protobuf, raw, into); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 6 { // the texts of the metadata, of the entry, and of the rest; the list; its fields and their bytes
		t.Errorf("%v allocations", allocs)
	}
}

// Ensures that a broken object makes the decoder allocate no more than a sound one of its size.
func TestDecoder_Decode_BrokenAllocatesLittle(t *testing.T) {
	raw := sized(2)
	for range 1000 {
		raw = append(raw, text(10, "n")...)
	}
	raw = append(sized(2, raw), 0x80)
	huge := append([]byte{2<<3 | 2}, protowire.AppendVarint(nil, 1<<40)...)
	d := compile(t, reflect.TypeFor[corev1.Pod](), nil)
	for _, raw := range [][]byte{raw, huge} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := d.Decode(object.Protobuf, raw, new(corev1.Pod)); err == nil {
			t.Error("no error")
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 64<<10 {
			t.Errorf("%d bytes allocated for an object of %d", got, len(raw))
		}
	}
}
