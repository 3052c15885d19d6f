package workload

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The custom resource: delivery pipelines.
const (
	customGroup    = "delivery.example.com"
	customVersion  = "v1"
	customResource = "pipelines"
	customKind     = "Pipeline"
)

// CRD returns the definition of the custom resource: pipelines.delivery.example.com, namespaced, with any fields.
func (g *Generator) CRD() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": customResource + "." + customGroup},
		"spec": map[string]any{
			"group": customGroup, "scope": "Namespaced",
			"names": map[string]any{"plural": customResource, "singular": "pipeline", "kind": customKind, "shortNames": []any{"pl"}},
			"versions": []any{map[string]any{
				"name": customVersion, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object",
					"properties": map[string]any{
						"spec":   map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
						"status": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
					},
				}},
				"additionalPrinterColumns": []any{
					map[string]any{"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
					map[string]any{"name": "Commit", "type": "string", "jsonPath": ".spec.source.commit"},
				},
			}},
		},
	}}
}

// customObject is a pipeline of 5 to 10 KB of JSON.
func (g *Generator) customObject(i int, s state) *unstructured.Unstructured {
	seed := mix(g.seed, 0xc570, uint64(i))
	r := rng(seed)
	incarnation := rng(mix(seed, uint64(s.incarnation)))
	w := g.workload(i)
	created := clock(w.created)
	if s.incarnation > 0 {
		created = clock(month + s.steps)
	}
	u := &unstructured.Unstructured{Object: make(map[string]any, 5)}
	u.SetAPIVersion(customGroup + "/" + customVersion)
	u.SetKind(customKind)
	u.SetName("deliver-" + w.name)
	u.SetNamespace(w.namespace)
	u.SetUID(types.UID(incarnation.uuid()))
	u.SetResourceVersion(g.resourceVersion(CustomObjects, i, s))
	u.SetGeneration(int64(1 + s.steps))
	u.SetCreationTimestamp(created)
	labels := w.labels(0)
	annotations := map[string]string{"delivery.example.com/requested-by": pick(&r, teams), "delivery.example.com/trace": incarnation.hex(32)}
	if s.label > 0 {
		labels[changedLabel] = strconv.Itoa(s.label)
	}
	if s.annotation > 0 {
		annotations[changedAnnotation] = clock(month + s.annotation).UTC().Format("2006-01-02T15:04:05Z")
	}
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	commit := rng(mix(seed, uint64(s.incarnation), uint64(s.image)))
	u.Object["spec"] = map[string]any{
		"source":      map[string]any{"repository": "https://git.example.com/" + w.team + "/" + w.service, "commit": commit.hex(40), "ref": "refs/heads/main"},
		"concurrency": int64(r.between(1, 8)), "timeoutSeconds": int64(3600), "paused": false, "threshold": 0.95,
		"stages": stages(&r, &w),
	}
	u.Object["status"] = customStatus(&r, &w, s)
	f := newFields(1024)
	f.open("metadata")
	f.keys("annotations", annotations, nil)
	f.keys("labels", labels, nil)
	f.close()
	f.open("spec")
	f.self()
	f.leaves("concurrency", "paused", "source", "stages", "threshold", "timeoutSeconds")
	f.close()
	t := newFields(256)
	t.open("status")
	t.self()
	t.leaves("conditions", "phase", "runs", "stages")
	t.close()
	u.SetManagedFields([]metav1.ManagedFieldsEntry{
		f.entry("argocd-controller", customGroup+"/"+customVersion, "", created),
		t.entry("pipeline-operator", customGroup+"/"+customVersion, "", clock(month+s.statusAt)),
	})
	return u
}

func stages(r *rng, w *workload) []any {
	list := make([]any, r.between(7, 10))
	for i := range list {
		env := make([]any, 0, 4)
		for range r.between(2, 4) {
			c := pick(r, envChoices)
			env = append(env, map[string]any{"name": c.name, "value": numbered(c.value, w.id%97)})
		}
		list[i] = map[string]any{
			"name": pick(r, components) + "-" + strconv.Itoa(i), "image": w.image("runner", 1, ""), "digest": "sha256:" + r.hex(64),
			"env": env, "command": []any{"/bin/run", "--stage=" + strconv.Itoa(i), "--workspace=/work", "--cache=/cache"},
			"approvals": map[string]any{"required": int64(r.n(3)), "teams": []any{pick(r, teams), pick(r, teams)}},
		}
	}
	return list
}

func customStatus(r *rng, w *workload, s state) map[string]any {
	phases := [...]string{"Succeeded", "Running", "Failed", "Waiting"}
	at := clock(w.created + 3600)
	if s.statusAt > 0 {
		at = clock(month + s.statusAt)
	}
	when := at.UTC().Format("2006-01-02T15:04:05Z")
	runs := make([]any, r.between(6, 11))
	for i := range runs {
		runs[i] = map[string]any{
			"id": r.uuid(), "commit": r.hex(40), "outcome": phases[r.n(3)], "seconds": int64(r.between(60, 3000)),
			"log": "https://ci.internal.example.com/runs/" + r.hex(24),
		}
	}
	return map[string]any{
		"phase": phases[(w.id+s.status)%len(phases)], "observedGeneration": int64(1 + s.steps), "runs": runs,
		"conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "reason": "RunCompleted", "message": "the last run of every stage completed", "lastTransitionTime": when},
			map[string]any{"type": "Synced", "status": "True", "reason": "Synced", "message": "source and cluster agree", "lastTransitionTime": when},
		},
	}
}
