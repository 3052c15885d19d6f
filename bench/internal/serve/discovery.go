package serve

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// discovery answers what clients ask to find the collection under prefix.
func (s *Server) discovery(prefix string) {
	gvr := s.c.spec.Kind.GVR()
	static := func(path string, v any) {
		s.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { answer(w, v, nil) })
	}
	static("/version", version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2"})
	static("/api", metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	if gvr.Group != "" {
		v := metav1.GroupVersionForDiscovery{GroupVersion: gvr.GroupVersion().String(), Version: gvr.Version}
		groups.Groups = append(groups.Groups, metav1.APIGroup{Name: gvr.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		static("/api/v1", metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1"})
	}
	static("/apis", groups)
	static(prefix, metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gvr.GroupVersion().String(),
		APIResources: []metav1.APIResource{{Name: gvr.Resource, Kind: s.kind.Kind, Namespaced: true, Verbs: metav1.Verbs{"get", "list", "watch"}}},
	})
}
