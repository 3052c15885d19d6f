package tarntest_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/tarntest"
)

// filled returns a collection with this history: 2 add a, 3 add b, 4 update a, 5 delete b, 6 add c.
func filled(options ...tarntest.Option) *tarntest.Source {
	s := newSource(options...)
	s.Add(widget("ns1/a", 1, "app", "web"))
	s.Add(widget("ns1/b", 1, "app", "web"))
	s.Update(widget("ns1/a", 2, "app", "db"))
	s.Delete("ns1/b")
	s.Add(widget("ns2/c", 1, "app", "web"))
	return s
}

// Ensures that each form of version and match reads the state that the Kubernetes API documents for it.
func TestSource_List_Versions(t *testing.T) {
	const exact, notOlder = metav1.ResourceVersionMatchExact, metav1.ResourceVersionMatchNotOlderThan
	const newest = "ns1/a@4 ns2/c@6"
	tests := map[string]struct {
		options metav1.ListOptions
		want    string
		version string
	}{
		"most recent":            {metav1.ListOptions{}, newest, "6"},
		"any":                    {metav1.ListOptions{ResourceVersion: "0"}, newest, "6"},
		"no match":               {metav1.ListOptions{ResourceVersion: "3"}, newest, "6"},
		"not older":              {metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: notOlder}, newest, "6"},
		"not older than 0":       {metav1.ListOptions{ResourceVersion: "0", ResourceVersionMatch: notOlder}, newest, "6"},
		"exactly before all":     {metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: exact}, "", "1"},
		"exactly 3":              {metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: exact}, "ns1/a@2 ns1/b@3", "3"},
		"exactly 4":              {metav1.ListOptions{ResourceVersion: "4", ResourceVersionMatch: exact}, "ns1/a@4 ns1/b@3", "4"},
		"exactly 5":              {metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: exact}, "ns1/a@4", "5"},
		"exactly now":            {metav1.ListOptions{ResourceVersion: "6", ResourceVersionMatch: exact}, newest, "6"},
		"limit makes it exact":   {metav1.ListOptions{ResourceVersion: "3", Limit: 10}, "ns1/a@2 ns1/b@3", "3"},
		"limit and not older":    {metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: notOlder, Limit: 10}, newest, "6"},
		"label":                  {metav1.ListOptions{LabelSelector: "app=web"}, "ns2/c@6", "6"},
		"label at exact version": {metav1.ListOptions{LabelSelector: "app=web", ResourceVersion: "3", ResourceVersionMatch: exact}, "ns1/a@2 ns1/b@3", "3"},
		"namespace":              {metav1.ListOptions{FieldSelector: "metadata.namespace=ns1"}, "ns1/a@4", "6"},
		"name":                   {metav1.ListOptions{FieldSelector: "metadata.name=c,metadata.namespace!=ns1"}, "ns2/c@6", "6"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			items, meta := list(t, filled(), test.options)
			equal(t, "items", items, test.want)
			equal(t, "version", meta.Version, test.version)
			equal(t, "continue", meta.Continue, "")
		})
	}
}

// Ensures that pages are cut from the state of the first one, whatever changes in between.
func TestSource_List_Pages(t *testing.T) {
	s := newSource()
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		s.Add(widget(key, 1, "letter", key))
	}
	items, meta := list(t, s, metav1.ListOptions{Limit: 2})
	equal(t, "page 1", items, "a@2 b@3")
	equal(t, "remaining", meta.Remaining, int64(3))
	s.Delete("c")
	s.Update(widget("d", 2))
	s.Add(widget("cc", 1))
	items, meta = list(t, s, metav1.ListOptions{Limit: 2, Continue: meta.Continue})
	equal(t, "page 2", items, "c@4 d@5")
	equal(t, "version", meta.Version, "6")
	equal(t, "remaining", meta.Remaining, int64(1))
	items, meta = list(t, s, metav1.ListOptions{Limit: 2, Continue: meta.Continue})
	equal(t, "page 3", items, "e@6")
	equal(t, "continue", meta.Continue, "")
	equal(t, "remaining", meta.Remaining, int64(0))

	// A server does not count what a selector leaves out.
	_, meta = list(t, s, metav1.ListOptions{Limit: 1, LabelSelector: "letter"})
	equal(t, "remaining with a selector", meta.Remaining, int64(0))
	if meta.Continue == "" {
		t.Error("no token with a selector")
	}
}

// Ensures that a list at "0" is paged only where the server has no watch cache.
func TestSource_List_PagesAtZero(t *testing.T) {
	o := metav1.ListOptions{ResourceVersion: "0", Limit: 1}
	items, _ := list(t, filled(), o)
	equal(t, "with a watch cache", items, "ns1/a@4 ns2/c@6")
	items, meta := list(t, filled(tarntest.WithoutWatchCache()), o)
	equal(t, "without", items, "ns1/a@4")
	if meta.Continue == "" {
		t.Error("no token")
	}
}

// Ensures that what a server refuses is refused, with the server's errors.
func TestSource_List_Refused(t *testing.T) {
	const exact = metav1.ResourceVersionMatchExact
	old := func(s *tarntest.Source) { s.Expire(); s.Add(widget("z", 1)) }
	tests := map[string]struct {
		options metav1.ListOptions
		before  func(*tarntest.Source)
		is      func(error) bool
	}{
		"future":              {metav1.ListOptions{ResourceVersion: "7"}, nil, isTooLarge},
		"exact future":        {metav1.ListOptions{ResourceVersion: "7", ResourceVersionMatch: exact}, nil, isTooLarge},
		"exact and expired":   {metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: exact}, old, apierrors.IsResourceExpired},
		"limit and expired":   {metav1.ListOptions{ResourceVersion: "5", Limit: 1}, old, apierrors.IsResourceExpired},
		"no number":           {metav1.ListOptions{ResourceVersion: "x"}, nil, apierrors.IsBadRequest},
		"token of another":    {metav1.ListOptions{Continue: "x"}, nil, apierrors.IsBadRequest},
		"token and version":   {metav1.ListOptions{Continue: "x", ResourceVersion: "3"}, nil, apierrors.IsBadRequest},
		"token and match":     {metav1.ListOptions{Continue: "x", ResourceVersion: "3", ResourceVersionMatch: exact}, nil, apierrors.IsInvalid},
		"match alone":         {metav1.ListOptions{ResourceVersionMatch: exact}, nil, apierrors.IsInvalid},
		"exactly 0":           {metav1.ListOptions{ResourceVersion: "0", ResourceVersionMatch: exact}, nil, apierrors.IsInvalid},
		"unknown match":       {metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: "About"}, nil, apierrors.IsInvalid},
		"initial events":      {metav1.ListOptions{SendInitialEvents: ptr(true)}, nil, apierrors.IsInvalid},
		"label selector":      {metav1.ListOptions{LabelSelector: "a in"}, nil, apierrors.IsBadRequest},
		"field selector":      {metav1.ListOptions{FieldSelector: "a"}, nil, apierrors.IsBadRequest},
		"unknown field":       {metav1.ListOptions{FieldSelector: "spec.x=1"}, nil, apierrors.IsBadRequest},
		"answered by a fault": {metav1.ListOptions{}, func(s *tarntest.Source) { s.FailNext(tarntest.ListVerb, errCut) }, func(err error) bool { return err == errCut }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := filled()
			if test.before != nil {
				test.before(s)
			}
			if err := listError(t, s, test.options); !test.is(err) {
				t.Errorf("refused with %v", err)
			}
			lists, _ := s.Open()
			equal(t, "open lists", lists, 0)
		})
	}
}

// isTooLarge recognises the error by its cause, as clients do.
func isTooLarge(err error) bool {
	return apierrors.IsTimeout(err) && apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// Ensures that a token of an expired state is answered with 410, and one from before the history started over with "too
// large resource version".
func TestSource_List_OldToken(t *testing.T) {
	s := filled()
	_, meta := list(t, s, metav1.ListOptions{Limit: 1})
	next := metav1.ListOptions{Limit: 1, Continue: meta.Continue}
	s.Add(widget("z", 1))
	list(t, s, next)
	s.Expire()
	if err := listError(t, s, next); !apierrors.IsResourceExpired(err) {
		t.Errorf("expired: %v", err)
	}
	s.StartOver()
	if err := listError(t, s, next); !isTooLarge(err) {
		t.Errorf("started over: %v", err)
	}
}

// Ensures that a list can break after some items, that it does so once, and that the end of the context ends it.
func TestSource_List_Breaks(t *testing.T) {
	for _, test := range []struct{ after, items int }{{0, 0}, {1, 1}, {2, 2}, {3, 2}} {
		s := filled()
		s.BreakNextList(test.after, errCut)
		l, err := s.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		items := 0
		for {
			if _, err = l.Next(); err != nil {
				break
			}
			items++
		}
		l.Close()
		equal(t, "items", items, test.items)
		equal(t, "error", err, errCut)
		got, _ := list(t, s, metav1.ListOptions{})
		equal(t, "the list after it", got, "ns1/a@4 ns2/c@6")
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	s := filled()
	l, err := s.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancel(errCut)
	_, err = l.Next()
	equal(t, "after the context's end", err, errCut)
	lists, _ := s.Open()
	equal(t, "open lists", lists, 1)
	l.Close()
	l.Close()
	lists, _ = s.Open()
	equal(t, "open lists after Close", lists, 0)
	if _, err := l.Next(); err == nil || errors.Is(err, errCut) {
		t.Errorf("Next after Close: %v", err)
	}
}
