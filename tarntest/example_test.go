package tarntest_test

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/tarntest"
)

// A collection of a plain struct is listed, changed and watched.
func Example() {
	type Gadget struct {
		metav1.ObjectMeta `json:"metadata"`
		Colour            string `json:"colour"`
	}
	gadget := func(name, colour string) *Gadget {
		return &Gadget{ObjectMeta: metav1.ObjectMeta{Name: name}, Colour: colour}
	}
	ctx := context.Background()
	src := tarntest.NewSource(tarntest.JSON[Gadget]())
	src.Add(gadget("one", "red"))

	list, err := src.List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for o, err := list.Next(); err != io.EOF; o, err = list.Next() {
		fmt.Println("listed", o.Key, o.Version)
	}
	list.Close()

	src.Update(gadget("one", "blue"))
	src.Delete("one")
	watch, err := src.Watch(ctx, metav1.ListOptions{ResourceVersion: list.Meta().Version})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer watch.Close()
	src.Disconnect(nil)
	for e, err := watch.Next(); err != io.EOF; e, err = watch.Next() {
		value, err := e.Object.Decode()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Type, e.Object.Key, e.Object.Version, value.(*Gadget).Colour)
	}
	// Output:
	// listed one 2
	// MODIFIED one 3 blue
	// DELETED one 4 blue
}

// Faults are ordered ahead; what the code under test asked for is read afterwards.
func ExampleSource_FailNext() {
	src := tarntest.NewSource(nil)
	src.FailNext(tarntest.ListVerb, io.ErrUnexpectedEOF)
	_, err := src.List(context.Background(), metav1.ListOptions{ResourceVersion: "0"})
	fmt.Println(err)
	for _, options := range src.Requests(tarntest.ListVerb) {
		fmt.Printf("list at %q\n", options.ResourceVersion)
	}
	// Output:
	// unexpected EOF
	// list at "0"
}
