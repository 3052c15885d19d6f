package hot_test

import (
	"math/rand"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/internal/hot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// read reads as users do, and reports whether the value was there.
func read(c *hot.Cache[int, int], key int) bool {
	v, ok := c.Get(key)
	if !ok {
		c.Offer(key, 100, func() int { return 2 * key })
	}
	return ok && v == 2*key
}

// Ensures that a value is kept from its second miss on, and that the limit holds for what comes after it.
func TestCache_Get_ReadAgain(t *testing.T) {
	c := hot.New[int, int](1000)
	for n, kept := range []bool{false, false, true, true} {
		if read(c, 1) != kept {
			t.Errorf("read %d: kept %t", n, !kept)
		}
	}
	for key := 2; key < 30; key++ {
		for range 3 {
			read(c, key)
		}
		if size := c.Size(); size != int64(min(key, 10))*100 {
			t.Fatalf("%d bytes with %d keys", size, key)
		}
	}
	if !read(c, 29) {
		t.Error("the newest is not there")
	}
}

// Ensures that a pass over everything drives out nothing that is read all the time.
func TestCache_Get_ScanChangesNothing(t *testing.T) {
	c := hot.New[int, int](1000)
	for range 3 {
		for key := range 10 {
			read(c, key)
		}
	}
	for key := 100; key < 100_000; key++ {
		read(c, key)
	}
	for key := range 10 {
		if !read(c, key) {
			t.Errorf("%d is gone", key)
		}
	}
}

// Ensures that the cache follows when other keys are read: after a while nine in ten reads of a new working set hit.
func TestCache_Get_Follows(t *testing.T) {
	c := hot.New[int, int](10_000)
	rnd := rand.New(rand.NewSource(1))
	for set := range 5 {
		hits := 0
		for n := range 4000 {
			if read(c, set*1000+rnd.Intn(80)) && n >= 1000 {
				hits++
			}
		}
		if hits < 2700 {
			t.Errorf("%d hits of 3000 in set %d", hits, set)
		}
	}
}

// Ensures that without room, or for a value larger than all of it, nothing is kept.
func TestCache_Offer_NoRoom(t *testing.T) {
	for limit, size := range map[int64]int64{0: 1, -1: 1, 100: 101} {
		c := hot.New[int, int](limit)
		for range 3 {
			if c.Offer(1, size, func() int { return 1 }) {
				t.Errorf("%d bytes are kept in %d", size, limit)
			}
		}
	}
}

// Ensures that a value that somebody else was quicker to make is kept once.
func TestCache_Offer_Twice(t *testing.T) {
	c := hot.New[int, int](1000)
	c.Offer(1, 100, func() int { return 1 })
	for n, kept := range []bool{true, false, false} {
		if got := c.Offer(1, 100, func() int { return 1 }); got != kept || c.Size() != 100 {
			t.Errorf("offer %d: kept: %t; %d bytes in all", n, got, c.Size())
		}
	}
}

// Ensures that concurrent readers see the right values only, and the limit holds.
func TestCache_Concurrent(t *testing.T) {
	c := hot.New[int, int](2000)
	var group sync.WaitGroup
	for n := range 4 {
		group.Go(func() {
			rnd := rand.New(rand.NewSource(int64(n)))
			for range 20_000 {
				key := rnd.Intn(60)
				if v, ok := c.Get(key); ok && v != 2*key {
					t.Errorf("%d for %d", v, key)
				} else if !ok {
					c.Offer(key, 100, func() int { return 2 * key })
				}
			}
		})
	}
	group.Wait()
	if size := c.Size(); size > 2000 {
		t.Errorf("%d bytes", size)
	}
}
