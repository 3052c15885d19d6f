package queue_test

import (
	"errors"
	"fmt"

	"github.com/tarn-dev/tarn/queue"
)

type config struct{ Name, Value string }

func configKey(c config) (string, error) { return c.Name, nil }

// A FIFO hands out each key once, at its newest value.
func ExampleFIFO() {
	q := queue.NewFIFO(configKey)
	_ = q.Add(config{"colour", "red"})
	_ = q.Add(config{"size", "10"})
	_ = q.Update(config{"colour", "blue"})
	q.Close()
	for {
		_, err := q.Pop(func(c config, isInInitialList bool) error {
			fmt.Println(c.Name, "is", c.Value)
			return nil
		})
		if errors.Is(err, queue.ErrClosed) {
			return
		}
	}
	// Output:
	// colour is blue
	// size is 10
}

// configs is the store that the consumer of a DeltaFIFO keeps.
type configs map[string]config

func (s configs) ListKeys() (keys []string) {
	for key := range s {
		keys = append(keys, key)
	}
	return keys
}

func (s configs) GetByKey(key string) (config, bool, error) {
	c, ok := s[key]
	return c, ok, nil
}

// A DeltaFIFO hands out all that happened to a key. A full list is compared with what the consumer knows: what is missing
// comes as a tombstone.
func ExampleDeltaFIFO() {
	known := configs{"colour": {"colour", "red"}}
	q := queue.NewDeltaFIFO(configKey, queue.Options[config]{KnownObjects: known})
	_ = q.Add(config{"size", "10"})
	_ = q.Update(config{"size", "12"})
	_ = q.Replace([]config{{"size", "13"}}, "42")
	q.Close()
	for {
		_, err := q.Pop(func(deltas queue.Deltas[config], isInInitialList bool) error {
			for _, d := range deltas {
				fmt.Println(d.Type, d.Key, d.Object.Value, d.FinalStateUnknown)
				if d.Type == queue.Deleted {
					delete(known, d.Key)
				} else {
					known[d.Key] = d.Object
				}
			}
			return nil
		})
		if errors.Is(err, queue.ErrClosed) {
			return
		}
	}
	// Output:
	// Added size 10 false
	// Updated size 12 false
	// Replaced size 13 false
	// Deleted colour red true
}

// An item that could not be processed goes back, ahead of what arrived for its key meanwhile.
func ExampleErrRequeue() {
	q := queue.NewDeltaFIFO(configKey, queue.Options[config]{})
	_ = q.Add(config{"size", "10"})
	_, err := q.Pop(func(queue.Deltas[config], bool) error {
		_ = q.Update(config{"size", "12"})
		return queue.ErrRequeue{Err: errors.New("disk full")}
	})
	fmt.Println("error:", err)
	_, _ = q.Pop(func(deltas queue.Deltas[config], _ bool) error {
		for _, d := range deltas {
			fmt.Println(d.Type, d.Object.Value)
		}
		return nil
	})
	// Output:
	// error: disk full
	// Added 10
	// Updated 12
}
