package wire_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

// Ensures that an error for a wrong path names the type, the wrong part and what may have been meant.
func TestCompilePath_Wrong_Explains(t *testing.T) {
	for path, want := range map[string]string{
		"spec.nodName":                       `v1.PodSpec has no field "nodName"; did you mean "nodeName"?`,
		"spec.NodeName":                      `v1.PodSpec has no field "NodeName"; did you mean "nodeName"?`,
		"status.x":                           `v1.PodStatus has no field "x"; it has`,
		"spec.containers.image":              `[]v1.Container is a list: select from it with [0] or [*] before "image"`,
		"metadata.labels.app":                `map[string]string is a map: select a key in brackets: [app]`,
		"metadata.labels[*]":                 `labels is a map (map[string]string): name one key`,
		"spec.containers[web]":               `containers is a list ([]v1.Container): a number or * belongs in the brackets, not "web"`,
		"spec.nodeName[0]":                   `nodeName is a string, not a list or a map`,
		"spec.nodeName.x":                    `string has no fields: "x" cannot follow it`,
		"metadata.creationTimestamp.seconds": `v1.Time has no fields`,
		"spec..x":                            `a name is missing at position 5`,
		"":                                   `a name is missing at position 0`,
		"spec.":                              `a name is missing at position 5`,
		"spec]":                              `']' at position 4`,
		"metadata.labels[":                   `no key and closing bracket`,
		"metadata.labels['a]":                `no '] at the end`,
		"metadata.labels[a]b":                `'b' at position 18`,
	} {
		_, err := wire.CompilePath(reflect.TypeFor[corev1.Pod](), path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"`+path+`"`) {
			t.Errorf("%q: error %v, want one with the path and %q", path, err, want)
		}
	}
}

// Ensures that paths of every form read from both encodings and from the value.
func TestPath_Strings_Forms(t *testing.T) {
	pod := newPod(3)
	pod.Labels["a]b"] = "bracket"
	pod.Labels["*"] = "star"
	for path, want := range map[string][]string{
		"spec.nodeName": {"node-003.eu-west-1.compute.internal"},
		"status.phase":  {"Running"},
		"metadata.labels[app.kubernetes.io/name]":       {"checkout"},
		"metadata.labels['a]b']":                        {"bracket"},
		`metadata.labels["*"]`:                          {"star"},
		"metadata.labels[absent]":                       nil,
		"spec.containers[*].image":                      {"registry.example.com/shop/checkout:v1.42.0", "registry.example.com/shop/proxy:v1.42.0"},
		"spec.containers[1].name":                       {"proxy"},
		"spec.containers[2].name":                       nil,
		"spec.containers[0].args[2]":                    {"--config=/etc/checkout/config.yaml"},
		"spec.containers[0].resources.requests[cpu]":    {"250m"},
		"spec.containers[0].livenessProbe.httpGet.port": {"http"},
		"spec.volumes[0].configMap.name":                {"checkout-config"},
		"spec.terminationGracePeriodSeconds":            {"30"},
		"spec.hostNetwork":                              nil,
		"status.containerStatuses[*].ready":             {"true"},
		"status.containerStatuses[*].restartCount":      {"0"},
		"metadata.creationTimestamp":                    {"2025-10-09T08:53:23Z"},
		"metadata.deletionTimestamp":                    nil,
		"metadata.uid":                                  {string(pod.UID)},
	} {
		p := compile(t, pod, path)
		for _, enc := range encodings {
			if got, err := p.Strings(enc, encode(t, enc, pod)); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s from %s = %q, %v, want %q", path, enc, got, err, want)
			}
		}
		if got, err := p.FromValue(*pod); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s from the value = %q, %v, want %q", path, got, err, want)
		}
	}
}

// Ensures that a field without a value is found exactly if the type always writes it.
func TestPath_Read_Zero(t *testing.T) {
	for path, want := range map[string][]string{
		"status.replicas":                       nil, // omitempty
		"status.conditions[0].type":             nil,
		"spec.replicas":                         nil, // a pointer
		"spec.template.spec.containers[0].name": nil,
		"metadata.name":                         nil,
	} {
		checkBoth(t, &appsv1.Deployment{}, path, want)
	}
	checkBoth(t, &appsv1.ReplicaSet{}, "status.replicas", []string{"0"})
	checkBoth(t, &appsv1.DaemonSet{}, "status.currentNumberScheduled", []string{"0"})
	none := int32(0)
	checkBoth(t, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &none}}, "spec.replicas", []string{"0"})
	// Older servers do not know the field: the decoder makes it zero.
	p := compile(t, &appsv1.ReplicaSet{}, "status.replicas")
	for enc, raw := range map[object.Encoding]string{object.Protobuf: "", object.JSON: "{}"} {
		if v, found, err := p.Read(enc, []byte(raw)); v != "0" || !found || err != nil {
			t.Errorf("%s: %q, %v, %v", enc, v, found, err)
		}
	}
}

func checkBoth(t *testing.T, v message, path string, want []string) {
	t.Helper()
	for _, enc := range encodings {
		if got, err := compile(t, v, path).Strings(enc, encode(t, enc, v)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%T %s from %s = %q, %v, want %q", v, path, enc, got, err, want)
		}
	}
}

// Ensures that objects without a Go type are read by the same paths, and render numbers as they are decoded.
func TestPath_JSON_Untyped(t *testing.T) {
	raw := `{"apiVersion":"x/v1","spec":{"size":3,"ratio":1.50,"big":1e3,"on":true,"none":null,"m":{"a.b/c":"v","0":"zero"},"list":[["x"],["y","z"],null],"s":"\u00e9"},"metadata":{"name":"n"}}`
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(strings.Replace(raw, `{"api`, `{"kind":"X","api`, 1))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"spec.size": {"3"}, "spec.ratio": {"1.5"}, "spec.big": {"1000"}, "spec.on": {"true"}, "spec.none": nil, "spec.none.x": nil,
		"spec.m[a.b/c]": {"v"}, "spec.m['0']": {"zero"}, "spec.list[1][0]": {"y"}, "spec.list[*][*]": {"x", "y", "z"},
		"spec.s": {"é"}, "spec.absent.deeper": nil, "metadata.name": {"n"}, "apiVersion": {"x/v1"},
	} {
		p := must[*wire.Path](t)(wire.CompileJSONPath(path))
		if got, err := p.Strings(object.JSON, []byte(raw)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s = %q, %v, want %q", path, got, err, want)
		}
		if got, err := p.FromValue(u); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s from the value = %q, %v, want %q", path, got, err, want)
		}
	}
	for path, want := range map[string]error{"spec.m": wire.ErrNotScalar, "spec.list": wire.ErrNotScalar, "spec.size.x": wire.ErrMalformed, "spec.m[1]": wire.ErrMalformed} {
		p := must[*wire.Path](t)(wire.CompileJSONPath(path))
		_, err := p.Strings(object.JSON, []byte(raw))
		wantErr(t, err, want)
		_, err = p.FromValue(u)
		wantErr(t, err, want)
		_, err = p.Strings(object.Protobuf, nil)
		wantErr(t, err, wire.ErrEncoding)
	}
	// The type says that it has none.
	p := must[*wire.Path](t)(wire.CompilePath(reflect.TypeFor[*unstructured.Unstructured](), "spec.size"))
	if v, _, err := p.Read(object.JSON, []byte(raw)); v != "3" || err != nil {
		t.Errorf("spec.size = %q, %v", v, err)
	}
}

// Ensures that what does not fit the type, or is not for this path, is an error and never an empty answer.
func TestPath_Read_Trouble(t *testing.T) {
	pod := &corev1.Pod{}
	node, labels := compile(t, pod, "spec.nodeName"), compile(t, pod, "metadata.labels[a]")
	for _, test := range []struct {
		path *wire.Path
		enc  object.Encoding
		raw  string
		want error
	}{
		{node, object.JSON, `{"spec":{"nodeName":1}}`, wire.ErrMalformed},
		{node, object.JSON, `{"spec":[]}`, wire.ErrMalformed},
		{node, object.JSON, `{"spec":{"nodeName":"a"}`, wire.ErrMalformed},
		{node, object.JSON, `{"spec":{"nodeName":"a"}} x`, wire.ErrMalformed},
		{node, object.JSON, `{"spec":{"nodeName":"a","nodeName":"b"}}`, wire.ErrUnusual},
		{node, object.JSON, `{"spec":{},"spec":{"nodeName":"a"}}`, wire.ErrUnusual},
		{node, object.Protobuf, string(join(field(2, field(10, []byte("a"))), field(2))), wire.ErrUnusual},
		{node, object.Protobuf, string(field(2, field(10), field(10))), wire.ErrUnusual},
		{node, object.Protobuf, string(field(2, varint(10, 1))), wire.ErrMalformed},
		{node, object.Protobuf, string(varint(2, 1)), wire.ErrMalformed},
		{node, object.Protobuf, string(field(2, field(10, []byte("a")))[:4]), wire.ErrMalformed},
		{labels, object.JSON, `{"metadata":{"labels":{"a":"1","a":"1"}}}`, wire.ErrUnusual},
		{labels, object.JSON, `{"metadata":{"labels":{"a":null}}}`, wire.ErrUnusual},
		{labels, object.Protobuf, string(field(1, field(11, field(1, []byte("a"))))), wire.ErrUnusual},
		{compile(t, pod, "spec.terminationGracePeriodSeconds"), object.JSON, `{"spec":{"terminationGracePeriodSeconds":1.5}}`, wire.ErrMalformed},
		{compile(t, pod, "spec.containers[0].resources.limits[cpu]"), object.JSON, `{"spec":{"containers":[{"resources":{"limits":{"cpu":"much"}}}]}}`, wire.ErrMalformed},
		{compile(t, pod, "spec"), object.JSON, `{}`, wire.ErrNotScalar},
		{compile(t, pod, "kind"), object.Protobuf, ``, wire.ErrEncoding},
	} {
		_, found, err := test.path.Read(test.enc, []byte(test.raw))
		if wantErr(t, err, test.want); found || err != nil && !strings.Contains(err.Error(), test.path.String()) {
			t.Errorf("%s of %q: found %v, error %v", test.path, test.raw, found, err)
		}
	}
	_, err := node.FromValue(&corev1.Node{})
	wantErr(t, err, wire.ErrEncoding)
	_, err = node.FromValue((*corev1.Pod)(nil))
	wantErr(t, err, wire.ErrMalformed)
	if node.Scalar() != true || compile(t, pod, "spec").Scalar() != false {
		t.Error("Scalar is wrong")
	}
}

// Ensures that a type that only has metadata, and one that holds values of any kind, have paths.
func TestCompilePath_OtherTypes(t *testing.T) {
	type slim struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Size   int32   `json:"size"`
			Weight float64 `json:"weight,omitempty"`
			Any    any     `json:"any"`
		} `json:"spec"`
	}
	raw := `{"kind":"Slim","metadata":{"name":"n"},"spec":{"size":2,"weight":0.5,"any":{"deep":[7]}}}`
	for path, want := range map[string]string{"metadata.name": "n", "kind": "Slim", "spec.size": "2", "spec.weight": "0.5", "spec.any.deep[0]": "7"} {
		p := must[*wire.Path](t)(wire.CompilePath(reflect.TypeFor[*slim](), path))
		if got, found, err := p.Read(object.JSON, []byte(raw)); got != want || !found || err != nil {
			t.Errorf("%s = %q, %v, %v", path, got, found, err)
		}
		var v slim
		v.Kind, v.Name, v.Spec.Size, v.Spec.Weight, v.Spec.Any = "Slim", "n", 2, 0.5, map[string]any{"deep": []any{7}}
		if got, err := p.FromValue(&v); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%s from the value = %q, %v", path, got, err)
		}
	}
	compile(t, metav1.PartialObjectMetadata{}, "metadata.labels[a]")
}
