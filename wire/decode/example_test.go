package decode_test

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire/decode"
)

// PodLite is what a controller wants of a pod.
type PodLite struct {
	metav1.ObjectMeta
	Spec   struct{ NodeName string }
	Status struct{ Phase corev1.PodPhase }
}

func ExampleCompile_slim() {
	raw, err := (&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart-1"},
		Spec:       corev1.PodSpec{NodeName: "node-7", Containers: []corev1.Container{{Name: "cart"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}).Marshal()
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := decode.Compile(reflect.TypeFor[PodLite](), reflect.TypeFor[corev1.Pod]())
	if err != nil {
		fmt.Println(err)
		return
	}
	var pod PodLite
	if err := d.Decode(object.Protobuf, raw, &pod); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pod.Namespace, pod.Name, pod.Spec.NodeName, pod.Status.Phase)
	// Output: shop cart-1 node-7 Running
}

func ExampleDecoder_Decode() {
	raw, err := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"level": "info"}}).Marshal()
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := decode.Compile(reflect.TypeFor[corev1.ConfigMap](), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var settings corev1.ConfigMap
	if err := d.Decode(object.Protobuf, raw, &settings); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(settings.Name, settings.Data["level"])
	// Output: settings info
}
