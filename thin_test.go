package tarn_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
	"github.com/tarn-dev/tarn/wire"
)

// somePods is a source of three realistic pods in one encoding, and the pods.
func somePods(t *testing.T, enc object.Encoding) (source.ListerWatcher, []*corev1.Pod) {
	t.Helper()
	g := workload.New(workload.Options{Pods: 3})
	codec, err := kube.CodecFor(&corev1.Pod{})
	must(t, err)
	var pods []*corev1.Pod
	var items []*object.Object
	for o := range g.All(workload.Pods) {
		pod := o.(*corev1.Pod).DeepCopy()
		pod.TypeMeta = metav1.TypeMeta{}
		raw, err := pod.Marshal()
		if enc == object.JSON {
			raw, err = json.Marshal(pod)
		}
		must(t, err)
		meta, err := wire.Meta(enc, raw)
		must(t, err)
		pods = append(pods, pod)
		items = append(items, &object.Object{Meta: meta, Encoding: enc, Raw: raw, Codec: codec, Derived: true})
	}
	return &source.ListWatch{
		DisableStreamingList: true,
		ListFunc: func(context.Context, metav1.ListOptions) (source.List, error) {
			return source.ListOf(source.ListMeta{Version: "9"}, items...), nil
		},
		WatchFunc: func(ctx context.Context, _ metav1.ListOptions) (source.Watch, error) {
			return silent{ctx}, nil
		},
	}, pods
}

// silent is a watch without events.
type silent struct{ ctx context.Context }

func (s silent) Next() (source.Event, error) { <-s.ctx.Done(); return source.Event{}, s.ctx.Err() }
func (silent) Buffered() bool                { return false }
func (silent) Close() error                  { return nil }

// inSync runs an informer until the test ends, once it is synced.
func inSync[T any](t *testing.T, i *tarn.Informer[T], err error) *tarn.Informer[T] {
	t.Helper()
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- i.Run(ctx) }()
	t.Cleanup(func() { cancel(); must(t, <-done) })
	must(t, i.WaitSynced(ctx))
	return i
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Ensures that what is dropped is not there, that everything else is, and that the values say that they are partial, in
// every layout and encoding.
func TestDrop_Partial(t *testing.T) {
	for _, enc := range []object.Encoding{object.JSON, object.Protobuf} {
		for name, layout := range map[string][]tarn.Option{"lean": nil, "live": {tarn.Live()}} {
			t.Run(enc.String()+"/"+name, func(t *testing.T) {
				src, want := somePods(t, enc)
				pods, err := tarn.New[*corev1.Pod](src, nil, append(layout, tarn.Drop("metadata.managedFields", "spec.containers[*].env"), tarn.Partial())...)
				pods = inSync(t, pods, err)
				for _, w := range want {
					got, ok, err := pods.Get(w.Namespace + "/" + w.Name)
					if !ok || err != nil {
						t.Fatal(ok, err)
					}
					if !tarn.IsPartial(got) || !tarn.IsPartial(got.DeepCopy()) || tarn.IsPartial(w) {
						t.Error("it does not say that it is partial")
					}
					w.ManagedFields = nil
					for i := range w.Spec.Containers {
						w.Spec.Containers[i].Env = nil
					}
					metav1.SetMetaDataAnnotation(&w.ObjectMeta, tarn.PartialAnnotation, "true")
					if diff := cmp.Diff(w, got); diff != "" {
						t.Error(diff)
					}
					view, _, err := pods.View(w.Namespace + "/" + w.Name)
					if err != nil || !tarn.IsPartial(view) {
						t.Error("a view does not say that it is partial", err)
					}
					o, _ := pods.Object(w.Namespace + "/" + w.Name)
					if _, raw, err := o.Encoded(); err != nil || strings.Contains(string(raw), tarn.PartialAnnotation) || strings.Contains(string(raw), "fieldsV1") {
						t.Error("the stored form is marked, or whole", err)
					}
					if !tarn.IsPartial(view) {
						t.Error("to encode it took the mark from the value")
					}
				}
			})
		}
	}
}

// Ensures that values which come decoded lose what is dropped too, and that one that cannot be encoded, and so not be cut, is
// marked instead of kept whole.
func TestDrop_Decoded(t *testing.T) {
	codec, err := kube.CodecFor(&corev1.Pod{})
	must(t, err)
	whole := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, ResourceVersion: "1", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		}}
	}
	item := func(name string, value any) *object.Object {
		return &object.Object{Meta: object.Meta{Key: "a/" + name, Version: "1"}, Value: value, Codec: codec}
	}
	src := &source.ListWatch{
		DisableStreamingList: true,
		ListFunc: func(context.Context, metav1.ListOptions) (source.List, error) {
			return source.ListOf(source.ListMeta{Version: "9"}, item("good", whole("good")), item("bad", "not a pod")), nil
		},
		WatchFunc: func(ctx context.Context, _ metav1.ListOptions) (source.Watch, error) { return silent{ctx}, nil },
	}
	quiet := tarn.Logger(slog.New(slog.DiscardHandler))
	for name, layout := range map[string][]tarn.Option{"lean": nil, "live": {tarn.Live()}} {
		t.Run(name, func(t *testing.T) {
			pods, err := tarn.New[*corev1.Pod](src, codec, append(layout, tarn.Drop("metadata.managedFields"), tarn.Partial(), quiet)...)
			pods = inSync(t, pods, err)
			got, ok, err := pods.Get("a/good")
			if !ok || err != nil || got.Name != "good" || got.ManagedFields != nil || !tarn.IsPartial(got) {
				t.Errorf("%v, %t, %v", got, ok, err)
			}
			if o, ok := pods.Object("a/bad"); !ok || o.Err == nil {
				t.Errorf("what cannot be cut is kept as %v", o)
			}
		})
	}
}

// Ensures that to read what is not kept is an error that says so, also of an index, and that all else can be read.
func TestDrop_Field(t *testing.T) {
	src, _ := somePods(t, object.Protobuf)
	dropped, err := tarn.New[*corev1.Pod](src, nil, tarn.Drop("metadata.managedFields", "spec.containers[*].env", "metadata.annotations[a]"), tarn.Partial())
	dropped = inSync(t, dropped, err)
	kept, err := tarn.New[*corev1.Pod](src, nil, tarn.Keep("spec.nodeName", "status", "metadata.annotations[a]"), tarn.Partial())
	kept = inSync(t, kept, err)
	key := ""
	for p, err := range kept.All() {
		must(t, err)
		key = p.Namespace + "/" + p.Name
	}
	for path, in := range map[string]struct{ dropped, kept bool }{
		"spec.nodeName":                     {true, true},
		"status.phase":                      {true, true},
		"metadata.labels[app]":              {true, true},
		"metadata.uid":                      {true, true},
		"metadata.annotations[a]":           {false, true},
		"metadata.annotations[b]":           {true, false},
		"metadata.managedFields[*].manager": {false, false},
		"spec.containers[0].env[0].name":    {false, false},
		"spec.containers[*].image":          {true, false},
		"status.containerStatuses[0].ready": {true, true},
	} {
		for i, want := range map[*tarn.Informer[*corev1.Pod]]bool{dropped: in.dropped, kept: in.kept} {
			_, _, err := i.Field(key, path)
			if (err == nil) != want || err != nil && !errors.Is(err, tarn.ErrDropped) {
				t.Errorf("%s: %v", path, err)
			}
			if err := i.AddIndexes(tarn.IndexField("by "+path, path)); (err == nil) != want || err != nil && !errors.Is(err, tarn.ErrDropped) {
				t.Errorf("index of %s: %v", path, err)
			}
		}
	}
}

// podLite has a few fields of a pod, found by their names.
type podLite struct {
	metav1.ObjectMeta
	Spec struct {
		NodeName   string
		Containers []struct{ Image string }
	}
}

// Ensures that mistakes are errors at once, which say what to do.
func TestFor_Thin_Mistakes(t *testing.T) {
	hub, err := tarn.NewHub(&rest.Config{Host: "http://127.0.0.1:1"})
	must(t, err)
	defer hub.Close()
	full := func(o ...tarn.Option) error { _, err := tarn.For[*corev1.Pod](hub, o...); return err }
	slim := func(o ...tarn.Option) error {
		_, err := tarn.For[*podLite](hub, append(o, tarn.Resource("pods"))...)
		return err
	}
	type noSuchField struct{ Spec struct{ Node string } }
	type otherType struct{ Spec struct{ NodeName int } }
	_, noField := tarn.For[*noSuchField](hub, tarn.Resource("pods"))
	_, wrongType := tarn.For[*otherType](hub, tarn.GVR(corev1.SchemeGroupVersion.WithResource("pods")))
	_, unknown := tarn.For[*podLite](hub, tarn.Resource("po"))
	_, whole := tarn.For[*podLite](hub, tarn.Resource("pods"), tarn.Transform(func(p *podLite) (*podLite, error) { return p, nil }))
	_, loose := tarn.For[*unstructured.Unstructured](hub, tarn.Resource("tasks"), tarn.Drop("spec.log"))
	for name, test := range map[string]struct {
		err  error
		want string // empty: none
	}{
		"full, dropped":             {full(tarn.Drop("metadata.managedFields")), "tarn.Partial()"},
		"full, kept":                {full(tarn.Keep("spec")), "tarn.Partial()"},
		"unstructured, dropped":     {loose, "tarn.Partial()"},
		"partial":                   {full(tarn.Keep("spec"), tarn.Partial()), ""},
		"slim":                      {slim(), ""},
		"slim, others dropped":      {slim(tarn.Drop("status", "metadata.managedFields")), ""},
		"slim, its fields kept":     {slim(tarn.Keep("metadata", "spec.nodeName", "spec.containers[*].image")), ""},
		"slim, its field dropped":   {slim(tarn.Drop("spec.nodeName")), "spec.nodeName"},
		"slim, its field not kept":  {slim(tarn.Keep("spec.nodeName")), "spec.containers[*].image"},
		"a field that is not there": {full(tarn.Drop("spec.nodName"), tarn.Partial()), "did you mean \"nodeName\""},
		"what is needed":            {full(tarn.Drop("metadata"), tarn.Partial()), "tarn itself reads metadata.name"},
		"one element":               {full(tarn.Keep("spec.containers[0]"), tarn.Partial()), "[*]"},
		"slim, no such field":       {noField, "Spec.Node"},
		"slim, another type":        {wrongType, "NodeName"},
		"slim, unknown original":    {unknown, "plural"},
		"slim, transform":           {whole, "Transform"},
	} {
		if (test.err == nil) != (test.want == "") || test.err != nil && !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%s: %v", name, test.err)
		}
	}
}

// Ensures that two types of the same name, and informers that keep other fields, do not get each other's objects.
func TestFor_Thin_NotShared(t *testing.T) {
	one := func(hub *tarn.Hub) (any, error) {
		type lite struct{ Spec struct{ NodeName string } }
		return tarn.For[*lite](hub, tarn.Resource("pods"))
	}
	two := func(hub *tarn.Hub) (any, error) {
		type lite struct{ Spec struct{ Hostname string } }
		return tarn.For[*lite](hub, tarn.Resource("pods"))
	}
	hub, err := tarn.NewHub(&rest.Config{Host: "http://127.0.0.1:1"})
	must(t, err)
	defer hub.Close()
	a, err := one(hub)
	must(t, err)
	b, err := two(hub)
	must(t, err)
	if reflect.TypeOf(a) == reflect.TypeOf(b) {
		t.Fatal("the test needs two types")
	}
	if tarn.MirrorOf(a) == tarn.MirrorOf(b) {
		t.Error("two types of one name share a mirror")
	}
	c, err := tarn.For[*corev1.Pod](hub)
	must(t, err)
	d, err := tarn.For[*corev1.Pod](hub, tarn.Drop("status"), tarn.Partial())
	must(t, err)
	e, err := tarn.For[*corev1.Pod](hub)
	must(t, err)
	if tarn.MirrorOf(c) == tarn.MirrorOf(d) || tarn.MirrorOf(c) != tarn.MirrorOf(e) {
		t.Error("what is kept does not decide who shares a mirror")
	}
}
