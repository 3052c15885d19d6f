package store

import (
	"hash/maphash"

	"github.com/tarn-dev/tarn/object"
)

var seed = maphash.MakeSeed()

// groupOf returns what siblings have in common, and whether it is certain that there will be some. Two groups with the
// same number would only share a base that fits one of them badly.
func groupOf(m *object.Meta) (group uint64, ok bool) {
	var h maphash.Hash
	h.SetSeed(seed)
	if owner := m.Controller(); owner != nil {
		_, _ = h.WriteString(owner.UID)
		return h.Sum64(), true
	}
	return 0, false
}

// baseFor returns the base for an object, and whether it was made of it just now.
func (l *lean) baseFor(obj *object.Object, e *leanEncoder) (on *base, isNew bool) {
	group, grouped := groupOf(&obj.Meta)
	l.mu.Lock()
	on = l.aloneBase(obj)
	kind := on.kind
	if grouped {
		on = l.bases[group]
	}
	l.mu.Unlock()
	if on != nil && on.kind.enc == obj.Encoding && on.kind.codec == obj.Codec {
		return on, false
	}
	made := &base{group: group, kind: kind, size: uint32(len(obj.Raw))}
	e.makeBase(made, obj.Raw)
	made.labelsHash = hashOf(obj.Labels)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep()
	l.bases[group] = made
	return made, true
}

// hashOf stands for a set of labels.
func hashOf(labels object.Labels) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range labels {
		_, _ = h.WriteString(labels[i].Key)
		_ = h.WriteByte(0)
		_, _ = h.WriteString(labels[i].Value)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// baseLabels returns the labels of the object that a base was made of. They are read when they are first asked for.
func (l *lean) baseLabels(on *base) *object.Labels {
	if labels := on.labels.Load(); labels != nil {
		return labels
	}
	d := l.decoders.Get().(*leanDecoder)
	defer l.decoders.Put(d)
	meta := metaOf(on, d.base(nil, on))
	labels := meta.Labels
	on.labels.Store(&labels)
	return &labels
}

// aloneBase returns the base without bytes for an object. The lock is held.
func (l *lean) aloneBase(obj *object.Object) *base {
	k := aloneKey{obj.Codec, obj.Encoding}
	on := l.alone[k]
	if on == nil {
		on = &base{kind: &kind{l: l, coding: l.coding, codec: obj.Codec, enc: obj.Encoding}}
		l.alone[k] = on
	}
	return on
}

// put and drop count who uses a base. One that nobody uses is no longer offered to others.
func (l *lean) put(h handle) { l.count(h, +1) }

func (l *lean) drop(h handle) { l.count(h, -1) }

func (l *lean) count(h handle, n int32) {
	l.tally.note(h, int64(n))
	on := h.on
	if on == nil || on.rec == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if on.users == 0 {
		l.used++
		l.baseBytes += int64(len(on.rec))
	}
	if on.users += n; on.users == 0 {
		l.used--
		l.baseBytes -= int64(len(on.rec))
		l.retire(on)
	}
}

// retire stops offering a base. The lock is held.
func (l *lean) retire(on *base) {
	if l.bases[on.group] == on {
		delete(l.bases, on.group)
	}
}

// sweep retires the bases of objects that were prepared and never stored, when there are many. The lock is held.
func (l *lean) sweep() {
	if len(l.bases) < 2*l.used+1024 {
		return
	}
	for _, on := range l.bases {
		if on.users == 0 {
			l.retire(on)
		}
	}
}

// judge retires a base that keeps fitting badly: the group's objects have changed, and the next one makes a new base.
func (l *lean) judge(on *base, raw, rec int) {
	if on.rec == "" || rec < raw/2 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if on.misfits++; on.misfits > 4+on.users/4 {
		l.retire(on)
	}
}
