package tarntest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

// position is what a continue token holds: where the next page starts, and in which state.
type position struct {
	Version uint64 `json:"v"`
	After   string `json:"after"`
}

func (p position) token() string {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err) // a number and a string always encode
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func parseToken(token string) (p position, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil || p.Version == 0 {
		return position{}, badRequest("invalid continue token %q", token)
	}
	return p, nil
}

// list makes the answer to a list. The lock is held.
func (s *Source) list(ctx context.Context, options metav1.ListOptions) (source.List, error) {
	sel, err := parseSelector(options)
	if err != nil {
		return nil, err
	}
	from, err := s.position(options)
	if err != nil {
		return nil, err
	}
	limit := int(options.Limit)
	if options.ResourceVersion == "0" && s.watchCache {
		limit = 0
	}
	l := &list{src: s, ctx: ctx}
	l.meta.Version = format(from.Version)
	l.meta.GVK = s.kind
	if s.kind.Kind != "" {
		l.meta.GVK.Kind += "List"
	}
	all := s.at(from.Version)
	all = all[sort.Search(len(all), func(i int) bool { return all[i].Key > from.After }):]
	for i, o := range all {
		if !sel.matches(o) {
			continue
		}
		if limit > 0 && len(l.items) == limit {
			l.meta.Continue = position{from.Version, l.items[limit-1].Key}.token()
			if sel.everything() {
				l.meta.Remaining = int64(len(all) - i)
			}
			break
		}
		l.items = append(l.items, o)
	}
	if len(s.breaks) > 0 {
		l.broken, s.breaks = &s.breaks[0], s.breaks[1:]
	}
	s.openLists++
	return l, nil
}

// position returns the state that a list reads and the key that it starts behind.
func (s *Source) position(options metav1.ListOptions) (position, error) {
	if err := validateList(options); err != nil {
		return position{}, err
	}
	if options.Continue != "" {
		p, err := parseToken(options.Continue)
		switch {
		case err != nil:
			return position{}, err
		case p.Version > s.version:
			return position{}, tooLarge(p.Version, s.version)
		case p.Version < s.oldest:
			return position{}, expired("The provided continue parameter is too old to display a consistent list result")
		}
		return p, nil
	}
	version, err := parseVersion(options.ResourceVersion)
	switch {
	case err != nil:
		return position{}, err
	case version > s.version:
		return position{}, tooLarge(version, s.version)
	}
	exact := options.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
		options.ResourceVersionMatch == "" && options.Limit > 0 && version > 0
	if !exact {
		return position{Version: s.version}, nil
	}
	if version < s.oldest {
		return position{}, expired("The resourceVersion for the provided list is too old")
	}
	return position{Version: version}, nil
}

// list is one answer; its items are cut from a state that does not change any more.
type list struct {
	src    *Source
	ctx    context.Context
	meta   source.ListMeta
	items  []*object.Object
	read   int
	broken *listBreak
	closed bool
}

func (l *list) Next() (*object.Object, error) {
	switch {
	case l.closed:
		return nil, errClosed
	case l.ctx.Err() != nil:
		return nil, context.Cause(l.ctx)
	case l.broken != nil && (l.read == l.broken.after || l.read == len(l.items)):
		return nil, l.broken.err
	case l.read == len(l.items):
		return nil, io.EOF
	}
	l.read++
	return l.items[l.read-1], nil
}

func (l *list) Meta() source.ListMeta { return l.meta }

func (l *list) Close() error {
	if !l.closed {
		l.closed = true
		l.src.mu.Lock()
		defer l.src.mu.Unlock()
		l.src.openLists--
	}
	return nil
}
