package decode_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire/decode"
)

// podByName has fields that are found by their names alone.
type podByName struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec struct {
		NodeName                      string
		RestartPolicy                 string // a named string in the original
		TerminationGracePeriodSeconds int64  // a pointer in the original
		Tolerations                   []corev1.Toleration
		Overhead                      corev1.ResourceList
		Containers                    []*struct { // values in the original
			Name      string
			Env       []struct{ Name, Value string }
			Resources struct{ Requests corev1.ResourceList }
		}
		Volumes []struct {
			Name      string
			ConfigMap *struct{ Name string } // both in structs that the original embeds
		}
	}
	Status *struct { // a value in the original
		Phase     corev1.PodPhase
		StartTime *metav1.Time
	}
	Note string `json:"-"`
}

// podByTag has fields whose names say nothing.
type podByTag struct {
	M struct {
		N string            `json:"name"`
		L map[string]string `json:"labels" protobuf:"bytes,11,rep,name=labels"`
	} `json:"metadata"`
	S struct {
		Node string `json:"nodeName" protobuf:"bytes,10,opt,name=nodeName"`
	} `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// encodings returns the object's encoded forms.
func encodings(t *testing.T, v message) map[object.Encoding][]byte {
	t.Helper()
	binary, err := v.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return map[object.Encoding][]byte{object.Protobuf: binary, object.JSON: text}
}

// eachPod runs f for the encoded forms of realistic pods.
func eachPod(t *testing.T, f func(pod *corev1.Pod, enc object.Encoding, raw []byte)) {
	_, raws := workloadObjects(t, workload.Pods, 20)
	for _, raw := range raws {
		pod := new(corev1.Pod)
		if err := pod.Unmarshal(raw); err != nil {
			t.Fatal(err)
		}
		for enc, raw := range encodings(t, pod) {
			f(pod, enc, raw)
		}
	}
}

// Ensures that a slim type has what the original has in the fields of the same names, from both encodings: in structs,
// lists and maps, with a pointer for a value and the other way round; and that its own fields stay as they are.
func TestCompile_ByName_HasTheOriginalsFields(t *testing.T) {
	d := compile(t, reflect.TypeFor[podByName](), reflect.TypeFor[corev1.Pod]())
	eachPod(t, func(pod *corev1.Pod, enc object.Encoding, raw []byte) {
		got := new(podByName)
		if err := d.Decode(enc, raw, got); err != nil {
			t.Fatal(enc, err)
		}
		want := &podByName{ObjectMeta: pod.ObjectMeta}
		// This decoder goes by the names, and takes no notice of upper case.
		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want.Spec.Volumes) == 0 {
			t.Fatalf("%s: %s", enc, diff)
		}
	})
}

// Ensures that the fields of a slim type are found by their tags, whatever they are called.
func TestCompile_ByTag_HasTheOriginalsFields(t *testing.T) {
	d := compile(t, reflect.TypeFor[podByTag](), reflect.TypeFor[corev1.Pod]())
	eachPod(t, func(pod *corev1.Pod, enc object.Encoding, raw []byte) {
		got, want := new(podByTag), new(podByTag)
		if err := d.Decode(enc, raw, got); err != nil {
			t.Fatal(enc, err)
		}
		want.M.N, want.M.L, want.S.Node = pod.Name, pod.Labels, pod.Spec.NodeName
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: %s", enc, diff)
		}
	})
}

// Ensures that what a slim type does not have costs no allocation.
func TestDecoder_Decode_SkippedFieldsAllocateNothing(t *testing.T) {
	type host struct{ Spec struct{ HostNetwork bool } }
	d := compile(t, reflect.TypeFor[host](), reflect.TypeFor[corev1.Pod]())
	_, raws := workloadObjects(t, workload.Pods, 1)
	into := new(host)
	allocs := testing.AllocsPerRun(100, func() {
		if err := d.Decode(object.Protobuf, raws[0], into); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

type size struct{ W, H int }

// Inner is embedded, but not inlined.
type Inner struct{ Depth int }

// Ensures that a slim type of a type that has no protobuf form decodes from JSON, and says that it does no more.
func TestCompile_WithoutProtobuf_DecodesJSON(t *testing.T) {
	type original struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Replicas int      `json:"replicas"`
			Extra    []string `json:"extra"`
			Any      map[string]any
			Sizes    map[string]size
			Parts    []size
			Inner    `json:"inner"`
		} `json:"spec"`
	}
	type slim struct {
		Spec struct {
			Replicas int
			Any      map[string]any
			Sizes    map[string]struct{ W int }
			Parts    []struct{ W int }
			Depth    int
		}
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[slim](), reflect.TypeFor[original]()} {
		d := compile(t, typ, reflect.TypeFor[original]())
		if d.DecodesProtobuf() {
			t.Error(typ, "decodes protobuf")
		}
		for text, want := range map[string]string{
			`{"metadata":{"name":"n"},"spec":{"replicas":3,"Replicas":4,"extra":["x"],"Any":{"a":1},"inner":{"Depth":7}}}`: "3 map[a:1] true true 7",
			`{"spec":{"Sizes":{"a":{"W":1,"H":2}},"Parts":[{"W":3},{"H":4}],"Depth":8}}`:                                   "0 map[] 1 3 0",
		} {
			into := reflect.New(typ)
			if err := d.Decode(object.JSON, []byte(text), into.Interface()); err != nil {
				t.Fatal(typ, err)
			}
			spec := into.Elem().FieldByName("Spec")
			sizes, parts := spec.FieldByName("Sizes"), spec.FieldByName("Parts")
			got := fmt.Sprint(spec.FieldByName("Replicas"), " ", spec.FieldByName("Any"), " ")
			if sizes.Len() > 0 {
				got += fmt.Sprint(sizes.MapIndex(reflect.ValueOf("a")).Field(0), " ", parts.Index(0).Field(0))
			} else {
				got += fmt.Sprint(sizes.IsNil(), " ", parts.IsNil())
			}
			if got += fmt.Sprint(" ", spec.FieldByName("Depth")); got != want {
				t.Errorf("%s: got %s, want %s", typ, got, want)
			}
		}
	}
}

// Ensures that the JSON of a slim type is that of its original also where the original embeds what the slim type does
// not, and the other way round.
func TestCompile_EmbeddedJSON_IsTheOriginals(t *testing.T) {
	type named struct {
		Inner `json:"inner"`
	}
	type inlined struct {
		Inner `json:",inline"`
	}
	type flat struct{ Depth int }
	type member struct{ Inner Inner }
	for _, test := range []struct {
		t, of reflect.Type
		json  string
		want  any
	}{
		{reflect.TypeFor[flat](), reflect.TypeFor[named](), `{"inner":{"Depth":7},"Depth":8}`, &flat{7}},
		{reflect.TypeFor[flat](), reflect.TypeFor[inlined](), `{"inner":{"Depth":7},"Depth":8}`, &flat{8}},
		{reflect.TypeFor[member](), reflect.TypeFor[named](), `{"inner":{"Depth":7},"Inner":{"Depth":9}}`, &member{Inner{7}}},
		{reflect.TypeFor[member](), reflect.TypeFor[inlined](), `{"Depth":8,"Inner":{"Depth":9}}`, &member{Inner{8}}},
	} {
		got := reflect.New(test.t).Interface()
		if err := compile(t, test.t, test.of).Decode(object.JSON, []byte(test.json), got); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s out of %s: %+v, %v, want %+v", test.t, test.of, got, err, test.want)
		}
	}
}

// Ensures that a type of which one part has no protobuf form has none, whatever its other parts have.
func TestCompile_PartWithoutProtobuf(t *testing.T) {
	type value struct {
		Any map[string]any       `json:"any" protobuf:"bytes,1,rep,name=any"`
		Raw runtime.RawExtension `json:"raw" protobuf:"bytes,2,opt,name=raw"`
	}
	if compile(t, reflect.TypeFor[value](), nil).DecodesProtobuf() {
		t.Error("it decodes protobuf")
	}
}

// Ensures that a slim type's byte slices and strings survive the bytes.
func TestDecoder_Decode_SlimOwnsItsMemory(t *testing.T) {
	type secret struct {
		Data map[string][]byte
		Type string
	}
	raw := join(text(3, "Opaque"), sized(2, text(1, "a"), text(2, "xyz")))
	got := new(secret)
	if err := compile(t, reflect.TypeFor[secret](), reflect.TypeFor[corev1.Secret]()).Decode(object.Protobuf, raw, got); err != nil {
		t.Fatal(err)
	}
	clear(raw)
	if want := (&secret{map[string][]byte{"a": []byte("xyz")}, "Opaque"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Ensures that a type that does not fit its original is refused, with an error that names the field and what is wrong.
func TestCompile_Misfit_NamesTheField(t *testing.T) {
	type badName struct{ Spec struct{ NodeNam string } }
	type badKind struct {
		Spec struct{ Containers []struct{ Name int32 } }
	}
	type listForOne struct{ Spec struct{ NodeName []string } }
	type oneForList struct {
		Spec struct{ Tolerations corev1.Toleration }
	}
	type badJSON struct {
		Spec struct {
			Node string `json:"node"`
		} `json:"spec"`
	}
	type badNumber struct {
		Spec struct {
			Node string `protobuf:"bytes,900,opt,name=node"`
		}
	}
	type disagree struct {
		Spec struct {
			Node string `json:"hostname" protobuf:"bytes,10,opt,name=nodeName"`
		}
	}
	type twice struct {
		Spec struct {
			NodeName string
			Node     string `json:"nodeName"`
		}
	}
	type ownForm struct {
		Status struct{ StartTime struct{ Seconds int64 } }
	}
	type both struct {
		Spec struct {
			Volumes []struct {
				VolumeSource corev1.VolumeSource
				ConfigMap    *corev1.ConfigMapVolumeSource
			}
		}
	}
	pod := reflect.TypeFor[corev1.Pod]()
	for _, test := range []struct {
		t, of reflect.Type
		want  []string
	}{
		{reflect.TypeFor[badName](), pod, []string{"badName.Spec.NodeNam:", "v1.PodSpec has no field NodeNam"}},
		{reflect.TypeFor[badKind](), pod, []string{"badKind.Spec.Containers.Name:", "int32 where the original has string"}},
		{reflect.TypeFor[listForOne](), pod, []string{"listForOne.Spec.NodeName:", "[]string where the original has string"}},
		{reflect.TypeFor[oneForList](), pod, []string{"oneForList.Spec.Tolerations:", "v1.Toleration where the original has []v1.Toleration"}},
		{reflect.TypeFor[badJSON](), pod, []string{"badJSON.Spec.Node:", "v1.PodSpec has no field node in JSON"}},
		{reflect.TypeFor[badNumber](), pod, []string{"badNumber.Spec.Node:", "v1.PodSpec has no field with the number 900"}},
		{reflect.TypeFor[disagree](), pod, []string{"disagree.Spec.Node:", "hostname", "nodeName"}},
		{reflect.TypeFor[twice](), pod, []string{"twice.Spec.Node:", "NodeName"}},
		{reflect.TypeFor[ownForm](), pod, []string{"ownForm.Status.StartTime:", "v1.Time"}},
		{reflect.TypeFor[both](), pod, []string{"both.Spec.Volumes.ConfigMap:", "VolumeSource"}},
		{reflect.TypeFor[struct{ Object runtime.Object }](), reflect.TypeFor[runtime.RawExtension](), []string{".Object:", "no protobuf form"}},
		{reflect.TypeFor[struct{ Verbs []string }](), reflect.TypeFor[metav1.APIResource](), []string{".Verbs:", "[]string where the original has v1.Verbs"}},
		{reflect.TypeFor[int](), pod, []string{"int", "not structs"}},
		{nil, pod, []string{"not structs"}},
	} {
		_, err := decode.Compile(test.t, test.of)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error = %v, want %q in it", test.t, err, want)
			}
		}
	}
}

// Ensures that a slim type reads an object with a few bytes changed as the original does, where both accept it.
func TestDecoder_Decode_MutatedSlimAgreesWithUnmarshal(t *testing.T) {
	rnd := rand.New(rand.NewSource(6))
	d := compile(t, reflect.TypeFor[podByTag](), reflect.TypeFor[corev1.Pod]())
	_, raws := workloadObjects(t, workload.Pods, 1)
	for range 3000 {
		raw := shuffled(rnd, raws[0])
		got, pod := new(podByTag), new(corev1.Pod)
		if d.Decode(object.Protobuf, raw, got) != nil || pod.Unmarshal(raw) != nil {
			continue
		}
		if got.M.N != pod.Name || !reflect.DeepEqual(got.M.L, pod.Labels) || got.S.Node != pod.Spec.NodeName {
			t.Fatalf("%+v\n%x", got, raw)
		}
	}
}
