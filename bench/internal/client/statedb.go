package client

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/cilium/statedb"
	"github.com/cilium/statedb/index"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// row is an object in a table.
type row struct {
	key    string
	object metav1.Object
}

func (row) TableHeader() []string { return []string{"Key"} }
func (r row) TableRow() []string  { return []string{r.key} }

var (
	rowKey = statedb.Index[row, string]{
		Name: "key", Unique: true, FromKey: index.String,
		FromObject: func(r row) index.KeySet { return index.NewKeySet(index.String(r.key)) },
	}
	rowInstance = statedb.Index[row, string]{
		Name: indexName, FromKey: index.String,
		FromObject: func(r row) index.KeySet { return index.NewKeySet(index.String(r.object.GetLabels()[IndexLabel])) },
	}
)

// table is a copy in a StateDB table, fed by client-go's reflector, with the table's changes as the handler's events.
// Modifications that wait are written in one transaction, up to a number, as Cilium does.
type table struct {
	o     Options
	db    *statedb.DB
	rows  statedb.RWTable[row]
	queue chan change
}

type change struct {
	row     row
	deleted bool
}

const batch = 512

func newStateDB(o Options) (Copy, error) {
	var secondary []statedb.Indexer[row]
	if o.Index {
		secondary = append(secondary, rowInstance)
	}
	db := statedb.New()
	rows, err := statedb.NewTable(db, "objects", rowKey, secondary...)
	return &table{o: o, db: db, rows: rows, queue: make(chan change, batch)}, err
}

func (t *table) Run(ctx context.Context) error {
	cfg := rest.CopyConfig(t.o.Config)
	cfg.ContentType = runtime.ContentTypeProtobuf // as client-go's informers: a bare request would be for JSON
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	txn := t.db.WriteTxn(t.rows)
	changes, err := t.rows.Changes(txn)
	txn.Commit()
	if err != nil {
		return err
	}
	written, handled := make(chan struct{}), make(chan struct{})
	go func() { defer close(written); t.write(ctx) }()
	go func() { defer close(handled); t.handle(ctx, changes) }()
	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), t.o.Kind.GVR().Resource, metav1.NamespaceAll, fields.Everything())
	cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, client), object(t.o.Kind), t, cache.ReflectorOptions{Name: "statedb"}).RunWithContext(ctx)
	<-written
	<-handled
	return nil
}

// write puts what the reflector hands over into the table.
func (t *table) write(ctx context.Context) {
	for {
		var first change
		select {
		case first = <-t.queue:
		case <-ctx.Done():
			return
		}
		txn := t.db.WriteTxn(t.rows)
		t.apply(txn, first)
		for n := 1; n < batch && len(t.queue) > 0; n++ {
			t.apply(txn, <-t.queue)
		}
		txn.Commit()
	}
}

func (t *table) apply(txn statedb.WriteTxn, c change) {
	var err error
	if c.deleted {
		_, _, err = t.rows.Delete(txn, c.row)
	} else {
		_, _, err = t.rows.Insert(txn, c.row)
	}
	t.o.Sink.Fail(err)
}

// handle calls the sink for the table's changes. It tells new objects by their key.
func (t *table) handle(ctx context.Context, changes statedb.ChangeIterator[row]) {
	known := make(map[string]struct{}, t.o.Objects)
	for ctx.Err() == nil {
		seq, watch := changes.Next(t.db.ReadTxn())
		for c := range seq {
			_, old := known[c.Object.key]
			switch {
			case c.Deleted:
				delete(known, c.Object.key)
				t.o.Sink.Deleted(c.Object.key)
			case old:
				t.o.Sink.Updated(c.Object.key)
			default:
				known[c.Object.key] = struct{}{}
				t.o.Sink.Added(c.Object.key)
			}
		}
		select {
		case <-watch:
		case <-ctx.Done():
		}
	}
}

// Add, Update, Delete, Replace and Resync implement cache.ReflectorStore.
func (t *table) Add(obj any) error { return t.put(obj, false) }

// Update implements cache.ReflectorStore.
func (t *table) Update(obj any) error { return t.put(obj, false) }

// Delete implements cache.ReflectorStore.
func (t *table) Delete(obj any) error { return t.put(obj, true) }

// Resync implements cache.ReflectorStore.
func (t *table) Resync() error { return nil }

func (t *table) put(obj any, deleted bool) error {
	r, err := newRow(obj)
	if err == nil {
		t.queue <- change{r, deleted}
	}
	return err
}

func newRow(obj any) (row, error) {
	o, ok := obj.(metav1.Object)
	if !ok {
		return row{}, fmt.Errorf("no metadata in %T", obj)
	}
	return row{o.GetNamespace() + "/" + o.GetName(), o}, nil
}

// Replace implements cache.ReflectorStore: in one transaction it writes what is new and deletes what is gone.
func (t *table) Replace(objects []any, _ string) error {
	txn := t.db.WriteTxn(t.rows)
	defer txn.Commit()
	listed := make(map[string]struct{}, len(objects))
	for _, obj := range objects {
		r, err := newRow(obj)
		if err != nil {
			return err
		}
		listed[r.key] = struct{}{}
		old, _, found := t.rows.Get(txn, rowKey.Query(r.key))
		if !found || old.object.GetResourceVersion() != r.object.GetResourceVersion() {
			t.apply(txn, change{row: r})
		}
	}
	for _, r := range slices.Collect(values(t.rows.All(txn))) {
		if _, ok := listed[r.key]; !ok {
			t.apply(txn, change{r, true})
		}
	}
	return nil
}

func values(seq iter.Seq2[row, statedb.Revision]) iter.Seq[row] {
	return func(yield func(row) bool) {
		for r := range seq {
			if !yield(r) {
				return
			}
		}
	}
}

// Get implements [Copy].
func (t *table) Get(key string) (any, error) {
	obj, err := t.View(key)
	if err != nil {
		return nil, err
	}
	return deepCopy(obj), nil
}

// View implements [Copy].
func (t *table) View(key string) (any, error) {
	r, _, found := t.rows.Get(t.db.ReadTxn(), rowKey.Query(key))
	if !found {
		return nil, errNotFound(key)
	}
	return r.object, nil
}

// List implements [Copy].
func (t *table) List(selector labels.Selector) (n int, err error) {
	for r := range t.rows.All(t.db.ReadTxn()) {
		if selector.Empty() || selector.Matches(labels.Set(r.object.GetLabels())) {
			n++
		}
	}
	return n, nil
}

// ByIndex implements [Copy].
func (t *table) ByIndex(value string, limit int) (n int, err error) {
	for range t.rows.List(t.db.ReadTxn(), rowInstance.Query(value)) {
		if n++; n == limit {
			break
		}
	}
	return n, nil
}
