package mirror

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/store"
)

// Scope is a part of the collection that is listed and watched by itself: a namespace, or everything. It has its own
// reflector, version and freshness, and can be added and dropped alone.
type Scope struct {
	id        store.Scope
	namespace string
	reflector *reflector.Reflector
	cancel    context.CancelFunc
	done      chan struct{}

	synced     bool // in this run
	everSynced bool
}

// ID returns the number that the store knows the scope by.
func (s *Scope) ID() store.Scope { return s.id }

// Namespace returns the namespace that the scope is of; "" for all.
func (s *Scope) Namespace() string { return s.namespace }

// Reflector returns what keeps the scope in step.
func (s *Scope) Reflector() *reflector.Reflector { return s.reflector }

// AddScope adds a scope; build makes its reflector for the sink it is given. While the mirror runs, the scope starts at
// once.
func (m *Mirror) AddScope(namespace string, build func(reflector.Sink) *reflector.Reflector) *Scope {
	m.life.Lock()
	defer m.life.Unlock()
	m.mu.Lock()
	m.nextScope++
	scope := &Scope{id: m.nextScope, namespace: namespace}
	m.scopes = append(m.scopes, scope)
	m.mu.Unlock()
	scope.reflector = build(&sink{m: m, scope: scope})
	if m.users > 0 {
		m.start(scope)
	}
	return scope
}

// DropScope stops a scope and takes its objects out; subscriptions see them as deleted, their final state unknown.
func (m *Mirror) DropScope(scope *Scope) {
	m.life.Lock()
	defer m.life.Unlock()
	if scope.cancel != nil {
		scope.cancel()
		<-scope.done
	}
	m.mu.Lock()
	m.scopes = slices.DeleteFunc(m.scopes, func(s *Scope) bool { return s == scope })
	m.mu.Unlock()
	_ = m.publish(func(end func(*store.Txn, []Change)) error { // deleting cannot fail
		return m.store.Write(nil, func(tx *store.Txn) error {
			tx.DropScope(scope.id)
			end(tx, changesOf(tx, false))
			return nil
		})
	})
	if m.users > 0 {
		m.settle()
	}
}

// Scopes returns the scopes.
func (m *Mirror) Scopes() []*Scope {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.scopes)
}

// start runs a scope's reflector. m.life is held.
func (m *Mirror) start(scope *Scope) {
	ctx, cancel := context.WithCancel(m.runCtx)
	scope.cancel, scope.done = cancel, make(chan struct{})
	go func() {
		defer close(scope.done)
		defer cancel()
		_ = scope.reflector.Run(ctx) // it ends with the context, and reports its failures as they happen
	}()
}

// Acquire starts the mirror, if nobody else has. The result stops it again, once everybody has called theirs, and then
// returns when no goroutine of it is left. It is out of sync then.
func (m *Mirror) Acquire() (release func()) {
	m.life.Lock()
	defer m.life.Unlock()
	if m.users++; m.users == 1 {
		m.runCtx, m.stop = context.WithCancel(context.Background())
		for _, s := range m.Scopes() {
			m.start(s)
		}
	}
	return m.release
}

func (m *Mirror) release() {
	m.life.Lock()
	defer m.life.Unlock()
	if m.users--; m.users > 0 {
		return
	}
	m.stop()
	for _, s := range m.Scopes() {
		<-s.done
	}
	// Now, and not when the next run starts: who waits for that one may ask before it has begun.
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.scopes {
		s.synced = false
	}
	if m.isSynced {
		m.isSynced, m.synced = false, make(chan struct{})
	}
}

func (m *Mirror) scopeSynced(scope *Scope) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return scope.synced
}

// relisted notes that a scope was listed as a whole.
func (m *Mirror) relisted(scope *Scope, changes []Change) {
	m.settleFailures()
	m.mu.Lock()
	again := scope.synced
	scope.synced, scope.everSynced = true, true
	m.mu.Unlock()
	if again {
		m.announceRelist(scope, changes)
	}
	m.settle()
}

// announceRelist tells the subscriptions that asked for resync which objects a relist found as they were.
func (m *Mirror) announceRelist(scope *Scope, changes []Change) {
	m.commit.Lock()
	defer m.commit.Unlock()
	var changed map[string]struct{}
	for s := range m.subs {
		if s.options.Resync <= 0 {
			continue
		}
		if changed == nil {
			changed = make(map[string]struct{}, len(changes))
			for i := range changes {
				changed[changes[i].Key] = struct{}{}
			}
		}
		s.noteRelist(relist{scope.namespace, changed})
		s.poke()
	}
}

// settle notes when all scopes have been listed in this run.
func (m *Mirror) settle() {
	m.commit.Lock()
	defer m.commit.Unlock()
	m.mu.Lock()
	done := !m.isSynced
	for _, s := range m.scopes {
		done = done && s.synced
	}
	if done {
		m.isSynced, m.syncedSeq = true, m.tail.seq
		close(m.synced)
	}
	m.mu.Unlock()
	if done {
		for s := range m.subs {
			s.poke()
		}
	}
}

// syncedAt returns the length of the log when all scopes had been listed; false before.
func (m *Mirror) syncedAt() (seq uint64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.syncedSeq, m.isSynced
}

// Synced returns a channel that closes when every scope has been listed in this run.
func (m *Mirror) Synced() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.synced
}

// HasSynced reports whether every scope has been listed in this run.
func (m *Mirror) HasSynced() bool { _, ok := m.syncedAt(); return ok }

// WhyNotSynced says in one line what each scope that has not been listed is waiting for; nil if there is none.
func (m *Mirror) WhyNotSynced() error {
	m.mu.Lock()
	var waiting []*Scope
	for _, s := range m.scopes {
		if !s.synced {
			waiting = append(waiting, s)
		}
	}
	m.mu.Unlock()
	var reasons []error
	for _, s := range waiting {
		st := s.reflector.Status()
		if err := st.Err(); err != nil {
			reasons = append(reasons, err)
			continue
		}
		reasons = append(reasons, fmt.Errorf("%s: %s", s.reflector.Name(), st.Phase))
	}
	return oneLine(reasons)
}

// oneLine joins errors with "; ", unlike [errors.Join], which takes a line for each.
func oneLine(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	return &joined{errs}
}

type joined struct{ errs []error }

func (j *joined) Error() string {
	texts := make([]string, len(j.errs))
	for i, err := range j.errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (j *joined) Unwrap() []error { return j.errs }
