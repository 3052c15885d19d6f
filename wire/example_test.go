package wire_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

// A pod's metadata and two of its fields, without decoding the pod.
func Example() {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web-1", ResourceVersion: "7", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{NodeName: "n7", Containers: []corev1.Container{{Image: "web:1"}, {Image: "proxy:2"}}},
	}
	raw, _ := pod.Marshal()

	node, err := wire.CompilePath(reflect.TypeFor[corev1.Pod](), "spec.nodeName")
	if err != nil {
		panic(err)
	}
	images, err := wire.CompilePath(reflect.TypeFor[corev1.Pod](), "spec.containers[*].image")
	if err != nil {
		panic(err)
	}
	m, _ := wire.Meta(object.Protobuf, raw)
	name, found, _ := node.Read(object.Protobuf, raw)
	all, _ := images.Strings(object.Protobuf, raw)
	fmt.Println(m.Key, m.Version, m.Labels)
	fmt.Println(name, found, all)
	// Output:
	// prod/web-1 7 app=web
	// n7 true [web:1 proxy:2]
}

// The error for a wrong path says what may have been meant.
func ExampleCompilePath() {
	_, err := wire.CompilePath(reflect.TypeFor[corev1.Pod](), "spec.nodename")
	fmt.Println(err)
	// Output:
	// path "spec.nodename" of v1.Pod: v1.PodSpec has no field "nodename"; did you mean "nodeName"?
}

// Fields that nobody needs are cut out before an object is stored.
func ExampleCut() {
	managed, err := wire.CompileJSONPath("metadata.managedFields")
	if err != nil {
		panic(err)
	}
	raw := []byte(`{"metadata":{"managedFields":[{"manager":"kubectl"}],"name":"a"},"data":{"k":"v"}}`)
	raw, _ = wire.Cut(object.JSON, raw, managed)
	fmt.Println(string(raw))
	// Output:
	// {"metadata":{"name":"a"},"data":{"k":"v"}}
}

// A list is read item by item.
func ExampleListReader() {
	body := strings.NewReader(`{"kind":"WidgetList","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`)
	list, err := wire.NewListReader(body, object.JSON, wire.ListOptions{})
	if err != nil {
		panic(err)
	}
	for {
		item, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(err)
		}
		m, _ := wire.Meta(object.JSON, item)
		fmt.Println(m.Key)
	}
	fmt.Println(list.Meta().Kind, list.Meta().Version)
	// Output:
	// a
	// b
	// WidgetList 7
}

// A watch is read frame by frame.
func ExampleFrameReader() {
	body := strings.NewReader(`{"type":"ADDED","object":{"metadata":{"name":"a"}}}` + "\n")
	frames, err := wire.NewFrameReader(body, object.JSON, wire.FrameOptions{})
	if err != nil {
		panic(err)
	}
	frame, _ := frames.Next()
	typ, obj, _ := wire.WatchEventJSON(frame)
	fmt.Println(typ, string(obj))
	_, err = frames.Next()
	fmt.Println(err)
	// Output:
	// ADDED {"metadata":{"name":"a"}}
	// EOF
}
