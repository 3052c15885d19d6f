package store

// slots gives out small numbers. A copy can be used and thrown away without harm to the original.
type slots struct {
	next  uint32
	spare []uint32 // shared between copies, so only ever shortened
	freed []uint32 // this copy's own
}

func (s *slots) take() (slot uint32) {
	if n := len(s.freed); n > 0 {
		slot, s.freed = s.freed[n-1], s.freed[:n-1]
		return slot
	}
	if n := len(s.spare); n > 0 {
		slot, s.spare = s.spare[n-1], s.spare[:n-1]
		return slot
	}
	s.next++
	return s.next - 1
}

func (s *slots) free(slot uint32) { s.freed = append(s.freed, slot) }

// settle returns what the next copies start from, when used slots are in use.
func (s slots) settle(used int) slots {
	if used == 0 {
		return slots{}
	}
	return slots{next: s.next, spare: append(s.spare, s.freed...)}
}
