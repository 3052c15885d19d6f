package mirror_test

import (
	"errors"
	"testing"

	"github.com/tarn-dev/tarn/internal/mirror"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Ensures that the marks are those of what is stored, whatever way it came, and that each version is reported once.
func TestMirror_Failures(t *testing.T) {
	var reported []string
	m := mirror.New(mirror.Options{OnFailure: func(f mirror.Failure) { reported = append(reported, f.Key+"@"+f.Version) }})
	f := newFeed(t, m, "")
	f.list("1", obj("a/x", "u", 1, 1), bad("a/y", "u", 1))
	expect(t, "listed", f.marks(), "a/y@1")

	f.do(f.Delete(obj("a/x", "u", 2, 1)), f.Add(bad("a/x", "w", 3)), f.Flush())
	expect(t, "deleted and made again in one batch", f.marks(), "a/x@3 a/y@1")
	f.do(f.Update(obj("a/x", "w", 4, 1)), f.Flush())
	expect(t, "recovered", f.marks(), "a/y@1")

	stage := f.Stage(false)
	f.do(stage.Add(bad("a/x", "w", 5)), stage.Add(bad("a/y", "u", 1)))
	stage.Abort()
	expect(t, "a list that broke leaves no trace", f.marks(), "a/y@1")
	f.list("5", bad("a/x", "w", 5), bad("a/y", "u", 1))
	expect(t, "listed again", f.marks(), "a/x@5 a/y@1")

	f.list("6", bad("a/x", "other", 6))
	expect(t, "another uid, and one is gone", f.marks(), "a/x@6")
	f.do(f.Update(bad("a/x", "other", 6)), f.Flush())
	expect(t, "the same once more", f.marks(), "a/x@6")
	expect(t, "reported", reported, "[a/y@1 a/x@3 a/x@5 a/x@6]")
	f.do(f.Delete(obj("a/x", "other", 7, 1)), f.Flush())
	expect(t, "none is left", f.marks(), "")
}

// Ensures that reading marks the version that is stored, once, and no other.
func TestMirror_Fail(t *testing.T) {
	var reported int
	m := mirror.New(mirror.Options{OnFailure: func(mirror.Failure) { reported++ }})
	f := newFeed(t, m, "")
	first, second := obj("a/x", "u", 1, 1), obj("a/x", "u", 2, 1)
	f.list("1", first)
	m.Fail(first, errors.New("does not decode"))
	m.Fail(first, errors.New("does not decode"))
	expect(t, "read", f.marks(), "a/x@1")
	f.do(f.Update(second), f.Flush())
	expect(t, "replaced", f.marks(), "")
	m.Fail(first, errors.New("does not decode"))
	expect(t, "an old version is not what is stored", f.marks(), "")
	expect(t, "reported", reported, 1)
}

// Ensures that an index which fails for what is stored already marks it, and that the object recovers at its next version.
func TestMirror_AddIndexers_Fails(t *testing.T) {
	m := mirror.New(mirror.Options{})
	f := newFeed(t, m, "")
	f.list("1", obj("a/x", "u", 1, 13), obj("a/y", "u", 1, 1))
	f.do(m.AddIndexers(store.Indexers{"data": func(o *object.Object) ([]string, error) {
		if len(o.Raw) > len(obj("a/x", "u", 1, 12).Raw) {
			return nil, errors.New("too long")
		}
		return []string{"short"}, nil
	}}))
	expect(t, "marked", f.marks(), "a/x@1")
	f.list("2", obj("a/x", "u", 1, 13), obj("a/y", "u", 1, 1))
	expect(t, "tried again at a relist", f.marks(), "a/x@1")
	f.do(f.Update(obj("a/x", "u", 3, 2)), f.Flush())
	expect(t, "recovered", f.marks(), "")
}

// Ensures that an object without a key is an error of that object, and everything else goes on.
func TestMirror_NoKey(t *testing.T) {
	m := mirror.New(mirror.Options{})
	f := newFeed(t, m, "")
	nameless := &object.Object{Meta: object.Meta{UID: "u", Version: "9"}}
	stage := f.Stage(false)
	for what, err := range map[string]error{
		"add": f.Add(nameless), "update": f.Update(nameless), "delete": f.Delete(nameless),
		"list": stage.Add(nameless), "take out of the list": stage.Delete(nameless),
	} {
		if !errors.Is(err, store.ErrNoKey) {
			t.Errorf("%s: %v", what, err)
		}
	}
	f.do(stage.Add(obj("a/x", "u", 1, 1)), stage.Commit("9", false))
	expect(t, "stored", m.Snapshot().Len(), 1)
}

// Ensures that no lock is held while index functions run, or who listens to failures: either may use the mirror. They run
// late where an index is added between the arrival of an object and its commit, and in a list of a new epoch.
func TestMirror_UserCode_Unlocked(t *testing.T) {
	var m *mirror.Mirror
	use := func() {
		m.Subscribe(mirror.SubscriptionOptions{}, nil).Remove()
		m.Fail(obj("a/other", "u", 1, 1), errors.New("read"))
	}
	m = mirror.New(mirror.Options{OnFailure: func(mirror.Failure) { use() }})
	f := newFeed(t, m, "")
	f.list("5", obj("a/x", "u", 5, 1))
	calls := 0
	index := func(*object.Object) ([]string, error) { calls++; use(); return nil, errors.New("fails") }
	within(t, "a flush behind a new index", func() {
		f.do(f.Add(obj("a/y", "u", 6, 1)), m.AddIndexers(store.Indexers{"late": index}), f.Flush())
	})
	expect(t, "marked", f.marks(), "a/x@5 a/y@6")
	within(t, "a new epoch", func() { f.listEpoch("2", obj("a/x", "u", 2, 1), obj("a/y", "u", 6, 1)) })
	expect(t, "marked", f.marks(), "a/x@2 a/y@6")
	if calls < 4 {
		t.Errorf("%d calls", calls)
	}
}
