package client

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tarn-dev/tarn/internal/workload"
)

// object returns an empty object of the kind: typed where client-go has the type.
func object(kind workload.Kind) crclient.Object {
	switch kind {
	case workload.Pods:
		return &corev1.Pod{}
	case workload.Secrets:
		return &corev1.Secret{}
	case workload.ConfigMaps:
		return &corev1.ConfigMap{}
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GVK())
	return u
}

// list returns an empty list of the kind.
func list(kind workload.Kind) crclient.ObjectList {
	switch kind {
	case workload.Pods:
		return &corev1.PodList{}
	case workload.Secrets:
		return &corev1.SecretList{}
	case workload.ConfigMaps:
		return &corev1.ConfigMapList{}
	}
	u := &unstructured.UnstructuredList{}
	gvk := kind.GVK()
	gvk.Kind += "List"
	u.SetGroupVersionKind(gvk)
	return u
}

// deepCopy returns a copy of obj, for libraries that hand out what they share.
func deepCopy(obj any) any { return obj.(runtime.Object).DeepCopyObject() }

// mapper knows the kind's resource, so that no client asks the server.
func mapper(kind workload.Kind) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GVK().GroupVersion()})
	gvr := kind.GVR()
	m.AddSpecific(kind.GVK(), gvr, gvr, meta.RESTScopeNamespace)
	return m
}
