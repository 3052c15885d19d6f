package source

import (
	"context"
	"errors"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
)

// DefaultPageSize is how many items a [Pager] asks for at a time where it is not told.
const DefaultPageSize = 500

var (
	errSameToken  = errors.New("server answered a continuation token with the same token")
	errListClosed = errors.New("list is closed")
)

// Pager reads a collection in pages and hands them out as one list. It holds one page's reader at a time, no items.
type Pager struct {
	// List reads one page. Usually it is the method of a [ListerWatcher].
	List ListFunc
	// PageSize is the limit of each page: 0 = [DefaultPageSize], negative = no limit, the whole list in one piece.
	PageSize int64
}

// Read asks for the first page and returns when its head is there. Every error of that page is returned as it is, a 410
// included: only the caller knows which other version would do.
//
// The options' version and match go with the first page only; a continuation page carries the token, which has the
// version in it, and the selectors.
func (p Pager) Read(ctx context.Context, options metav1.ListOptions) (*PagedList, error) {
	switch {
	case p.PageSize > 0:
		options.Limit = p.PageSize
	case p.PageSize < 0:
		options.Limit = 0
	default:
		options.Limit = DefaultPageSize
	}
	options.Continue = ""
	l := &PagedList{ctx: ctx, list: p.List, options: options}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// PagedList is a [List] over all pages.
//
// Where the continuation token has expired (410), Next returns [ErrRestart] once, and then reads the whole list from its
// start, unpaged, at the version first asked for.
type PagedList struct {
	ctx     context.Context
	list    ListFunc
	options metav1.ListOptions

	page      List // the page that is read; nil between two pages and after the end
	pages     int  // opened so far
	token     string
	first     ListMeta // of page one; complete when it has ended
	restarted bool
	err       error
}

// Next implements [List].
func (l *PagedList) Next() (*object.Object, error) {
	for l.err == nil {
		if l.page == nil {
			if err := l.open(); err != nil {
				return nil, l.broke(err)
			}
		}
		obj, err := l.page.Next()
		switch {
		case err == nil:
			return obj, nil
		case err != io.EOF:
			return nil, l.broke(err)
		}
		l.endPage()
	}
	return nil, l.err
}

// open asks for the page that the token names.
func (l *PagedList) open() error {
	options := l.options
	if l.token != "" {
		options.Continue = l.token
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
	page, err := l.list(l.ctx, options)
	if err != nil {
		return err
	}
	l.page = page
	l.pages++
	return nil
}

// endPage takes note of what the page said of itself, and of whether there is another one.
func (l *PagedList) endPage() {
	meta := l.page.Meta()
	l.closePage()
	if l.pages == 1 {
		l.first = meta
	}
	switch meta.Continue {
	case "":
		l.err = io.EOF
	case l.token:
		l.err = errSameToken
	}
	l.token = meta.Continue
}

// broke turns an expired token into a new start, once; everything else ends the list.
func (l *PagedList) broke(err error) error {
	l.closePage()
	if l.token != "" && !l.restarted && (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) {
		l.restarted = true
		l.options.Limit = 0
		l.token, l.pages, l.first = "", 0, ListMeta{}
		return ErrRestart
	}
	l.err = err
	return err
}

func (l *PagedList) closePage() {
	if l.page != nil {
		l.page.Close()
		l.page = nil
	}
}

// Meta implements [List]. The version is that of the first page.
func (l *PagedList) Meta() ListMeta {
	meta := l.first
	if l.page != nil {
		now := l.page.Meta()
		if l.pages == 1 {
			meta = now
		}
		meta.Continue, meta.Remaining = now.Continue, now.Remaining
	} else if errors.Is(l.err, io.EOF) {
		meta.Continue, meta.Remaining = "", 0
	}
	return meta
}

// Paged reports whether the list has come, so far, in more than one page.
func (l *PagedList) Paged() bool { return l.pages > 1 }

// Close implements [List].
func (l *PagedList) Close() error {
	l.closePage()
	if l.err == nil {
		l.err = errListClosed
	}
	return nil
}
