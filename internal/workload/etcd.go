package workload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tarn-dev/tarn/object"
)

// etcd writes objects where an API server keeps them, in the form it keeps them in. The server sees each write as a change
// like any other, but does none of the work of a request: that is what limits how fast it can be filled and changed.
type etcd struct {
	url  string
	http *http.Client
}

func newEtcd(url string) *etcd {
	return &etcd{url, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
}

func (e *etcd) close() { e.http.CloseIdleConnections() }

// operation is one of etcd's, in the form of its JSON gateway.
type operation struct {
	Put    *keyValue `json:"requestPut,omitempty"`
	Delete *keyValue `json:"requestDeleteRange,omitempty"`
}

type keyValue struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value,omitempty"`
}

func storageKey(kind Kind, obj Object) []byte {
	gvr := kind.GVR()
	prefix := "/registry/" + gvr.Resource
	if gvr.Group == customGroup {
		prefix = "/registry/" + gvr.Group + "/" + gvr.Resource
	}
	return fmt.Appendf(nil, "%s/%s/%s", prefix, obj.GetNamespace(), obj.GetName())
}

// put returns the operation that stores obj.
func put(kind Kind, obj Object) (operation, error) {
	obj.SetResourceVersion("") // etcd's revision is the version
	enc, raw, err := Encode(obj)
	if err != nil {
		return operation{}, err
	}
	if enc == object.Protobuf {
		apiVersion, k := kind.GVK().ToAPIVersionAndKind()
		unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: k}, Raw: raw}
		if raw, err = unknown.Marshal(); err != nil {
			return operation{}, err
		}
		raw = append([]byte("k8s\x00"), raw...)
	}
	return operation{Put: &keyValue{storageKey(kind, obj), raw}}, nil
}

// write applies operations as one change: of several, all get the same version.
func (e *etcd) write(ctx context.Context, ops ...operation) error {
	body, err := json.Marshal(map[string]any{"success": ops})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("etcd: %s: %s", resp.Status, bytes.TrimSpace(answer))
	}
	return err
}

// modify makes one modification, as client.modify does through the API.
func (e *etcd) modify(ctx context.Context, g *Generator, kind Kind, t task) error {
	obj := g.build(kind, t.index, t.state)
	if t.change == Delete {
		return e.write(ctx, operation{Delete: &keyValue{Key: storageKey(kind, obj)}})
	}
	op, err := put(kind, obj)
	if err != nil {
		return err
	}
	return e.write(ctx, op)
}

// Store puts the generator's objects of the kinds, which are Pods or CustomObjects, directly into the etcd at this URL,
// each with a version of its own. Their namespaces and definition must exist. It is for tests of what is read: it takes a
// twentieth of what [Fill] does.
func Store(ctx context.Context, etcdURL string, g *Generator, kinds ...Kind) error {
	e := newEtcd(etcdURL)
	defer e.close()
	for _, kind := range kinds {
		err := each(ctx, g.Count(kind), 16, func(ctx context.Context, i int) error {
			obj := g.Object(kind, i)
			op, err := put(kind, obj)
			if err == nil {
				err = e.write(ctx, op)
			}
			if err != nil {
				return fmt.Errorf("store %s %s/%s: %w", kind, obj.GetNamespace(), obj.GetName(), err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
