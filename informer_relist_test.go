package tarn_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/tarntest"
)

// Case 31: after a lost watch, an object with a new version is an update for everybody; one with the same version only
// reaches handlers that asked for resync. Deletions come before adds and updates.
func TestInformer_Relist_Case31(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/gone", "n1", 0))
		src.Add(widget("a/x", "n1", 1))
		src.Add(widget("a/y", "n1", 1))
		i := newInformer(t, src)
		plain, _ := subscribe(t, i)
		resyncing, _ := subscribe(t, i, tarn.Resync(time.Hour))
		stop := run(t, i)
		synctest.Wait()
		plain.take()
		resyncing.take()

		src.OnRequest(func(context.Context, tarntest.Request) error { return errors.New("down") })
		src.Disconnect(errors.New("cut"))
		synctest.Wait()
		src.Update(widget("a/x", "n1", 2))
		src.Delete("a/gone")
		src.Add(widget("a/new", "n1", 3))
		src.Expire()
		src.OnRequest(nil)
		time.Sleep(2 * time.Minute) // fake time: the backoff
		expect(t, "plain", plain.take(), "deleted a/gone 0 unknown, added a/new 3, updated a/x 1>2")
		expect(t, "resyncing", resyncing.take(), "deleted a/gone 0 unknown, added a/new 3, updated a/x 1>2, sync a/y 1")
		stop()
	})
}

// A recreated object that a relist finds under the same key is another one: the old is deleted, the new one added.
func TestInformer_Relist_OtherUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/x", "n1", 1))
		i := newInformer(t, src)
		r, _ := subscribe(t, i)
		stop := run(t, i)
		r.take()
		src.OnRequest(func(context.Context, tarntest.Request) error { return errors.New("down") })
		src.Disconnect(errors.New("cut"))
		src.Delete("a/x")
		src.Add(widget("a/x", "n1", 2))
		src.Expire()
		src.OnRequest(nil)
		time.Sleep(2 * time.Minute) // fake time: it takes none
		expect(t, "events", r.take(), "deleted a/x 1 unknown, added a/x 2")
		stop()
	})
}
