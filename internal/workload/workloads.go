package workload

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// epoch is when the cluster's history begins; everything in it was created within the month after.
const epoch = 1_767_600_000

// clock is the time the given seconds after the epoch.
func clock(seconds int) metav1.Time {
	return metav1.Time{Time: time.Unix(epoch+int64(seconds), 0).UTC()}
}

const month = 30 * 24 * 3600

// workload is what the pods of one deployment share. A bare pod is a workload of its own.
type workload struct {
	seed            uint64
	id              int
	bare            bool
	name, namespace string
	service         string
	component       string
	team            string
	revisions       int // that run at the same time
	containers      int
	created         int // seconds after the epoch
}

func (g *Generator) workload(id int) workload {
	seed := mix(g.seed, 0x30ad, uint64(id))
	r := rng(seed)
	w := workload{seed: seed, id: id, revisions: 1}
	w.service, w.component, w.team = pick(&r, services), pick(&r, components), pick(&r, teams)
	w.name = w.service + "-" + w.component + "-" + strconv.FormatInt(int64(id), 36)
	w.namespace = g.namespaceOf(seed)
	w.containers = containerCount(&r)
	w.created = r.n(month / 2)
	switch u := float64(r.n(1_000_000)) / 1_000_000; {
	case u < 0.05*g.drift:
		w.revisions = 4
	case u < 0.10*g.drift:
		w.revisions = 3
	case u < 0.40*g.drift:
		w.revisions = 2
	}
	return w
}

// bareWorkload is the workload that pod i is alone in.
func (g *Generator) bareWorkload(i int) workload {
	seed := mix(g.seed, 0xba3e, uint64(i))
	r := rng(seed)
	return workload{
		seed: seed, id: i, bare: true, revisions: 1,
		service: pick(&r, services), component: "task", team: pick(&r, teams),
		name:       pick(&r, bareNames) + "-" + strconv.FormatInt(int64(i), 36),
		namespace:  g.namespaceOf(seed),
		containers: containerCount(&r), created: r.n(month / 2),
	}
}

func containerCount(r *rng) int {
	switch u := r.n(100); {
	case u < 73:
		return 1
	case u < 92:
		return 2
	case u < 98:
		return 3
	}
	return 4
}

// revisionSeed is what the pods of one revision share and those of another do not.
func (w *workload) revisionSeed(revision int) uint64 { return mix(w.seed, 0x4e1, uint64(revision)) }

// templateHash ends the name of a revision's replica set.
func (w *workload) templateHash(revision int) string {
	r := rng(w.revisionSeed(revision))
	return suffix(r.next()/8*8+uint64(revision), 10)
}

func (w *workload) replicaSetName(revision int) string {
	return w.name + "-" + w.templateHash(revision)
}

func (w *workload) replicaSetUID(revision int) types.UID {
	r := rng(mix(w.revisionSeed(revision), 0x01d))
	return types.UID(r.uuid())
}

func (w *workload) uid() types.UID {
	r := rng(mix(w.seed, 0x01d))
	return types.UID(r.uuid())
}

// revisionOf says which running revision a replica is of. The newest is number revisions-1.
func (w *workload) revisionOf(replica int) int {
	// The first replicas cover every revision; the others follow a share that is the workload's own.
	if replica < w.revisions {
		return w.revisions - 1 - replica
	}
	r := rng(mix(w.seed, 0x5e7, uint64(replica)))
	if r.chance(0.3) {
		return w.revisions - 1
	}
	return r.n(w.revisions)
}

// version is the application's version at a revision.
func (w *workload) version(revision int) string {
	r := rng(w.seed)
	return fmt.Sprintf("%d.%d.%d", 1+r.n(6), r.n(40), 10*r.n(10)+revision)
}

// labels are the six to ten labels of the workload's template.
func (w *workload) labels(revision int) map[string]string {
	r := rng(mix(w.seed, 0x1abe1))
	l := make(map[string]string, 12)
	l["app.kubernetes.io/name"] = w.service
	l["app.kubernetes.io/instance"] = w.name
	l["component"] = w.component
	l["part-of"] = w.team
	l["app.kubernetes.io/version"] = w.version(revision)
	l["managed-by"] = "Helm"
	extra := r.n(5)
	if extra > 0 {
		l["team"] = w.team
	}
	if extra > 1 {
		l["tier"] = pick(&r, tiers)
	}
	if extra > 2 {
		l["environment"] = pick(&r, environments)
	}
	if extra > 3 {
		l["helm.sh/chart"] = w.service + "-" + w.version(0)
	}
	return l
}

// selector is the part of the labels that a deployment selects its pods by.
func (w *workload) selector() map[string]string {
	return map[string]string{"app.kubernetes.io/name": w.service, "app.kubernetes.io/instance": w.name}
}

// annotations are those of the workload's template.
func (w *workload) annotations(revision int) map[string]string {
	r := rng(w.revisionSeed(revision))
	a := make(map[string]string, 20)
	a["checksum/config"] = r.hex(64)
	shared := rng(mix(w.seed, 0xa0))
	for _, c := range templateAnnotations {
		if shared.chance(0.22) {
			a[c.name] = numbered(c.value, w.id)
		}
	}
	return a
}
