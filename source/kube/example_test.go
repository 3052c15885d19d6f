package kube_test

import (
	"context"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
)

// exampleConfig stands for what clientcmd or rest.InClusterConfig gives; its server is in memory.
func exampleConfig(body string) *rest.Config {
	return &rest.Config{Host: "http://example", Transport: canned{jsonMedia, []byte(body)}}
}

const examplePods = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"41"},"items":[
	{"metadata":{"namespace":"prod","name":"web-1","resourceVersion":"7","labels":{"app":"web"}},"spec":{"nodeName":"n1"}},
	{"metadata":{"namespace":"prod","name":"web-2","resourceVersion":"40","labels":{"app":"web"}},"spec":{"nodeName":"n2"}}]}`

// A list is read item by item. Keys, versions and labels need no decoding.
func Example() {
	client, err := kube.New(exampleConfig(examplePods))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	pods, err := client.Source(kube.Request{
		Resource:      kube.Type(scheme.Scheme, &corev1.Pod{}),
		Namespace:     "prod",
		LabelSelector: "app=web",
	})
	if err != nil {
		panic(err)
	}
	list, err := pods.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		panic(err)
	}
	defer list.Close()
	for {
		obj, err := list.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			panic(err)
		}
		value, err := obj.Decode()
		if err != nil {
			panic(err)
		}
		fmt.Println(obj.Key, obj.Version, obj.Labels, value.(*corev1.Pod).Spec.NodeName)
	}
	fmt.Println(pods.Describe(), "at", list.Meta().Version)
	// Output:
	// prod/web-1 7 app=web n1
	// prod/web-2 40 app=web n2
	// pods in "prod" at 41
}

// A watch gives one event after another.
func ExampleSource_Watch() {
	client, err := kube.New(exampleConfig(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1",
		"metadata":{"namespace":"prod","name":"web-3","resourceVersion":"42"}}}
		{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"50"}}}`))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	pods, err := client.Source(kube.Request{Resource: kube.Named("pods")})
	if err != nil {
		panic(err)
	}
	watch, err := pods.Watch(context.Background(), metav1.ListOptions{ResourceVersion: "41", AllowWatchBookmarks: true})
	if err != nil {
		panic(err)
	}
	defer watch.Close()
	for {
		event, err := watch.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			panic(err)
		}
		fmt.Println(event.Type, event.Object.Key, event.Object.Version)
	}
	// Output:
	// ADDED prod/web-3 42
	// BOOKMARK  50
}

// A resource is named as a person does it, and found when the server has it.
func ExampleClient_Resolve() {
	client, err := kube.New(exampleConfig(""))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	for _, name := range []string{"pods", "Pod", "pdos"} {
		m, err := client.Resolve(context.Background(), kube.Named(name))
		fmt.Println(m.Kind.Kind, err)
	}
	// Output:
	// Pod <nil>
	// Pod <nil>
	//  no resource "pdos" on the server (did you mean "pods"?)
}

// A codec turns bytes into values of a type.
func ExampleCodecFor() {
	codec, err := kube.CodecFor(&corev1.Pod{})
	if err != nil {
		panic(err)
	}
	pod, err := codec.Decode(object.JSON, []byte(`{"metadata":{"name":"web-1"},"spec":{"nodeName":"n1"}}`))
	if err != nil {
		panic(err)
	}
	fmt.Println(pod.(*corev1.Pod).Spec.NodeName)
	// Output: n1
}

// Code that has a REST client for a group and version can do without discovery.
func ExampleNewListWatch() {
	cfg := exampleConfig(examplePods)
	cfg.APIPath, cfg.GroupVersion = "/api", &corev1.SchemeGroupVersion
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		panic(err)
	}
	var pods source.ListerWatcher = kube.NewListWatch(client, "pods", "prod", fields.Everything())
	list, err := pods.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		panic(err)
	}
	defer list.Close()
	obj, err := list.Next()
	fmt.Println(obj.Key, err)
	// Output: prod/web-1 <nil>
}
