package workload

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object that the generator makes.
type Kind uint8

// The kinds. CustomObjects are of the custom resource that [Generator.CRD] defines.
const (
	Pods Kind = iota
	Namespaces
	Nodes
	ConfigMaps
	Secrets
	Deployments
	ReplicaSets
	CustomObjects
	numKinds
)

// Kinds returns all kinds in an order in which a server takes them: namespaces first, pods last.
func Kinds() []Kind {
	return []Kind{Namespaces, Nodes, ConfigMaps, Secrets, CustomObjects, Deployments, ReplicaSets, Pods}
}

var kindInfo = [numKinds]struct {
	gvr       schema.GroupVersionResource
	kind      string
	hasStatus bool // has a status subresource that Fill has to write
}{
	Pods:          {schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true},
	Namespaces:    {schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "Namespace", false},
	Nodes:         {schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "Node", true},
	ConfigMaps:    {schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap", false},
	Secrets:       {schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret", false},
	Deployments:   {schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment", true},
	ReplicaSets:   {schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, "ReplicaSet", true},
	CustomObjects: {schema.GroupVersionResource{Group: customGroup, Version: customVersion, Resource: customResource}, customKind, false},
}

// GVR returns the kind's resource.
func (k Kind) GVR() schema.GroupVersionResource { return kindInfo[k].gvr }

// GVK returns the kind's group, version and kind.
func (k Kind) GVK() schema.GroupVersionKind {
	return kindInfo[k].gvr.GroupVersion().WithKind(kindInfo[k].kind)
}

// String returns the resource's name, such as "pods".
func (k Kind) String() string {
	if k >= numKinds {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return kindInfo[k].gvr.Resource
}
