package source_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

var errGone = apierrors.NewResourceExpired("the provided continue parameter is too old")

// pages serves n numbered items in pages, and records what it was asked and how many answers are open.
type pages struct {
	n        int
	expire   int  // the request, counted from 1, that is answered with 410
	expireAt bool // the 410 comes while the page is read, not as the answer
	asked    []metav1.ListOptions
	open     int
}

func (p *pages) list(_ context.Context, o metav1.ListOptions) (source.List, error) {
	p.asked = append(p.asked, o)
	expired := len(p.asked) == p.expire
	if expired && !p.expireAt {
		return nil, errGone
	}
	from, to := 0, p.n
	if o.Continue != "" {
		fmt.Sscan(o.Continue, &from)
	}
	meta := source.ListMeta{Version: fmt.Sprint(100 + len(p.asked))}
	if o.Limit > 0 && from+int(o.Limit) < p.n {
		to = from + int(o.Limit)
		meta.Continue, meta.Remaining = fmt.Sprint(to), int64(p.n-to)
	}
	var items []*object.Object
	for i := from; i < to; i++ {
		items = append(items, obj(fmt.Sprint(i)))
	}
	p.open++
	return &page{source.ListOf(meta, items...), p, expired}, nil
}

type page struct {
	source.List
	p       *pages
	expired bool
}

func (l *page) Next() (*object.Object, error) {
	o, err := l.List.Next()
	if l.expired && err == io.EOF {
		return nil, errGone
	}
	return o, err
}

func (l *page) Close() error { l.p.open--; return nil }

// read reads a list to its end and returns "0 1 RESTART 0 1 ... EOF".
func read(l source.List) string {
	var got []string
	for range 1000 {
		o, err := l.Next()
		switch {
		case err == nil:
			got = append(got, o.Key)
			continue
		case errors.Is(err, source.ErrRestart):
			got = append(got, "RESTART")
			continue
		case err == io.EOF:
			got = append(got, "EOF")
		default:
			got = append(got, err.Error())
		}
		break
	}
	return strings.Join(got, " ")
}

func TestPager_Read(t *testing.T) {
	// The pages come as one list, whose version is that of the first.
	for size, want := range map[int64]int{-1: 1, 0: 1, 2: 3, 5: 1, 4: 2, 1: 5} {
		p := &pages{n: 5}
		l, err := source.Pager{List: p.list, PageSize: size}.Read(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			t.Fatal(err)
		}
		if got := read(l); got != "0 1 2 3 4 EOF" {
			t.Errorf("size %d: %s", size, got)
		}
		if m := l.Meta(); m.Version != "101" || m.Continue != "" || m.Remaining != 0 || l.Paged() != (want > 1) {
			t.Errorf("size %d: meta %+v, paged %v", size, m, l.Paged())
		}
		if _, err := l.Next(); err != io.EOF {
			t.Errorf("after the end: %v", err)
		}
		if len(p.asked) != want || p.open != 0 {
			t.Errorf("size %d: asked %d times, %d open", size, len(p.asked), p.open)
		}
		limit := map[int64]int64{-1: 0, 0: 500}
		if l, ok := limit[size]; ok && p.asked[0].Limit != l {
			t.Errorf("size %d: limit %d, want %d", size, p.asked[0].Limit, l)
		}
	}
}

func TestPager_Read_ContinuationOptions(t *testing.T) {
	// Page one carries version and match; continuation pages carry token, limit and selectors, not version and match.
	p := &pages{n: 5}
	options := metav1.ListOptions{
		ResourceVersion: "50", ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		LabelSelector: "a=b", FieldSelector: "c=d", Continue: "ignored",
	}
	l, err := source.Pager{List: p.list, PageSize: 2}.Read(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	read(l)
	selectors := metav1.ListOptions{LabelSelector: "a=b", FieldSelector: "c=d", Limit: 2}
	first, second, third := selectors, selectors, selectors
	first.ResourceVersion, first.ResourceVersionMatch = "50", metav1.ResourceVersionMatchExact
	second.Continue, third.Continue = "2", "4"
	if got, want := fmt.Sprint(p.asked), fmt.Sprint([]metav1.ListOptions{first, second, third}); got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
}

func TestPager_Read_ExpiredFirstPage(t *testing.T) {
	// A 410 on page one is an error, as the answer or while it is read.
	p := &pages{n: 5, expire: 1}
	if _, err := (source.Pager{List: p.list, PageSize: 2}).Read(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("got %v", err)
	}
	p = &pages{n: 5, expire: 1, expireAt: true}
	l, err := source.Pager{List: p.list, PageSize: 2}.Read(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(l); got != "0 1 "+errGone.Error() || p.open != 0 || len(p.asked) != 1 {
		t.Errorf("%s, %d open", got, p.open)
	}
}

func TestPager_Read_ExpiredToken(t *testing.T) {
	// A 410 on a continuation page starts the list over, unpaged, at the version first asked for.
	for _, expireAt := range []bool{false, true} {
		p := &pages{n: 5, expire: 2, expireAt: expireAt}
		options := metav1.ListOptions{ResourceVersion: "50", ResourceVersionMatch: metav1.ResourceVersionMatchExact}
		l, err := source.Pager{List: p.list, PageSize: 2}.Read(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		want := "0 1 RESTART 0 1 2 3 4 EOF"
		if expireAt {
			want = "0 1 2 3 RESTART 0 1 2 3 4 EOF"
		}
		if got := read(l); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if p.asked[2] != options || len(p.asked) != 3 || p.open != 0 {
			t.Errorf("asked %+v, %d open", p.asked, p.open)
		}
		if m := l.Meta(); m.Version != "103" || l.Paged() {
			t.Errorf("meta %+v, paged %v", m, l.Paged())
		}
	}
}

func TestPager_Read_ExpiredAgain(t *testing.T) {
	// A 410 of the full list is an error: it starts over once only.
	p := &pages{n: 5}
	list := func(ctx context.Context, o metav1.ListOptions) (source.List, error) {
		if len(p.asked) > 0 {
			p.asked = append(p.asked, o)
			return nil, errGone
		}
		return p.list(ctx, o)
	}
	l, err := source.Pager{List: list, PageSize: 2}.Read(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(l); got != "0 1 RESTART "+errGone.Error() || len(p.asked) != 3 {
		t.Errorf("got %s after %d requests", got, len(p.asked))
	}
}

func TestPager_Read_ExpiredTwice(t *testing.T) {
	// A server that pages the full list as well, and expires its token too, gets no third start.
	p := &pages{n: 5}
	list := func(ctx context.Context, o metav1.ListOptions) (source.List, error) {
		if o.Continue != "" {
			p.asked = append(p.asked, o)
			return nil, errGone
		}
		o.Limit = 2
		return p.list(ctx, o)
	}
	l, err := source.Pager{List: list, PageSize: 2}.Read(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(l); got != "0 1 RESTART 0 1 "+errGone.Error() || p.open != 0 {
		t.Errorf("got %s, %d open", got, p.open)
	}
}

func TestPager_Read_BrokenPage(t *testing.T) {
	// Any other error of a page ends the list, for good.
	p := &pages{n: 5}
	broken := errors.New("broken")
	list := func(ctx context.Context, o metav1.ListOptions) (source.List, error) {
		if o.Continue != "" {
			return nil, broken
		}
		return p.list(ctx, o)
	}
	l, err := source.Pager{List: list, PageSize: 2}.Read(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(l) + ", " + read(l); got != "0 1 broken, broken" || p.open != 0 {
		t.Errorf("got %s, %d open", got, p.open)
	}
}

func TestPager_Read_SameToken(t *testing.T) {
	// A server that answers a token with the same token would never end: an error.
	list := func(context.Context, metav1.ListOptions) (source.List, error) {
		return source.ListOf(source.ListMeta{Version: "1", Continue: "x"}, obj("a")), nil
	}
	l, err := source.Pager{List: list}.Read(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(l); !strings.HasPrefix(got, "a a server answered") {
		t.Errorf("got %s", got)
	}
}

func TestPagedList_Meta(t *testing.T) {
	// Before the end, it says what the current page says, and the version as soon as page one does.
	p := &pages{n: 5}
	l, err := source.Pager{List: p.list, PageSize: 2}.Read(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m := l.Meta(); m.Version != "101" || m.Continue != "2" || m.Remaining != 3 {
		t.Errorf("page one: %+v", m)
	}
	for range 3 {
		l.Next()
	}
	if m := l.Meta(); m.Version != "101" || m.Continue != "4" || m.Remaining != 1 {
		t.Errorf("page two: %+v", m)
	}
}

func TestPagedList_Close(t *testing.T) {
	// Closed before its end it lets go of its page and gives nothing more; closing twice is fine.
	p := &pages{n: 5}
	l, err := source.Pager{List: p.list, PageSize: 2}.Read(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	l.Close()
	if _, err := l.Next(); err == nil || err == io.EOF || p.open != 0 || len(p.asked) != 1 {
		t.Errorf("after Close: %v, %d open", err, p.open)
	}
}
