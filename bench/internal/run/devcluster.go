package run

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/tarn-dev/tarn/bench/internal/serve"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/faultproxy"
	"github.com/tarn-dev/tarn/internal/workload"
)

// DevCluster is the [Servers] of a real API server, filled with the step's pods. Clients reach it through a proxy, which can
// keep them from seeing something. How fast a burst comes is the server's doing.
func DevCluster(ctx context.Context, s Step) (_ Address, _ func() error, err error) {
	if s.Kind != workload.Pods {
		return Address{}, nil, fmt.Errorf("the development cluster is for workloads of pods, not of %s", s.Kind)
	}
	d := &devserver{step: s, g: workload.New(workload.Options{Seed: s.Seed, Drift: &s.Drift, Pods: s.Objects})}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if d.cluster, err = devcluster.New(ctx); err != nil {
		return Address{}, nil, err
	}
	cfg := d.cluster.Config()
	cfg.QPS = -1
	if d.client, err = kubernetes.NewForConfig(cfg); err != nil {
		return Address{}, nil, err
	}
	if err := workload.Fill(ctx, d.cluster.Config(), d.g, workload.FillOptions{Kinds: []workload.Kind{workload.Namespaces}}); err != nil {
		return Address{}, nil, err
	}
	if err := workload.Store(ctx, d.cluster.EtcdURL(), d.g, workload.Pods); err != nil {
		return Address{}, nil, err
	}
	if d.proxy, err = faultproxy.New(d.cluster.Config(), faultproxy.Options{}); err != nil {
		return Address{}, nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Address{}, nil, err
	}
	mux := http.NewServeMux()
	serve.Handle(mux, d)
	d.ctx, d.cancel = context.WithCancel(ctx)
	d.http = &http.Server{Handler: mux}
	go d.http.Serve(l)
	return Address{Server: d.proxy.Config().Host, Control: "http://" + l.Addr().String()}, d.close, nil
}

// devserver is a real API server as a [serve.Control].
type devserver struct {
	step    Step
	g       *workload.Generator
	cluster *devcluster.Cluster
	client  kubernetes.Interface
	proxy   *faultproxy.Proxy
	http    *http.Server
	ctx     context.Context
	cancel  context.CancelFunc
	bursts  sync.WaitGroup

	mu     sync.Mutex
	number int
}

func (d *devserver) close() error {
	var errs []error
	if d.http != nil {
		d.cancel()
		errs = append(errs, d.http.Close())
		d.bursts.Wait()
	}
	if d.proxy != nil {
		d.proxy.Close()
	}
	if d.cluster != nil {
		errs = append(errs, d.cluster.Close())
	}
	return errors.Join(errs...)
}

// sentinels is the namespace of the objects that bursts end with.
const sentinels = metav1.NamespaceDefault

// Reset implements [serve.Control] as far as needed: pods keep what was changed, but there are as many as at first.
func (d *devserver) Reset(ctx context.Context) error {
	d.bursts.Wait()
	at := int64(0)
	return d.client.CoreV1().Pods(sentinels).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &at}, metav1.ListOptions{LabelSelector: "bench=sentinel"})
}

// Relist implements [serve.Control]. How many objects have changed is not known: the same one may have, twice.
func (d *devserver) Relist(ctx context.Context) (int, error) {
	again := make(chan struct{})
	hold := d.proxy.Add(faultproxy.Rule{
		Match: func(r faultproxy.Request) bool { // some watch again when the connection is gone, some list
			return faultproxy.Watches("pods")(r) || faultproxy.StreamingLists("pods")(r)
		},
		Times: 1,
		Answer: func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-again:
				faultproxy.Expired()(w, r)
			case <-r.Context().Done():
			}
		},
	})
	defer close(again)
	d.proxy.Cut()
	if err := hold.Wait(ctx, 1); err != nil {
		return 0, err
	}
	return 0, d.churn(ctx, (d.step.Objects+99)/100)
}

// Burst implements [serve.Control]. The set is not kept to.
func (d *devserver) Burst(_ context.Context, n, _ int) (string, error) {
	d.mu.Lock()
	d.number++
	name := fmt.Sprintf("sentinel-%d", d.number)
	d.mu.Unlock()
	d.bursts.Go(func() { // the client is told at once what to wait for
		err := d.churn(d.ctx, n)
		if err == nil {
			_, err = d.client.CoreV1().Pods(sentinels).Create(d.ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"bench": "sentinel"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "none", Image: "none"}}},
			}, metav1.CreateOptions{})
		}
		if err != nil && d.ctx.Err() == nil {
			log.Println("burst:", err)
		}
	})
	return sentinels + "/" + name, nil
}

func (d *devserver) churn(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	d.mu.Lock()
	d.number++
	seed := uint64(d.number)
	d.mu.Unlock()
	counts, err := workload.Churn(ctx, d.cluster.Config(), d.g, workload.ChurnOptions{
		Rate: -1, Limit: n, Seed: seed, EtcdURL: d.cluster.EtcdURL(), Mix: workload.Mix{Status: 66, Label: 10, Annotation: 10, Spec: 10},
	})
	if err == nil && counts.Failed > 0 {
		err = fmt.Errorf("%d of %d modifications failed: %w", counts.Failed, n, counts.LastError)
	}
	return err
}
