package workload

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// namespaceName returns the name of namespace i.
func (g *Generator) namespaceName(i int) string {
	if i < len(namespaces) {
		return namespaces[i]
	}
	return namespaces[i%len(namespaces)] + "-" + strconv.Itoa(i/len(namespaces))
}

// namespaceOf returns the namespace that a seed falls into; the first ones are the fullest.
func (g *Generator) namespaceOf(seed uint64) string {
	r := rng(mix(seed, 0x4a3e))
	n := g.counts[Namespaces]
	return g.namespaceName(min(r.n(n), r.n(n)))
}

func (g *Generator) namespace(i int) *corev1.Namespace {
	r := rng(mix(g.seed, 0x4a3ec, uint64(i)))
	n := &corev1.Namespace{TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}}
	n.Name, n.UID = g.namespaceName(i), types.UID(r.uuid())
	n.ResourceVersion = g.resourceVersion(Namespaces, i, state{})
	n.CreationTimestamp = clock(r.n(3600))
	n.Labels = map[string]string{corev1.LabelMetadataName: n.Name, "team": pick(&r, teams)}
	n.Annotations = map[string]string{"ownership.example.com/cost-center": strconv.Itoa(r.between(1000, 9999))}
	n.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
	n.Status.Phase = corev1.NamespaceActive
	f := newFields(256)
	f.open("metadata")
	f.keys("annotations", n.Annotations, nil)
	f.keys("labels", n.Labels, nil)
	f.close()
	n.ManagedFields = []metav1.ManagedFieldsEntry{f.entry("terraform", "v1", "", n.CreationTimestamp)}
	return n
}

// configMeta is the metadata that config maps and secrets have in common.
func (g *Generator) configMeta(kind Kind, i int, r *rng, suffix string) metav1.ObjectMeta {
	w := g.workload(i)
	return metav1.ObjectMeta{
		Name: w.name + suffix, Namespace: w.namespace, UID: types.UID(r.uuid()),
		ResourceVersion: g.resourceVersion(kind, i, state{}), CreationTimestamp: clock(w.created),
		Labels:      w.labels(0),
		Annotations: map[string]string{"meta.helm.sh/release-name": w.name, "checksum/content": r.hex(64)},
	}
}

// managedData returns the entry of who wrote the object's data under the given keys.
func managedData(m *metav1.ObjectMeta, manager string, keys ...string) []metav1.ManagedFieldsEntry {
	f := newFields(1024)
	f.open("data")
	f.self()
	f.leaves(keys...)
	f.close()
	f.open("metadata")
	f.keys("annotations", m.Annotations, nil)
	f.keys("labels", m.Labels, nil)
	f.close()
	return []metav1.ManagedFieldsEntry{f.entry(manager, "v1", "", m.CreationTimestamp)}
}

func (g *Generator) configMap(i int) *corev1.ConfigMap {
	r := rng(mix(g.seed, 0xc04f, uint64(i)))
	c := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}}
	c.ObjectMeta = g.configMeta(ConfigMaps, i, &r, "-config")
	var yaml strings.Builder
	for range r.between(8, 60) {
		fmt.Fprintf(&yaml, "%s:\n  endpoint: https://%s.%s.svc:8443\n  timeout: %dms\n  retries: %d\n",
			pick(&r, services), pick(&r, components), pick(&r, namespaces), r.between(50, 9000), r.n(6))
	}
	c.Data = map[string]string{"config.yaml": yaml.String(), "log-level": "info"}
	c.ManagedFields = managedData(&c.ObjectMeta, "helm", "config.yaml", "log-level")
	return c
}

func (g *Generator) secret(i int) *corev1.Secret {
	r := rng(mix(g.seed, 0x5ec4e7, uint64(i)))
	s := &corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}, Type: corev1.SecretTypeOpaque}
	s.ObjectMeta = g.configMeta(Secrets, i, &r, "-tls")
	s.Data = map[string][]byte{
		"password": []byte(r.hex(32)),
		"token":    []byte(r.base64Text(r.between(200, 900))),
		"bundle":   []byte(r.base64Text(r.between(800, 2400))),
	}
	s.ManagedFields = managedData(&s.ObjectMeta, "external-secrets", "bundle", "password", "token")
	return s
}
