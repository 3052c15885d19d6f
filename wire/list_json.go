package wire

import (
	"errors"
	"io"
)

// jsonList reads a list object. Its members may come in any order.
type jsonList struct {
	meta  *ListMeta
	s     jsonStream
	limit int
	state listState
	seen  map[string]bool
}

type listState uint8

const (
	listStart   listState = iota // before the opening brace
	listMembers                  // behind a member
	listFirst                    // behind the bracket that opens the items
	listItems                    // behind an item
)

func (l *jsonList) next(buf []byte) ([]byte, error) {
	for {
		switch l.state {
		case listStart:
			if _, err := l.s.take("{"); err != nil {
				return nil, err
			}
			l.seen = map[string]bool{}
			l.state = listMembers
			if err := l.firstMember(); err != nil {
				return nil, err
			}
		case listMembers:
			c, err := l.s.take(",}")
			if err != nil {
				return nil, err
			}
			if c == '}' {
				return nil, l.close()
			}
			if err := l.member(); err != nil {
				return nil, err
			}
		case listFirst:
			c, err := l.s.peek()
			if err != nil {
				return nil, broken(err)
			}
			if c != ']' {
				return l.item(buf)
			}
			fallthrough
		case listItems:
			c, err := l.s.take(",]")
			if err != nil {
				return nil, err
			}
			if c == ',' {
				return l.item(buf)
			}
			l.state = listMembers
		}
	}
}

func (l *jsonList) item(buf []byte) ([]byte, error) {
	l.state = listItems
	l.s.limit = l.limit
	b, err := l.s.object("an item of the list", buf)
	return b, broken(err)
}

// firstMember reads the member behind the opening brace, if there is one.
func (l *jsonList) firstMember() error {
	c, err := l.s.peek()
	if err != nil {
		return broken(err)
	}
	if c == '}' {
		return nil
	}
	return l.member()
}

// member reads a member, the items up to their opening bracket.
func (l *jsonList) member() error {
	l.s.limit = maxHead
	b, err := l.s.value("a member's name", true)
	if err != nil {
		return broken(err)
	}
	s := scanner{b: b}
	name := string(s.bytes(s.str()))
	if s.end(); s.err != nil {
		return s.err
	}
	if _, err := l.s.take(":"); err != nil {
		return err
	}
	switch name {
	case "items", "metadata", "kind", "apiVersion":
		if l.seen[name] {
			return unusual("json: a list with two %s", name)
		}
		l.seen[name] = true
	default:
		_, err := l.s.value(name, false)
		return broken(err)
	}
	if name == "items" {
		c, err := l.s.peek()
		if err == nil && c == 'n' {
			return l.small(name)
		}
		if _, err := l.s.take("["); err != nil {
			return err
		}
		l.state = listFirst
		return nil
	}
	return l.small(name)
}

// small reads a member that is not the items.
func (l *jsonList) small(name string) error {
	b, err := l.s.value(name, true)
	if err != nil {
		return broken(err)
	}
	s := scanner{b: b}
	switch name {
	case "kind":
		l.meta.Kind = string(s.strOrNull())
	case "apiVersion":
		l.meta.APIVersion = string(s.strOrNull())
	case "metadata":
		l.listMeta(&s)
	default:
		s.null()
	}
	if s.end(); s.err != nil {
		return s.err
	}
	return l.meta.check()
}

func (l *jsonList) listMeta(s *scanner) {
	seen := 0
	for s.begin('{'); s.more('}'); {
		switch key := s.key(); {
		case s.is(key, "resourceVersion"):
			s.once(&seen, 1)
			l.meta.Version = string(s.strOrNull())
		case s.is(key, "continue"):
			s.once(&seen, 2)
			l.meta.Continue = string(s.strOrNull())
		case s.is(key, "remainingItemCount"):
			s.once(&seen, 4)
			l.meta.Remaining = s.integer()
		default:
			s.skip()
		}
	}
}

// close checks that nothing but white space follows, and returns io.EOF.
func (l *jsonList) close() error {
	switch _, err := l.s.peek(); {
	case err == nil:
		return malformed("json: more behind the list")
	case !errors.Is(err, io.EOF):
		return err
	case !l.seen["items"]:
		return malformed("json: %q without items", l.meta.Kind)
	}
	return io.EOF
}
