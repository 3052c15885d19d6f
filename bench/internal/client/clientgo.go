package client

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/tarn-dev/tarn/internal/workload"
)

// sharedInformer is a copy made by one of client-go's informers.
type sharedInformer struct {
	informer cache.SharedIndexInformer
}

func newTyped(o Options) (Copy, error) { return typed(o) }

// newStripping is newTyped with the usual measure against large objects: a transform that drops their managedFields.
func newStripping(o Options) (Copy, error) {
	strip := func(obj any) (any, error) {
		m, err := meta.Accessor(obj)
		if err == nil {
			m.SetManagedFields(nil)
		}
		return obj, err
	}
	return typed(o, informers.WithTransform(strip))
}

func typed(o Options, options ...informers.SharedInformerOption) (Copy, error) {
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, err
	}
	core := informers.NewSharedInformerFactoryWithOptions(client, 0, options...).Core().V1()
	switch o.Kind {
	case workload.Pods:
		return wrap(core.Pods().Informer(), o)
	case workload.Secrets:
		return wrap(core.Secrets().Informer(), o)
	case workload.ConfigMaps:
		return wrap(core.ConfigMaps().Informer(), o)
	}
	return nil, fmt.Errorf("no type for %s", o.Kind)
}

func newDynamic(o Options) (Copy, error) {
	client, err := dynamic.NewForConfig(o.Config)
	if err != nil {
		return nil, err
	}
	return wrap(dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(o.Kind.GVR()).Informer(), o)
}

func wrap(i cache.SharedIndexInformer, o Options) (Copy, error) {
	if o.Index {
		err := i.AddIndexers(cache.Indexers{indexName: func(obj any) ([]string, error) {
			m, err := meta.Accessor(obj)
			if err != nil {
				return nil, err
			}
			return []string{m.GetLabels()[IndexLabel]}, nil
		}})
		if err != nil {
			return nil, err
		}
	}
	_, err := i.AddEventHandler(handler(o.Sink))
	return &sharedInformer{i}, err
}

// handler calls the sink. The objects are decoded already, so that the mode makes no difference.
func handler(s *Sink) cache.ResourceEventHandler {
	key := func(obj any) string {
		k, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
		s.Fail(err)
		return k
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { s.Added(key(obj)) },
		UpdateFunc: func(_, obj any) { s.Updated(key(obj)) },
		DeleteFunc: func(obj any) { s.Deleted(key(obj)) },
	}
}

func (c *sharedInformer) Run(ctx context.Context) error {
	c.informer.RunWithContext(ctx)
	return nil
}

func (c *sharedInformer) Get(key string) (any, error) {
	obj, err := c.View(key)
	if err != nil {
		return nil, err
	}
	return deepCopy(obj), nil
}

func (c *sharedInformer) View(key string) (any, error) {
	obj, ok, err := c.informer.GetIndexer().GetByKey(key)
	if err == nil && !ok {
		err = errNotFound(key)
	}
	return obj, err
}

func (c *sharedInformer) List(selector labels.Selector) (n int, err error) {
	err = cache.ListAll(c.informer.GetIndexer(), selector, func(any) { n++ })
	return n, err
}

func (c *sharedInformer) ByIndex(value string, limit int) (n int, err error) {
	objects, err := c.informer.GetIndexer().ByIndex(indexName, value)
	if n = len(objects); limit > 0 {
		n = min(n, limit)
	}
	return n, err
}

func errNotFound(key string) error { return fmt.Errorf("there is no %s", key) }
