package reflector

import "github.com/tarn-dev/tarn/object"

// collector is the stage of a sink that is no [Stager]: it collects the list for Replace.
type collector struct {
	sink  Sink
	items []*object.Object // nil where an item was taken out again
	index map[string]int   // by key
}

func (c *collector) Add(obj *object.Object) error {
	if i, ok := c.index[obj.Key]; ok {
		c.items[i] = obj
		return nil
	}
	if c.index == nil {
		c.index = make(map[string]int)
	}
	c.index[obj.Key] = len(c.items)
	c.items = append(c.items, obj)
	return nil
}

func (c *collector) Delete(obj *object.Object) error {
	if i, ok := c.index[obj.Key]; ok {
		c.items[i] = nil // and has its place again if it comes back
	}
	return nil
}

func (c *collector) Commit(version string, _ bool) error {
	list := c.items[:0]
	for _, obj := range c.items {
		if obj != nil {
			list = append(list, obj)
		}
	}
	return c.sink.Replace(list, version)
}

func (c *collector) Abort() {}
