package source_test

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/source"
)

// A collection that is no server's: two functions make it a source.
func ExampleListWatch() {
	lw := source.NewListWatch(
		func(_ context.Context, o metav1.ListOptions) (source.List, error) {
			return source.ListOf(source.ListMeta{Version: "7"}, obj("prod/a"), obj("prod/b")), nil
		},
		func(_ context.Context, o metav1.ListOptions) (source.Watch, error) {
			fmt.Println("watch from", o.ResourceVersion, "with", o.LabelSelector)
			return &eventWatch{{Type: source.Deleted, Object: obj("prod/a")}}, nil
		},
	)
	lw.Description = "letters"
	web := source.WithOptions(lw, func(o *metav1.ListOptions) { o.LabelSelector = "app=web" })

	fmt.Println(source.Describe(web))
	w, err := web.Watch(context.Background(), metav1.ListOptions{ResourceVersion: "7"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	ev, err := w.Next()
	fmt.Println(ev.Type, ev.Object.Key, err)
	// Output:
	// letters
	// watch from 7 with app=web
	// DELETED prod/a <nil>
}

// A list in pages is read like any other, except that it may start over.
func ExamplePager() {
	server := &pages{n: 5, expire: 3} // its third page comes too late
	list, err := source.Pager{List: server.list, PageSize: 2}.Read(context.Background(), metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer list.Close()
	var keys []string
	for {
		obj, err := list.Next()
		if err == source.ErrRestart {
			keys = nil
			continue
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		keys = append(keys, obj.Key)
	}
	fmt.Println(keys, len(server.asked), "requests")
	// Output: [0 1 2 3 4] 4 requests
}
