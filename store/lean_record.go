package store

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"unsafe"

	"github.com/tarn-dev/tarn/internal/race"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store/internal/delta"
)

// A record of the lean layout begins with a byte of flags, the version, the uid, and where they differ, the size on the
// wire; what follows is the delta record. Version and uid are in the bytes too, but nearly every use of an object that
// needs no more than metadata needs these two.
const (
	recIsBase     = 1 << iota // the object is its base: there is no delta
	recSameLabels             // the labels are those of the base
	recUUID                   // the uid is stored in 16 bytes
	recWireSize
)

// record is what a record says, or is made of.
type record struct {
	base         *base
	obj          *object.Object // only to write
	isBase, same bool
	version      string
	uid          string // of 16 bytes if it is a UUID
	isUUID       bool
	wireSize     int
	sum          uint32 // of the object's bytes, with the race detector, where tests run
	delta        string
}

// appendHeader appends all but the delta. If the uid is a UUID, uuid is its bytes.
func (r record) appendHeader(dst, uuid []byte) []byte {
	flags := byte(0)
	if r.isBase {
		flags |= recIsBase
	}
	if r.same {
		flags |= recSameLabels
	}
	if r.isUUID {
		flags |= recUUID
	}
	if r.obj.WireSize != 0 {
		flags |= recWireSize
	}
	dst = append(dst, flags)
	dst = appendString(dst, r.obj.Version)
	if r.isUUID {
		dst = append(dst, uuid...)
	} else {
		dst = appendString(dst, r.obj.UID)
	}
	if r.obj.WireSize != 0 {
		dst = binary.AppendUvarint(dst, uint64(r.obj.WireSize))
	}
	if race.Enabled {
		dst = binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(r.obj.Raw))
	}
	return dst
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// readRecord takes a record apart; its strings are parts of it.
func readRecord(h handle) record {
	rec := h.record()
	flags := rec[0]
	r := record{base: h.on, isBase: flags&recIsBase != 0, same: flags&recSameLabels != 0}
	rec = rec[1:]
	r.version, rec = takeString(rec)
	if flags&recUUID != 0 {
		r.uid, r.isUUID, rec = rec[:16], true, rec[16:]
	} else {
		r.uid, rec = takeString(rec)
	}
	if flags&recWireSize != 0 {
		n, k := binary.Uvarint(bytesOf(rec))
		r.wireSize, rec = int(n), rec[k:]
	}
	if race.Enabled {
		r.sum, rec = binary.LittleEndian.Uint32(bytesOf(rec)), rec[4:]
	}
	r.delta = rec
	return r
}

// length returns how long the object's bytes are.
func (r record) length() int {
	if r.isBase {
		return int(r.base.size)
	}
	n, err := delta.Size(bytesOf(r.delta))
	if err != nil {
		panic("store: a record has no size")
	}
	return n
}

func (r record) uidText() string {
	if r.isUUID {
		var text [36]byte
		return string(appendUUID(text[:0], r.uid))
	}
	return r.uid
}

func (r record) isUID(uid string) bool {
	if !r.isUUID {
		return r.uid == uid
	}
	uuid, ok := parseUUID(uid)
	return ok && string(uuid[:]) == r.uid
}

// check returns the object's bytes, once they are what was stored.
func (r record) check(raw []byte) []byte {
	if race.Enabled && crc32.ChecksumIEEE(raw) != r.sum {
		panic("store: a record does not decode to what was stored")
	}
	return raw
}

func takeString(rec string) (s, rest string) {
	n, k := binary.Uvarint(bytesOf(rec))
	return rec[k : k+int(n)], rec[k+int(n):]
}

// bytesOf returns the bytes of s, which must not be written to.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// parseUUID reads a UUID in the form that a Kubernetes server writes (RFC 9562, lower case).
func parseUUID(s string) (uuid [16]byte, ok bool) {
	if len(s) != 36 {
		return uuid, false
	}
	var digits [32]byte
	n := 0
	for i := range len(s) {
		switch c := s[i]; {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return uuid, false
			}
		case '0' <= c && c <= '9' || 'a' <= c && c <= 'f':
			digits[n] = c
			n++
		default:
			return uuid, false
		}
	}
	_, err := hex.Decode(uuid[:], digits[:])
	return uuid, err == nil
}

// appendUUID is the inverse of parseUUID.
func appendUUID(dst []byte, b string) []byte {
	for i, part := range [...]string{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, bytesOf(part))
	}
	return dst
}

// headOf returns the head of a record's delta: the text of a uid that the record keeps short. It is good until the next call.
func (d *leanDecoder) headOf(r record) []byte {
	if !r.isUUID {
		return nil
	}
	return appendUUID(d.uid[:0], r.uid)
}

// leanEncoder writes records. Between two of one base it keeps what it knows of it.
type leanEncoder struct {
	base  *base // of which plain and delta know the bytes; nil: of none
	plain []byte
	delta delta.Encoder
	buf   []byte
	dec   leanDecoder
}

// use makes on the base of the records that follow.
func (e *leanEncoder) use(on *base) {
	if e.base == on {
		return
	}
	e.base = nil
	e.plain = e.dec.base(e.plain[:0], on)
	e.delta.SetBase(e.plain)
	e.base = on
}

// makeBase gives a base its bytes. The records that follow are probably of it.
func (e *leanEncoder) makeBase(on *base, raw []byte) {
	e.delta.SetBase(nil)
	e.buf = e.delta.Append(e.buf[:0], on.kind.coding, nil, raw)
	on.rec = string(e.buf)
	e.plain = append(e.plain[:0], raw...)
	e.delta.SetBase(e.plain)
	e.base = on
}

func (e *leanEncoder) write(r record) string {
	uuid, isUUID := parseUUID(r.obj.UID)
	r.isUUID = isUUID
	e.buf = r.appendHeader(e.buf[:0], uuid[:])
	if !r.isBase {
		var head []byte // what need not be in the delta because the record has it
		if isUUID {
			head = bytesOf(r.obj.UID)
		}
		e.use(r.base)
		e.buf = e.delta.Append(e.buf, r.base.kind.coding, head, r.obj.Raw)
	}
	return string(e.buf)
}

// leanDecoder reads records. It keeps the bytes of the last base, and memory for those of an object.
type leanDecoder struct {
	on    *base
	plain []byte
	lent  []byte
	uid   [36]byte
	delta delta.Decoder
}

// base appends the bytes of a base to dst.
func (d *leanDecoder) base(dst []byte, on *base) []byte {
	if on.rec == "" {
		return dst
	}
	return d.must(d.delta.Append(dst, on.kind.coding, nil, nil, bytesOf(on.rec)))
}

// plainOf returns the bytes of a base, which are good until the next call.
func (d *leanDecoder) plainOf(on *base) []byte {
	if d.on != on {
		d.on = nil
		d.plain = d.base(d.plain[:0], on)
		d.on = on
	}
	return d.plain
}

// must returns the bytes that were read: a record is only ever read as it was written.
func (d *leanDecoder) must(raw []byte, err error) []byte {
	if err != nil {
		panic("store: " + err.Error())
	}
	return raw
}
