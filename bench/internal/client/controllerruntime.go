package client

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tarn-dev/tarn/internal/workload"
)

// controllerRuntime is a copy made by controller-runtime's cache, whose reads are deep copies.
type controllerRuntime struct {
	cache crcache.Cache
	kind  workload.Kind
	sink  *Sink
}

func newControllerRuntime(o Options) (Copy, error) {
	c, err := crcache.New(o.Config, crcache.Options{Scheme: scheme.Scheme, Mapper: mapper(o.Kind)})
	if err != nil {
		return nil, err
	}
	if o.Index {
		err = c.IndexField(context.Background(), object(o.Kind), indexName, func(obj crclient.Object) []string {
			return []string{obj.GetLabels()[IndexLabel]}
		})
	}
	return &controllerRuntime{c, o.Kind, o.Sink}, err
}

func (c *controllerRuntime) Run(ctx context.Context) error {
	informer, err := c.cache.GetInformer(ctx, object(c.kind), crcache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if _, err := informer.AddEventHandler(handler(c.sink)); err != nil {
		return err
	}
	return c.cache.Start(ctx)
}

func (c *controllerRuntime) get(key string, options ...crclient.GetOption) (any, error) {
	namespace, name, err := toolscache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil, err
	}
	obj := object(c.kind)
	return obj, c.cache.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name}, obj, options...)
}

func (c *controllerRuntime) Get(key string) (any, error) { return c.get(key) }

func (c *controllerRuntime) View(key string) (any, error) {
	shared := true
	return c.get(key, &crclient.GetOptions{UnsafeDisableDeepCopy: &shared})
}

func (c *controllerRuntime) list(options ...crclient.ListOption) (int, error) {
	l := list(c.kind)
	if err := c.cache.List(context.Background(), l, options...); err != nil {
		return 0, err
	}
	return meta.LenList(l), nil
}

func (c *controllerRuntime) List(selector labels.Selector) (int, error) {
	return c.list(crclient.MatchingLabelsSelector{Selector: selector})
}

func (c *controllerRuntime) ByIndex(value string, limit int) (int, error) {
	return c.list(crclient.MatchingFields{indexName: value}, crclient.Limit(limit))
}
