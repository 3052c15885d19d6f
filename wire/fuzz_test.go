package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

// smallPod has something at every fuzzed path, and little else.
const smallPod = `{"metadata":{"name":"n","namespace":"s","generation":2,"creationTimestamp":"2026-01-02T03:04:05Z",
"labels":{"a":"1","b\n":"\u00e9"},"annotations":{"x":"y"},"ownerReferences":[{"kind":"K","name":"o","uid":"u","apiVersion":"v1","controller":true}]},
"spec":{"nodeName":"n1","priority":-3,"hostNetwork":true,"containers":[{"name":"c","image":"i","args":["p","q"],"resources":{"limits":{"cpu":"100m"}},
"livenessProbe":{"httpGet":{"port":80}}}],"securityContext":{"supplementalGroups":[1,2]}},"status":{"phase":"Running","containerStatuses":[{"ready":true}]}}`

var fuzzedPaths = []string{
	"spec.nodeName", "status.phase", "metadata.labels[a]", "metadata.creationTimestamp", "spec.priority", "spec.hostNetwork",
	"spec.containers[*].args[*]", "spec.containers[0].resources.limits[cpu]", "spec.containers[*].livenessProbe.httpGet.port",
	"spec.securityContext.supplementalGroups[1]", "status.containerStatuses[*].ready",
}

// refused fails the test if wire refuses what the decoder accepts for another reason than that it is unusual.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, wire.ErrUnusual) {
		t.Fatalf("%s: the decoder accepts it; wire says %v", what, err)
	}
}

// fuzzObject checks all that reads an object against the decoder.
func fuzzObject(f *testing.F, enc object.Encoding, wholeMeta func(raw []byte) bool) {
	var paths []*wire.Path
	for _, p := range fuzzedPaths {
		paths = append(paths, compile(f, &corev1.Pod{}, p))
	}
	pod := &corev1.Pod{}
	if err := kjson.Unmarshal([]byte(smallPod), pod); err != nil {
		f.Fatal(err)
	}
	f.Add(encode(f, enc, pod))
	f.Add(encode(f, enc, newPod(1)))
	f.Add([]byte(smallPod))
	f.Add([]byte(`{"metadata":{"name":"\u00fc\ud83d\udc1f","labels":{"a":null}},"spec":null}`))
	f.Add(join(field(1, field(1, []byte("a"))), field(1, field(3, []byte("b"))), field(2, varint(25, 1<<33))))
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = slices.Clip(raw)
		decoded := &corev1.Pod{}
		accepted := tryDecode(enc, raw, decoded) == nil
		m, err := wire.Meta(enc, raw)
		all, allErr := wire.Annotations(enc, raw)
		if accepted && wholeMeta(raw) {
			switch {
			case err != nil:
				refused(t, "metadata", err)
			default:
				if diff := cmp.Diff(metaOf(decoded), m); diff != "" {
					t.Fatal(diff)
				}
			}
			switch {
			case allErr != nil:
				refused(t, "annotations", allErr)
			case len(all)+len(decoded.Annotations) > 0 && !reflect.DeepEqual(all, decoded.Annotations):
				t.Fatalf("annotations %q, want %q", all, decoded.Annotations)
			}
		}
		for _, p := range paths {
			got, err := p.Strings(enc, raw)
			cut, cutErr := wire.Cut(enc, raw, p)
			if !accepted {
				continue
			}
			want, wantErr := p.FromValue(decoded)
			switch {
			case err != nil:
				refused(t, p.String(), err)
			case wantErr != nil || !slices.Equal(got, want):
				t.Fatalf("%s = %q, want %q, %v", p, got, want, wantErr)
			}
			if cutErr != nil {
				refused(t, p.String(), cutErr)
				continue
			}
			without := &corev1.Pod{}
			if err := tryDecode(enc, cut, without); err != nil {
				t.Fatalf("without %s: %v", p, err)
			}
			again, err := wire.Cut(enc, cut, p)
			if err != nil || p.String() != "spec.securityContext.supplementalGroups[1]" && !bytes.Equal(cut, again) {
				t.Fatalf("%s cut twice: %v\n%q\n%q", p, err, cut, again)
			}
		}
	})
}

func FuzzObject_Protobuf(f *testing.F) {
	fuzzObject(f, object.Protobuf, func([]byte) bool { return true })
}

func FuzzObject_JSON(f *testing.F) {
	fuzzObject(f, object.JSON, func(raw []byte) bool {
		// Meta stops behind the metadata, so it cannot see a second one.
		d, n := json.NewDecoder(bytes.NewReader(raw)), 0
		if start, err := d.Token(); err != nil || start != json.Delim('{') {
			return true
		}
		for d.More() {
			key, err := d.Token()
			if key == "metadata" {
				n++
			}
			var skip json.RawMessage
			if err != nil || d.Decode(&skip) != nil {
				return false
			}
		}
		return n < 2
	})
}

func FuzzListReader(f *testing.F) {
	for i, enc := range encodings {
		body, _ := listBody(f, enc, 2)
		f.Add(i == 1, body)
	}
	f.Add(false, join([]byte("k8s\x00"), field(1, field(2, []byte("L"))), field(2, field(1, field(2, []byte("9"))), field(2, []byte("i")), field(2)), field(4)))
	f.Add(true, []byte(`{"kind":"L","items":[{"a":"\"]"},{}],"metadata":{"remainingItemCount":3}}`))
	f.Fuzz(func(t *testing.T, asJSON bool, body []byte) {
		enc := object.Protobuf
		if asJSON {
			enc = object.JSON
		}
		items, _, err := readList(bytes.NewReader(body), enc, wire.ListOptions{MaxSize: 1 << 20})
		if size := len(bytes.Join(items, nil)); size > len(body) {
			t.Fatalf("%d bytes of items from %d", size, len(body))
		}
		if err != io.EOF {
			return
		}
		var want [][]byte
		if asJSON {
			var list struct{ Items []json.RawMessage }
			if json.Unmarshal(body, &list) != nil || !bytes.Contains(body, []byte(`"items"`)) {
				return
			}
			for _, i := range list.Items {
				want = append(want, i)
			}
		} else {
			_, _, msg, err := wire.Envelope(body)
			var list corev1.PodList
			if err != nil || list.Unmarshal(msg) != nil {
				return
			}
			if len(list.Items) != len(items) {
				t.Fatalf("%d items, want %d", len(items), len(list.Items))
			}
			return
		}
		if len(items) > 0 && !slices.EqualFunc(items, want, bytes.Equal) {
			t.Fatalf("items %q, want %q", items, want)
		}
	})
}

func FuzzFrameReader(f *testing.F) {
	f.Add(false, []byte(frame("one")+frame("")+"\x00\x00\x01\x00x"))
	f.Add(true, []byte("{\"a\":\"}\\\"\"}\n {}{"))
	f.Fuzz(func(t *testing.T, asJSON bool, stream []byte) {
		enc := object.Protobuf
		if asJSON {
			enc = object.JSON
		}
		r := must[*wire.FrameReader](t)(wire.NewFrameReader(bytes.NewReader(stream), enc, wire.FrameOptions{MaxSize: 1 << 20}))
		for size := 0; ; {
			buffered := r.Buffered()
			b, err := r.Next()
			if buffered && errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatal("buffered, and then it was cut off")
			}
			if err != nil {
				return
			}
			if size += len(b); size > len(stream) {
				t.Fatalf("%d bytes of frames from %d", size, len(stream))
			}
			if asJSON {
				_, _, _ = wire.WatchEventJSON(b)
				continue
			}
			if _, obj, err := wire.WatchEvent(b); err == nil {
				_, _, _, _ = wire.Envelope(obj)
			}
		}
	})
}

func FuzzCompilePath(f *testing.F) {
	for _, p := range append(fuzzedPaths, `a['b.]"c']["d"][0][*]`, "a..b", "a[") {
		f.Add(p)
	}
	raw := must[[]byte](f)((&corev1.Pod{}).Marshal())
	f.Fuzz(func(t *testing.T, path string) {
		if p, err := wire.CompilePath(reflect.TypeFor[corev1.Pod](), path); err == nil {
			_, _ = p.Strings(object.Protobuf, raw)
			_, _ = p.Strings(object.JSON, []byte(smallPod))
			_, _ = p.FromValue(&corev1.Pod{})
			_, _ = wire.Cut(object.JSON, []byte(smallPod), p)
		}
		if p, err := wire.CompileJSONPath(path); err == nil {
			_, _ = p.Strings(object.JSON, []byte(smallPod))
		}
	})
}
