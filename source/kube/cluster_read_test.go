//go:build devcluster

package kube_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
)

var filled sync.Once

// filledCluster returns the shared cluster, with 1,000 pods and what goes with them.
func filledCluster(t *testing.T) *devcluster.Cluster {
	t.Helper()
	c := devcluster.Shared(t)
	filled.Do(func() {
		begin := time.Now()
		if err := workload.Fill(t.Context(), c.Config(), workload.New(workload.Options{Pods: 1000}), workload.FillOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Logf("filled in %v", time.Since(begin))
	})
	return c
}

// clusterSource returns a source that reads from a server with cfg.
func clusterSource(t *testing.T, cfg *rest.Config, req kube.Request) *kube.Source {
	t.Helper()
	client, err := kube.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	src, err := client.Source(req)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// readPages reads a list in pages.
func readPages(t *testing.T, lw source.ListerWatcher, limit int64) []*object.Object {
	t.Helper()
	var all []*object.Object
	options := metav1.ListOptions{Limit: limit}
	for {
		objs, m := readAll(t, lw, options)
		all = append(all, objs...)
		if len(objs) > int(limit) {
			t.Errorf("a page of %d, %+v", len(objs), m)
		}
		if options.Continue = m.Continue; options.Continue == "" {
			return all
		}
	}
}

// readStream reads a streaming list up to the bookmark that ends it.
func readStream(t *testing.T, lw source.ListerWatcher) []*object.Object {
	t.Helper()
	yes := true
	w, err := lw.Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var all []*object.Object
	for {
		e, err := w.Next()
		switch {
		case err != nil || e.Err != nil:
			t.Fatalf("%+v, %v", e, err)
		case e.InitialEventsEnd:
			if e.Type != source.Bookmark || e.Object.Version == "" {
				t.Errorf("end of the initial events: %+v", e)
			}
			return all
		case e.Type != source.Added:
			t.Errorf("%s among the initial events", e.Type)
		}
		all = append(all, e.Object)
	}
}

// checkObjects compares objects with what client-go got.
func checkObjects(t *testing.T, how string, enc object.Encoding, want map[string]runtime.Object, got []*object.Object) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d objects, want %d", how, len(got), len(want))
	}
	for _, o := range got {
		v, err := o.Decode()
		if err != nil || o.Err != nil || o.Encoding != enc {
			t.Fatalf("%s: %s is %s: %v, %v", how, o.Key, o.Encoding, err, o.Err)
		}
		if diff := cmp.Diff(want[o.Key], v); diff != "" {
			t.Fatalf("%s: %s (-want +got):\n%s", how, o.Key, diff)
		}
		m, err := o.Codec.Meta(v)
		if err != nil || !cmp.Equal(m, o.Meta) {
			t.Fatalf("%s: %s: metadata (-decoded +read):\n%s", how, o.Key, cmp.Diff(m, o.Meta))
		}
	}
}

// wanted lists with client-go's own clients.
func wanted(t *testing.T, list runtime.Object, err error) map[string]runtime.Object {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]runtime.Object{}
	err = meta.EachListItem(list, func(o runtime.Object) error {
		a := o.(metav1.Object)
		want[object.JoinKey(a.GetNamespace(), a.GetName())] = o
		return nil
	})
	if err != nil || len(want) == 0 {
		t.Fatalf("%d objects, %v", len(want), err)
	}
	return want
}

// Ensures that list, paged list and streaming list give exactly what a GET through client-go gives: typed in protobuf,
// unstructured and custom resources in JSON, and metadata only.
func TestCluster_Reads_EqualPlainGet(t *testing.T) {
	c := filledCluster(t)
	ctx := t.Context()
	typed := kubernetes.NewForConfigOrDie(c.Config())
	dyn := dynamic.NewForConfigOrDie(c.Config())
	partial := metadata.NewForConfigOrDie(c.Config())
	all := metav1.ListOptions{}
	namespace := workload.New(workload.Options{Pods: 1000}).Object(workload.Pods, 0).GetNamespace()

	pods, err := typed.CoreV1().Pods("").List(ctx, all)
	wantPods := wanted(t, pods, err)
	inNamespace, err := typed.CoreV1().Pods(namespace).List(ctx, all)
	wantInNamespace := wanted(t, inNamespace, err)
	someLabel := ""
	for k, v := range pods.Items[0].Labels {
		someLabel = k + "=" + v
	}
	labelled, err := typed.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: someLabel})
	wantLabelled := wanted(t, labelled, err)
	someField := "spec.nodeName=" + pods.Items[0].Spec.NodeName
	onNode, err := typed.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: someField})
	wantOnNode := wanted(t, onNode, err)
	nodes, err := dyn.Resource(workload.Nodes.GVR()).List(ctx, all)
	wantNodes := wanted(t, nodes, err)
	custom, err := dyn.Resource(workload.CustomObjects.GVR()).List(ctx, all)
	wantCustom := wanted(t, custom, err)
	podMeta, err := partial.Resource(workload.Pods.GVR()).List(ctx, all)
	wantPodMeta := wanted(t, podMeta, err)
	customMeta, err := partial.Resource(workload.CustomObjects.GVR()).List(ctx, all)
	wantCustomMeta := wanted(t, customMeta, err)

	podType := kube.Type(scheme.Scheme, &corev1.Pod{})
	for _, r := range []struct {
		name string
		req  kube.Request
		enc  object.Encoding
		want map[string]runtime.Object
	}{
		{"pods", kube.Request{Resource: podType}, object.Protobuf, wantPods},
		{"pods of a namespace", kube.Request{Resource: podType, Namespace: namespace}, object.Protobuf, wantInNamespace},
		{"pods with a label", kube.Request{Resource: podType, LabelSelector: someLabel}, object.Protobuf, wantLabelled},
		{"pods of a node", kube.Request{Resource: podType, FieldSelector: someField}, object.Protobuf, wantOnNode},
		{"nodes", kube.Request{Resource: kube.Named("no")}, object.JSON, wantNodes},
		{"custom", kube.Request{Resource: kube.GVR(workload.CustomObjects.GVR())}, object.JSON, wantCustom},
		{"pod metadata", kube.Request{Resource: kube.Named("po"), MetadataOnly: true}, object.Protobuf, wantPodMeta},
		{"custom metadata", kube.Request{Resource: kube.GVK(workload.CustomObjects.GVK()), MetadataOnly: true}, object.None, wantCustomMeta},
	} {
		src := clusterSource(t, c.Config(), r.req)
		objs, m := readAll(t, src, all)
		if r.enc == object.None { // the server decides
			r.enc = objs[0].Encoding
			t.Logf("%s come as %s", r.name, r.enc)
		}
		if m.Version == "" || m.Continue != "" || m.GVK.Empty() {
			t.Errorf("%s: list says %+v", r.name, m)
		}
		checkObjects(t, r.name+" listed", r.enc, r.want, objs)
		checkObjects(t, r.name+" in pages", r.enc, r.want, readPages(t, src, 37))
		checkObjects(t, r.name+" streamed", r.enc, r.want, readStream(t, src))
	}
}
