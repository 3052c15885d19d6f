package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
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

var compiledPaths = sync.OnceValue(func() (all []*wire.Path) {
	for _, path := range fuzzedPaths {
		p, err := wire.CompilePath(reflect.TypeFor[corev1.Pod](), path)
		if err != nil {
			panic(err)
		}
		all = append(all, p)
	}
	return all
})

// refused fails the test if wire refuses what the decoder accepts for another reason than that it is unusual.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, wire.ErrUnusual) {
		t.Fatalf("%s: the decoder accepts it; wire says %v", what, err)
	}
}

func objectSeeds(tb testing.TB, enc object.Encoding) [][]byte {
	pod := &corev1.Pod{}
	if err := kjson.Unmarshal([]byte(smallPod), pod); err != nil {
		tb.Fatal(err)
	}
	return [][]byte{
		encode(tb, enc, pod), []byte(smallPod), []byte(`{"metadata":{"name":"\u00fc\ud83d\udc1f","labels":{"a":null}},"spec":null}`),
		join(field(1, field(1, []byte("a"))), field(1, field(3, []byte("b"))), field(2, varint(25, 1<<33))),
	}
}

// checkObject checks all that reads an object against the decoder.
func checkObject(t *testing.T, enc object.Encoding, raw []byte) {
	t.Helper()
	raw = slices.Clip(raw)
	decoded := &corev1.Pod{}
	accepted := tryDecode(enc, raw, decoded) == nil
	m, err := wire.Meta(enc, raw)
	all, allErr := wire.Annotations(enc, raw)
	if accepted && (enc == object.Protobuf || oneMetadata(raw)) {
		if err != nil {
			refused(t, "metadata", err)
		} else if diff := cmp.Diff(object.MetaOf(decoded), m); diff != "" {
			t.Fatal(diff)
		}
		if allErr != nil {
			refused(t, "annotations", allErr)
		} else if len(all)+len(decoded.Annotations) > 0 && !reflect.DeepEqual(all, decoded.Annotations) {
			t.Fatalf("annotations %q, want %q", all, decoded.Annotations)
		}
	}
	for _, p := range compiledPaths() {
		path := p.String()
		got, err := p.Strings(enc, raw)
		cut, cutErr := wire.Cut(enc, raw, p)
		if !accepted {
			continue
		}
		if err != nil {
			refused(t, path, err)
		} else if want, err := p.FromValue(decoded); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%s = %q, want %q, %v", p, got, want, err)
		}
		if cutErr != nil {
			refused(t, path, cutErr)
			continue
		}
		if err := tryDecode(enc, cut, &corev1.Pod{}); err != nil {
			t.Fatalf("without %s: %v", p, err)
		}
		again, err := wire.Cut(enc, cut, p)
		if err != nil || path != "spec.securityContext.supplementalGroups[1]" && !bytes.Equal(cut, again) {
			t.Fatalf("%s cut twice: %v\n%q\n%q", p, err, cut, again)
		}
	}
}

// oneMetadata reports whether Meta, which stops behind the metadata, has seen all there is.
func oneMetadata(raw []byte) bool {
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
}

func FuzzObject_Protobuf(f *testing.F) { fuzzObject(f, object.Protobuf) }
func FuzzObject_JSON(f *testing.F)     { fuzzObject(f, object.JSON) }

func fuzzObject(f *testing.F, enc object.Encoding) {
	for _, raw := range objectSeeds(f, enc) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkObject(t, enc, raw) })
}

// Ensures, on every run and not only when fuzzing, that an object with a few bytes changed, doubled, moved or left out
// reads as the decoder has it, or is refused.
func TestObject_Mutated_AgreesWithDecoder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, enc := range encodings {
		for _, seed := range objectSeeds(t, enc) {
			for range 500 {
				raw := bytes.Clone(seed)
				for range 1 + rnd.IntN(2) {
					i, j := rnd.IntN(len(raw)+1), rnd.IntN(len(raw)+1)
					i, j = min(i, j), max(i, j)
					switch rnd.IntN(5) {
					case 0:
						raw = raw[:j]
					case 1:
						raw = slices.Delete(raw, i, min(j, i+1+rnd.IntN(8)))
					case 2:
						raw = slices.Insert(raw, i, bytes.Clone(raw[i:j])...)
					case 3:
						raw = slices.Insert(raw, i, `{}[]",:\u0n1 `[rnd.IntN(13)])
					default:
						if i < len(raw) {
							raw[i] ^= 1 << rnd.IntN(8)
						}
					}
				}
				checkObject(t, enc, raw)
			}
		}
	}
}

func FuzzListReader(f *testing.F) {
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
	f.Add(true, []byte(`{"type":"ADDED","object":{"a":[{}]}} {"type" : "X" , "object" : [ ] } {"object":{},"type":"X"}{"type":"A","object":{},"more":{}}`))
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
				if len(b)%2 == 0 {
					r.Buffered()
				}
				typ, obj, err := r.Event(b)
				if want, wantObj, wantErr := wire.WatchEventJSON(b); typ != want || !bytes.Equal(obj, wantObj) || (err == nil) != (wantErr == nil) {
					t.Fatalf("%q is %s %q, %v; should be %s %q, %v", b, typ, obj, err, want, wantObj, wantErr)
				}
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
