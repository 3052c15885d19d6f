package delta

// window finds eight bytes again in a text. Only every step-th place is known, so it finds what repeats for at least
// step-1 bytes more. A later place takes that of an earlier one with the same hash; whoever finds one compares.
type window [1 << windowBits]slot

// slot holds a place, in steps and plus one (0 is nowhere), and above that bits of the hash, because to look at a place in
// vain costs more than all else.
type slot uint32

const (
	windowBits = 12
	step       = 4
	placeBits  = 16
	maxPlace   = (1<<placeBits - 2) * step
)

// hash spreads eight bytes over 32 bits. A table takes the highest it needs to find a slot, and the slot has the lowest.
func hash(word uint64) uint32 { return uint32(word * 0x9E3779B185EBCA87 >> 32) }

func slotOf(h uint32, place int) slot { return slot(h<<placeBits | uint32(place/step+1)) }

// place returns where a word with this hash stands, perhaps; -1 if nowhere.
func (s slot) place(h uint32) int {
	if uint32(s)>>placeBits != h&(1<<placeBits-1) {
		return -1
	}
	return (int(s&(1<<placeBits-1)) - 1) * step
}

// set makes known where a word with this hash stands, a multiple of step.
func (w *window) set(h uint32, place int) {
	if place <= maxPlace {
		w[h>>(32-windowBits)] = slotOf(h, place)
	}
}

func (w *window) find(h uint32) int { return w[h>>(32-windowBits)].place(h) }
