package tarn

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/source/kube"
)

// original returns a new value of the Go type that the hub's scheme has for a resource, and its kind; nil where it has none,
// or the name does not say enough: short names are known to the server only. Whether the server means the same by the
// name is seen when it is asked (see ofKind).
func (h *Hub) original(r kube.Resource) (runtime.Object, schema.GroupVersionKind) {
	name, rest, _ := strings.Cut(strings.ToLower(r.String()), ".")
	var best schema.GroupVersionKind
	rank := func(gvk schema.GroupVersionKind) int {
		all := h.scheme.PrioritizedVersionsAllGroups()
		if i := slices.Index(all, gvk.GroupVersion()); i >= 0 && gvk.Group != "" {
			return i + 1
		} else if i < 0 {
			return len(all) + 1
		}
		return 0 // the core group is what a name without a group means first
	}
	for gvk := range h.scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || !isCalled(gvk, name) || !isIn(gvk, rest) {
			continue
		}
		if best.Empty() || rank(gvk) < rank(best) {
			best = gvk
		}
	}
	if best.Empty() {
		return nil, best
	}
	obj, err := h.scheme.New(best)
	if err != nil {
		return nil, best
	}
	return obj, best
}

// isCalled reports whether a kind, or its resource, has the name.
func isCalled(gvk schema.GroupVersionKind, name string) bool {
	plural, singular := meta.UnsafeGuessKindToResource(gvk)
	return name == plural.Resource || name == singular.Resource
}

// isIn reports whether a kind is in what stands behind a name: a group, or a version and a group.
func isIn(gvk schema.GroupVersionKind, rest string) bool {
	version, group, _ := strings.Cut(rest, ".")
	return rest == "" || rest == gvk.Group || version == gvk.Version && group == gvk.Group
}
