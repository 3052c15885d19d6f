package tarntest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

// Source is a collection with a history. It implements [source.ListerWatcher]. Its methods may be called concurrently;
// each change is seen whole by every list and watch.
//
// Methods that a test uses wrongly (an Add of what is there, an Update of what is not, a value that does not encode)
// panic: the test itself is wrong, and an error would only be one more thing to check.
type Source struct {
	codec      object.Codec
	kind       schema.GroupVersionKind
	start      uint64
	streaming  bool
	watchCache bool

	mu      sync.Mutex
	version uint64 // of the newest change
	oldest  uint64 // versions before it are compacted away
	made    uint64 // objects made so far, over all epochs: for uids
	objects map[string]*object.Object
	history []change // of the versions after oldest, ascending

	watches   map[*watch]struct{}
	openLists int

	requests []Request
	onReq    func(context.Context, Request) error
	failures map[Verb][]error
	breaks   []listBreak
}

// change is one entry of the history. before is nil for an addition, after for a deletion.
type change struct {
	version       uint64
	before, after *object.Object
}

// Option sets up a [Source].
type Option func(*Source)

// StartAt makes version the one of the empty collection, before the first change. It is 1 where it is not set; 0 is
// none that a server ever has, and panics.
func StartAt(version uint64) Option {
	if version == 0 {
		panic("tarntest: StartAt(0): a collection's version is never 0")
	}
	return func(s *Source) { s.start = version }
}

// Kind is the kind that events name; lists name it with "List" behind. Where it is not set, they name none.
func Kind(kind schema.GroupVersionKind) Option { return func(s *Source) { s.kind = kind } }

// WithoutStreamingList acts as a server with the feature WatchList switched off: it refuses sendInitialEvents.
func WithoutStreamingList() Option { return func(s *Source) { s.streaming = false } }

// WithoutWatchCache acts as a server with its watch cache switched off: it pages a list at version "0" too.
func WithoutWatchCache() Option { return func(s *Source) { s.watchCache = false } }

// NewSource returns an empty collection. The codec encodes the values that are put in, and decodes them for who reads
// the objects; it may be nil where only *object.Object and []byte are put in.
func NewSource(codec object.Codec, options ...Option) *Source {
	s := &Source{
		codec: codec, start: 1, streaming: true, watchCache: true,
		objects: map[string]*object.Object{}, watches: map[*watch]struct{}{}, failures: map[Verb][]error{},
	}
	for _, option := range options {
		option(s)
	}
	s.version, s.oldest = s.start, s.start
	return s
}

// Add puts a new object in, at the next version, and returns it as stored. The value is one that the codec encodes, the
// JSON of an object as []byte (which need not fit the codec's type), or an *object.Object. It is copied. A uid and a
// creation time are made up where they are missing; these and the version are written into the encoded form. An
// *object.Object whose bytes are not JSON and that does not decode into a metav1.Object keeps its bytes as they are:
// only its Meta changes.
func (s *Source) Add(value any) *object.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(value)
}

func (s *Source) add(value any) *object.Object {
	o := s.accept("Add", value)
	if s.objects[o.Key] != nil {
		panic(fmt.Sprintf("tarntest: Add %q: it is there already", o.Key))
	}
	if o.UID == "" {
		s.made++
		o.UID = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.made)
	}
	if o.Created == 0 {
		o.Created = time.Now().Unix()
	}
	s.commit(nil, o)
	return o
}

// Update replaces an object, at the next version, and returns it as stored. For value see [Source.Add]; uid and creation
// time are taken from the stored object where value has none.
func (s *Source) Update(value any) *object.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.accept("Update", value)
	before := s.objects[o.Key]
	if before == nil {
		panic(fmt.Sprintf("tarntest: Update %q: it is not there", o.Key))
	}
	if o.UID == "" {
		o.UID = before.UID
	}
	if o.Created == 0 {
		o.Created = before.Created
	}
	s.commit(before, o)
	return o
}

// Delete takes an object out, at the next version, and returns its final state, which carries that version.
func (s *Source) Delete(key string) *object.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.objects[key]
	if before == nil {
		panic(fmt.Sprintf("tarntest: Delete %q: it is not there", key))
	}
	s.commit(before, nil)
	return atVersion(before, s.version)
}

// commit gives the change the next version, records it and tells the watches. after is still the caller's own.
func (s *Source) commit(before, after *object.Object) {
	s.version++
	if after != nil {
		after.Version = format(s.version)
		writeMeta(after)
		s.objects[after.Key] = after
	} else {
		delete(s.objects, before.Key)
	}
	c := change{s.version, before, after}
	s.history = append(s.history, c)
	for w := range s.watches {
		w.offer(c)
	}
}

// SetVersion moves the collection's version on, as changes of other collections of the same server do. It panics where
// that would be a step back: see [Source.StartOver].
func (s *Source) SetVersion(version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version < s.version {
		panic(fmt.Sprintf("tarntest: SetVersion(%d): the collection is at %d already", version, s.version))
	}
	s.version = version
}

// Version returns the collection's version.
func (s *Source) Version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return format(s.version)
}

// Objects returns what is stored now, ordered by key: what a mirror should come to hold.
func (s *Source) Objects() []*object.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at(s.version)
}

// at returns the state at a version that is not compacted away, ordered by key.
func (s *Source) at(version uint64) []*object.Object {
	objects := s.objects
	if version < s.version {
		objects = maps.Clone(objects)
		for _, c := range slices.Backward(s.history) {
			if c.version <= version {
				break
			}
			if c.before != nil {
				objects[c.before.Key] = c.before
			} else {
				delete(objects, c.after.Key)
			}
		}
	}
	return slices.SortedFunc(maps.Values(objects), func(a, b *object.Object) int { return strings.Compare(a.Key, b.Key) })
}

// List answers as a kube-apiserver does; see the package comment.
func (s *Source) List(ctx context.Context, options metav1.ListOptions) (source.List, error) {
	if err := s.begin(ctx, Request{ListVerb, options}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list(ctx, options)
}

// Watch answers as a kube-apiserver does; see the package comment.
func (s *Source) Watch(ctx context.Context, options metav1.ListOptions) (source.Watch, error) {
	if err := s.begin(ctx, Request{WatchVerb, options}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watch(ctx, options)
}

// Describe names the collection in messages: by its kind, empty where that was not given.
func (s *Source) Describe() string {
	if s.kind.Kind != "" {
		return s.kind.Kind + " of a test"
	}
	return ""
}

func format(version uint64) string { return strconv.FormatUint(version, 10) }
