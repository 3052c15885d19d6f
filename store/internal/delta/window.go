package delta

import "encoding/binary"

// window finds eight bytes again in a text. Only every step-th place is known, so it finds what repeats for at least
// step-1 bytes more. A later place takes that of an earlier one with the same hash; what is found is compared.
type window struct {
	// places holds where, in steps and plus one; 0 is nowhere.
	places [1 << windowBits]uint16
	used   bool
}

const (
	windowBits = 12
	step       = 4
)

// hash spreads eight bytes over 32 bits, of which a table takes the highest it needs.
func hash(word uint64) uint32 { return uint32(word * 0x9E3779B185EBCA87 >> 32) }

func (w *window) reset() {
	if w.used {
		*w = window{}
	}
}

// add makes the bytes at text[i:] known if i is one of the places that are.
func (w *window) add(text []byte, i int) {
	if place := i/step + 1; i%step == 0 && place <= 1<<16-1 {
		w.places[hash(binary.LittleEndian.Uint64(text[i:]))>>(32-windowBits)] = uint16(place)
		w.used = true
	}
}

func (w *window) addAll(text []byte) {
	for i := 0; i+minMatch <= len(text); i += step {
		w.add(text, i)
	}
}

func (w *window) find(text []byte, word uint64, h uint32) (at int, ok bool) {
	place := w.places[h>>(32-windowBits)]
	if place == 0 {
		return 0, false
	}
	at = int(place-1) * step
	return at, binary.LittleEndian.Uint64(text[at:]) == word
}
