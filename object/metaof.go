package object

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MetaOf returns the metadata of a decoded object: what a [Codec] whose values are API objects has to return. It shares
// strings with o and nothing else.
func MetaOf(o metav1.Object) Meta {
	m := Meta{
		Key:        JoinKey(o.GetNamespace(), o.GetName()),
		UID:        string(o.GetUID()),
		Version:    o.GetResourceVersion(),
		Generation: o.GetGeneration(),
		Labels:     LabelsFromMap(o.GetLabels()),
	}
	if t := o.GetCreationTimestamp(); !t.IsZero() {
		m.Created = t.Unix()
	}
	if t := o.GetDeletionTimestamp(); !t.IsZero() {
		m.Deleting = t.Unix()
	}
	for _, r := range o.GetOwnerReferences() {
		m.Owners = append(m.Owners, Owner{
			APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: string(r.UID),
			Controller: r.Controller != nil && *r.Controller,
		})
	}
	return m
}
