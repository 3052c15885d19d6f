package kube

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// catalog is what a server offers, as of one discovery. It is immutable.
type catalog struct {
	entries []entry // groups in the server's order, within one the preferred version first
	failed  error   // some groups did not answer; nil where all did
	number  uint64  // counts discoveries
}

// entry is one resource in one version.
type entry struct {
	Mapping
	singular string
	short    []string
	listable bool
}

// newCatalog makes a catalog of what discovery returned.
func newCatalog(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) *catalog {
	byVersion := make(map[string]*metav1.APIResourceList, len(lists))
	for _, l := range lists {
		byVersion[l.GroupVersion] = l
	}
	c := &catalog{}
	for _, g := range groups {
		c.add(byVersion[g.PreferredVersion.GroupVersion], g.PreferredVersion.GroupVersion)
		for _, v := range g.Versions {
			if v.GroupVersion != g.PreferredVersion.GroupVersion {
				c.add(byVersion[v.GroupVersion], v.GroupVersion)
			}
		}
	}
	return c
}

// add adds the resources of one group and version; list may be nil.
func (c *catalog) add(list *metav1.APIResourceList, groupVersion string) {
	gv, err := schema.ParseGroupVersion(groupVersion)
	if list == nil || err != nil {
		return
	}
	for _, r := range list.APIResources {
		if strings.Contains(r.Name, "/") {
			continue // a subresource
		}
		e := entry{
			Mapping:  Mapping{Resource: gv.WithResource(r.Name), Kind: gv.WithKind(r.Kind), Namespaced: r.Namespaced},
			singular: r.SingularName,
			short:    r.ShortNames,
		}
		for _, v := range r.Verbs {
			e.listable = e.listable || v == "list"
		}
		c.entries = append(c.entries, e)
	}
}

// find looks r up.
func (c *catalog) find(r Resource) (entry, bool) {
	switch {
	case r.text != "":
		return c.findNamed(strings.ToLower(r.text))
	case r.gvr.Resource != "":
		return c.first(func(e *entry) bool {
			return e.Resource.Group == r.gvr.Group && e.Resource.Resource == r.gvr.Resource &&
				(r.gvr.Version == "" || e.Resource.Version == r.gvr.Version)
		})
	}
	for _, k := range r.kinds {
		e, ok := c.first(func(e *entry) bool {
			return e.Kind.Group == k.Group && e.Kind.Kind == k.Kind && (k.Version == "" || e.Kind.Version == k.Version)
		})
		if ok {
			return e, true
		}
	}
	return entry{}, false
}

// findNamed looks up what a person typed, in lower case.
func (c *catalog) findNamed(text string) (entry, bool) {
	name, rest, dotted := strings.Cut(text, ".")
	if !dotted {
		return c.firstNamed(name, func(*entry) bool { return true })
	}
	version, group, _ := strings.Cut(rest, ".")
	for _, in := range []func(*entry) bool{
		func(e *entry) bool { return e.Resource.Group == group && e.Resource.Version == version },
		func(e *entry) bool { return e.Resource.Group == rest },
		func(e *entry) bool { return strings.HasPrefix(e.Resource.Group, rest) },
	} {
		if e, ok := c.firstNamed(name, in); ok {
			return e, true
		}
	}
	return entry{}, false
}

// firstNamed returns the entry within the groups and versions of in whose name fits best.
func (c *catalog) firstNamed(name string, in func(*entry) bool) (entry, bool) {
	for _, fits := range []func(*entry) bool{
		func(e *entry) bool { return e.Resource.Resource == name },
		func(e *entry) bool { return e.singular == name },
		func(e *entry) bool {
			for _, s := range e.short {
				if s == name {
					return true
				}
			}
			return false
		},
		func(e *entry) bool { return strings.EqualFold(e.Kind.Kind, name) },
	} {
		if e, ok := c.first(func(e *entry) bool { return in(e) && fits(e) }); ok {
			return e, true
		}
	}
	return entry{}, false
}

// first returns the first entry that fits; one that can be listed comes before one that cannot.
func (c *catalog) first(fits func(*entry) bool) (entry, bool) {
	var found *entry
	for i := range c.entries {
		if e := &c.entries[i]; fits(e) {
			if e.listable {
				return *e, true
			}
			if found == nil {
				found = e
			}
		}
	}
	if found == nil {
		return entry{}, false
	}
	return *found, true
}

// suggest returns up to three things on the server that may have been meant by r, the closest first.
func (c *catalog) suggest(r Resource) []string {
	name := strings.ToLower(r.String())
	name, _, _ = strings.Cut(name, ".")
	var best [4][]string // by distance
	seen := map[string]bool{}
	for i := range c.entries {
		e := &c.entries[i]
		if !e.listable {
			continue
		}
		d := min(distance(name, e.Resource.Resource), distance(name, e.singular), distance(name, strings.ToLower(e.Kind.Kind)))
		for _, s := range e.short {
			if s == name { // it exists, but in another group or version
				d = 0
			}
		}
		// A short word is close to everything: one letter in three may differ.
		if d >= len(best) || d > 0 && d > len(name)/3 {
			continue
		}
		s := qualified(e.Resource.Resource, "", e.Resource.Group)
		if d == 0 {
			s = qualified(e.Resource.Resource, e.Resource.Version, e.Resource.Group)
		}
		if !seen[s] {
			seen[s] = true
			best[d] = append(best[d], s)
		}
	}
	var all []string
	for _, names := range best {
		all = append(all, names...)
	}
	return all[:min(3, len(all))]
}

// distance is the number of letters to insert, drop, replace or swap with their neighbour that lead from a to b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
