package tarn_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/tarntest"
)

// A program that prints which pods of the namespace prod come, change and go, until it is interrupted: the one that the
// README shows.
func Example() {
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check(err)
	hub, err := tarn.NewHub(cfg) // one per process and server
	check(err)
	pods, err := tarn.For[*corev1.Pod](hub, tarn.Namespace("prod"), tarn.IndexField("node", "spec.nodeName"))
	check(err)
	_, err = pods.Subscribe(tarn.HandlerFunc[*corev1.Pod](func(_ context.Context, e tarn.Event[*corev1.Pod]) {
		fmt.Println(e.Type, e.Key, e.Object().Version)
	}))
	check(err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	check(pods.Run(ctx)) // until Ctrl-C; what goes wrong meanwhile is logged, and recovered from
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type task struct {
	metav1.ObjectMeta `json:"metadata"`
	Worker            string `json:"worker"`
}

func newTask(name, worker string) *task {
	return &task{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: map[string]string{"queue": "q1"}}, Worker: worker}
}

// start runs an informer of three tasks and waits until it is synced.
func start(options ...tarn.Option) (tasks *tarn.Informer[*task], src *tarntest.Source, stop func()) {
	src = tarntest.NewSource(tarntest.JSON[task]())
	src.Add(newTask("boil", "ann"))
	src.Add(newTask("peel", "bob"))
	src.Add(newTask("slice", "ann"))
	tasks, err := tarn.New[*task](src, tarntest.JSON[task](), options...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := tasks.Run(ctx); err != nil {
			log.Print(err)
		}
	}()
	if err := tasks.WaitSynced(ctx); err != nil {
		log.Fatal(err)
	}
	return tasks, src, func() { cancel(); <-done }
}

// An informer of any source: here of a collection in memory, as in a test.
func ExampleNew() {
	tasks, _, stop := start(tarn.IndexField("worker", "worker"))
	defer stop()

	boil, ok, err := tasks.Get("demo/boil")
	fmt.Println(boil.Worker, ok, err)
	for t, err := range tasks.By("worker", "ann") {
		fmt.Println(t.Name, err)
	}
	// Output:
	// ann true <nil>
	// boil <nil>
	// slice <nil>
}

// A subscription gets what is stored, then what happens. Here it only cares for one worker, and looks at nothing but
// metadata and one value.
func ExampleInformer_Subscribe() {
	tasks, src, stop := start()
	defer stop()

	events := make(chan string, 10)
	sub, err := tasks.Subscribe(tarn.HandlerFunc[*task](func(_ context.Context, e tarn.Event[*task]) {
		events <- fmt.Sprintf("%s %s initial=%v", e.Type, e.Key, e.Initial)
	}), tarn.Where(func(t *task) bool { return t.Worker == "bob" }))
	if err != nil {
		log.Fatal(err)
	}
	if err := sub.WaitSynced(context.Background()); err != nil {
		log.Fatal(err)
	}
	src.Update(newTask("boil", "bob"))
	src.Delete("demo/peel")
	for range 3 {
		fmt.Println(<-events)
	}
	// Output:
	// added demo/peel initial=true
	// added demo/boil initial=false
	// deleted demo/peel initial=false
}

// A controller: handlers put keys into a workqueue, and who takes one out reads the newest state. As an update knows the
// state before it, both the old and the new owner of a task are seen to.
func Example_workqueue() {
	tasks, src, stop := start(tarn.IndexField("worker", "worker"))
	defer stop()

	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	defer queue.ShutDown()
	enqueue := func(t *task, err error) {
		if err == nil {
			queue.Add(t.Worker)
		}
	}
	sub, err := tasks.Subscribe(tarn.HandlerFunc[*task](func(_ context.Context, e tarn.Event[*task]) {
		enqueue(e.Old()) // tarn.ErrNoValue for Added
		enqueue(e.New())
	}))
	if err != nil {
		log.Fatal(err)
	}
	reconcile := func() {
		worker, _ := queue.Get()
		defer queue.Done(worker)
		n := 0
		for range tasks.By("worker", worker) {
			n++
		}
		fmt.Println(worker, n)
		queue.Forget(worker)
	}
	if err := sub.WaitSynced(context.Background()); err != nil {
		log.Fatal(err)
	}
	reconcile()
	reconcile()
	src.Update(newTask("slice", "bob"))
	reconcile()
	reconcile()
	// Output:
	// ann 2
	// bob 1
	// ann 1
	// bob 2
}

// Several conditions, and several reads, are answered from one state. Objects come in encoded form: nothing is decoded.
func ExampleSnapshot_Objects() {
	tasks, _, stop := start(tarn.IndexField("worker", "worker"))
	defer stop()

	now := tasks.Snapshot()
	objects, err := now.Objects(tarn.Indexed("worker", "ann"), tarn.HasLabels("queue=q1"))
	if err != nil {
		log.Fatal(err)
	}
	for o := range objects {
		fmt.Println(o.Key, o.Labels)
	}
	worker, _, err := now.Field("demo/peel", "worker")
	fmt.Println(worker, err)
	// Output:
	// demo/boil queue=q1
	// demo/slice queue=q1
	// [bob] <nil>
}

// A predicate decides what is kept; with *object.Object it needs no decoding.
func ExampleOnly() {
	tasks, _, stop := start(tarn.Only(func(o *object.Object) bool { return o.Name() != "peel" }))
	defer stop()
	fmt.Println(tasks.Len())
	// Output: 2
}

// Waiting for sync says why it is not there yet, in one line.
func ExampleInformer_WaitSynced() {
	src := tarntest.NewSource(tarntest.JSON[task]())
	tasks, err := tarn.New[*task](src, tarntest.JSON[task](), tarn.Name("tasks"))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(tasks.WaitSynced(ctx))
	// Output: not synced: tasks: it does not run: call Run (context deadline exceeded)
}

// A struct with a few of a pod's fields, which are found by their names, is a type for an informer: nothing else is
// decoded. With Keep, nothing else is kept either.
func ExampleKeep() {
	type PodLite struct {
		metav1.ObjectMeta
		Spec struct{ NodeName string }
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check(err)
	hub, err := tarn.NewHub(cfg)
	check(err)
	pods, err := tarn.For[*PodLite](hub, tarn.Resource("pods"), tarn.Keep("metadata", "spec.nodeName", "status.phase"))
	check(err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	go func() { check(pods.Run(ctx)) }()
	check(pods.WaitSynced(ctx))
	for pod, err := range pods.All() {
		check(err)
		phase, _, err := pods.Field(object.JoinKey(pod.Namespace, pod.Name), "status.phase")
		check(err)
		fmt.Println(pod.Name, pod.Spec.NodeName, phase)
	}
}

// What nobody needs is cut from the bytes as they come. A full type then does not have it, which has to be said.
func ExampleDrop() {
	tasks, _, stop := start(tarn.Drop("worker"), tarn.Partial())
	defer stop()
	boil, _, err := tasks.Get("demo/boil")
	check(err)
	fmt.Printf("%s, worker %q, partial: %v\n", boil.Name, boil.Worker, tarn.IsPartial(boil))
	_, _, err = tasks.Field("demo/boil", "worker")
	fmt.Println(err)
	// Output:
	// boil, worker "", partial: true
	// informer of *tarn_test.task: worker: the field is not kept: the informer's option Drop names worker
}
