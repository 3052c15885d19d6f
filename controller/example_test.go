package controller_test

import (
	"context"
	"fmt"

	"github.com/tarn-dev/tarn/controller"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/queue"
	"github.com/tarn-dev/tarn/store"
	"github.com/tarn-dev/tarn/tarntest"
)

// A process function keeps a store of its own: here a count of the objects.
func ExampleController() {
	src := tarntest.NewSource(tarntest.JSON[gadget]())
	src.Add(newGadget("one", 1))
	src.Add(newGadget("two", 2))

	ctx, cancel := context.WithCancel(context.Background())
	s := store.New(store.Options{})
	c := controller.New(controller.Config{
		Queue:         newQueue(s),
		ListerWatcher: src,
		Process: func(deltas controller.Deltas, isInInitialList bool) error {
			for _, d := range deltas {
				fmt.Println(d.Type, d.Key)
				if d.Type == queue.Deleted {
					if err := s.Delete(d.Object); err != nil {
						return err
					}
				} else if err := s.Update(d.Object); err != nil {
					return err
				}
			}
			if len(s.ListKeys()) == 2 {
				cancel()
			}
			return nil
		},
	})
	fmt.Println(c.Run(ctx))
	// Output:
	// Replaced one
	// Replaced two
	// <nil>
}

// An informer keeps a store and calls one handler.
func ExampleNewInformer() {
	src := tarntest.NewSource(tarntest.JSON[gadget]())
	src.Add(newGadget("one", 1))

	ctx, cancel := context.WithCancel(context.Background())
	stored, c := controller.NewInformer(src, controller.HandlerFuncs{
		AddFunc: func(obj *object.Object, isInInitialList bool) {
			fmt.Println("added", obj.Key, isInInitialList)
			src.Update(newGadget("one", 2))
		},
		UpdateFunc: func(old, obj *object.Object) {
			fmt.Println("updated", obj.Key, "from", old.Version, "to", obj.Version)
			src.Delete("one")
		},
		DeleteFunc: func(deleted controller.Delta) {
			fmt.Println("deleted", deleted.Key)
			cancel()
		},
	}, controller.Options{})
	if err := c.Run(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(stored.ListKeys()), "left")
	// Output:
	// added one true
	// updated one from 2 to 3
	// deleted one
	// 0 left
}
