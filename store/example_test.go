package store_test

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// pod makes an object that has metadata only.
func pod(key, version, app string) *object.Object {
	return &object.Object{Meta: object.Meta{
		Key: key, UID: "uid-of-" + key, Version: version, Labels: object.Labels{{Key: "app", Value: app}},
	}}
}

// byApp is an index function.
func byApp(obj *object.Object) ([]string, error) {
	if app, ok := obj.Labels.Lookup("app"); ok {
		return []string{app}, nil
	}
	return nil, nil
}

func ExampleStore() {
	s := store.New(store.Options{})
	_ = s.Replace([]*object.Object{pod("prod/web-1", "11", "web"), pod("prod/db-0", "12", "db")}, "15")
	_ = s.Update(pod("prod/web-1", "16", "web"))
	_ = s.Delete(pod("prod/db-0", "17", "db"))

	obj, ok := s.GetByKey("prod/web-1")
	fmt.Println(obj.Key, obj.Version, ok)
	fmt.Println(s.ListKeys(), "at", s.LastStoreSyncResourceVersion())
	// Output:
	// prod/web-1 16 true
	// [prod/web-1] at 17
}

func ExampleIndexer() {
	s := store.New(store.Options{Indexers: store.Indexers{"app": byApp}})
	_ = s.Add(pod("prod/web-1", "11", "web"))
	_ = s.Add(pod("prod/web-2", "12", "web"))
	_ = s.Add(pod("test/db-0", "13", "db"))
	web, _ := s.IndexKeys("app", "web")
	fmt.Println(web)

	// An index can be added at any time.
	_ = s.AddIndexers(store.Indexers{"namespace": func(obj *object.Object) ([]string, error) {
		return []string{obj.Namespace()}, nil
	}})
	namespaces, _ := s.ListIndexFuncValues("namespace")
	fmt.Println(namespaces)

	_, err := s.ByIndex("node", "n7")
	fmt.Println(errors.Is(err, store.ErrUnknownIndex), err)
	// Output:
	// [prod/web-1 prod/web-2]
	// [prod test]
	// true unknown index: "node"
}

func ExampleSnapshot() {
	s := store.New(store.Options{Indexers: store.Indexers{"app": byApp}})
	_ = s.Replace([]*object.Object{
		pod("prod/web-1", "11", "web"), pod("prod/web-2", "12", "web"), pod("test/web-1", "13", "web"),
	}, "15")

	snap := s.Snapshot()
	_ = s.Replace(nil, "16") // the snapshot does not change
	notDB, _ := labels.Parse("app!=db")
	web, _ := snap.Where(store.Equals("app", "web"), store.InNamespace("prod"), store.Matches(notDB))
	for obj := range web {
		fmt.Println(obj.Key)
	}
	fmt.Println(snap.Len(), "at", snap.Version())
	// Output:
	// prod/web-1
	// prod/web-2
	// 3 at 15
}

func ExampleStore_Write() {
	s := store.New(store.Options{Indexers: store.Indexers{"app": byApp}})
	// What runs user code comes first, without a lock.
	var batch []*store.Prepared
	for _, obj := range []*object.Object{pod("prod/web-1", "11", "web"), pod("prod/db-0", "12", "db")} {
		p, err := s.Prepare(obj)
		if err != nil {
			fmt.Println(err)
			continue
		}
		batch = append(batch, p)
	}
	// Then everything is published as one change, with whatever has to fit it.
	err := s.Write(batch, func(tx *store.Txn) error {
		for _, p := range batch {
			tx.Put(p, 0)
		}
		tx.SetVersion(0, "12")
		tx.Attach(len(tx.Changes()))
		return nil
	})
	snap := s.Snapshot()
	fmt.Println(snap.Len(), "objects at", snap.Version(), "after", snap.Attached(), "changes", err)
	// Output: 2 objects at 12 after 2 changes <nil>
}

func ExampleStage() {
	s := store.New(store.Options{})
	_ = s.Replace([]*object.Object{pod("prod/web-1", "11", "web"), pod("prod/db-0", "12", "db")}, "15")

	// A relist in which one object is as before, one is new and one is gone.
	stage := s.Stage(0, false)
	_ = stage.Add(pod("prod/web-1", "11", "web"))
	_ = stage.Add(pod("prod/web-2", "18", "web"))
	err := stage.CommitFunc("20", false, func(tx *store.Txn) error {
		for _, c := range tx.Changes() {
			fmt.Println(c.Key, "is new:", c.Old.IsZero(), "is gone:", c.New.IsZero())
		}
		return nil
	})
	fmt.Println(s.ListKeys(), err)
	// Output:
	// prod/db-0 is new: false is gone: true
	// prod/web-2 is new: true is gone: false
	// [prod/web-1 prod/web-2] <nil>
}
