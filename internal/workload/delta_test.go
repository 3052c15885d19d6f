package workload_test

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/tarn-dev/tarn/internal/workload"
)

// leaves flattens an object to path → text; list items that have a name, type or uid are known by it.
func leaves(t testing.TB, obj any) map[string]string {
	t.Helper()
	raw, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				walk(path+"/"+k, e)
			}
		case []any:
			for i, e := range v {
				walk(fmt.Sprintf("%s/%d", path, i), e)
			}
		default:
			out[path] = fmt.Sprint(v)
		}
	}
	walk("", v)
	return out
}

// ownBytes counts the bytes of a's values that b does not have at the same place, without what the two values begin and
// end with alike. It counts less than a comparison of whole values would. A time counts for the three bytes by which
// two times of one month differ in protobuf.
func ownBytes(la, lb map[string]string) int {
	n := 0
	for path, va := range la {
		vb := lb[path]
		head, tail := 0, 0
		for head < min(len(va), len(vb)) && va[head] == vb[head] {
			head++
		}
		for tail < min(len(va), len(vb))-head && va[len(va)-1-tail] == vb[len(vb)-1-tail] {
			tail++
		}
		own := len(va) - head - tail
		if len(va) == len("2006-01-02T15:04:05Z") && strings.HasPrefix(va, "20") && strings.HasSuffix(va, "Z") {
			own = min(own, 3)
		}
		n += own
	}
	return n
}

// deflated returns the size of raw compressed with dict known.
func deflated(t testing.TB, raw, dict []byte) int {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriterDict(&b, flate.DefaultCompression, dict)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

func encoded(t testing.TB, obj workload.Object) []byte {
	t.Helper()
	_, raw, err := workload.Encode(obj)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func owner(p *corev1.Pod) string {
	if len(p.OwnerReferences) == 0 {
		return ""
	}
	return string(p.OwnerReferences[0].UID)
}

func mean(v []int) int {
	sum := 0
	for _, n := range v {
		sum += n
	}
	return sum / max(len(v), 1)
}

// quantiles sorts v and describes it.
func quantiles(v []int) string {
	sort.Ints(v)
	at := func(p int) int { return v[(len(v)-1)*p/100] }
	return fmt.Sprintf("n=%d mean=%d min=%d p10=%d p50=%d p90=%d max=%d", len(v), mean(v), v[0], at(10), at(50), at(90), v[len(v)-1])
}

func replicas(o workload.Object) int { return int(*o.(*appsv1.ReplicaSet).Spec.Replicas) }
