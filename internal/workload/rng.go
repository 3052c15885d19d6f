package workload

import "encoding/hex"

// rng is a splitmix64 generator: one word of state, no allocation, the same numbers in every release of Go.
type rng uint64

// mix returns a seed that depends on every one of the parts.
func mix(seed uint64, parts ...uint64) uint64 {
	for _, p := range parts {
		r := rng(seed ^ p*0x9e3779b97f4a7c15)
		seed = r.next()
	}
	return seed
}

func (r *rng) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n returns a number in [0, limit).
func (r *rng) n(limit int) int { return int(r.next() % uint64(limit)) }

// between returns a number in [low, high].
func (r *rng) between(low, high int) int { return low + r.n(high-low+1) }

// chance is true with probability p.
func (r *rng) chance(p float64) bool { return float64(r.next()>>11)/(1<<53) < p }

// hex returns n hexadecimal digits.
func (r *rng) hex(n int) string {
	b := make([]byte, n)
	r.fillHex(b)
	return string(b)
}

func (r *rng) fillHex(b []byte) {
	const digits = "0123456789abcdef"
	for i := 0; i < len(b); {
		for v, k := r.next(), 0; k < 16 && i < len(b); k++ {
			b[i] = digits[v&15]
			v >>= 4
			i++
		}
	}
}

// uuid returns a version 4 UUID.
func (r *rng) uuid() string {
	var raw [16]byte
	for i := 0; i < 16; i += 8 {
		v := r.next()
		for k := range 8 {
			raw[i+k] = byte(v >> (8 * k))
		}
	}
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	var b [36]byte
	hex.Encode(b[0:8], raw[0:4])
	hex.Encode(b[9:13], raw[4:6])
	hex.Encode(b[14:18], raw[6:8])
	hex.Encode(b[19:23], raw[8:10])
	hex.Encode(b[24:36], raw[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return string(b[:])
}

// safeAlphabet is what Kubernetes builds generated names from: no vowels, nothing that looks like another letter.
const safeAlphabet = "bcdfghjklmnpqrstvwxz2456789"

// suffix writes v as n letters of the safe alphabet, each v below 27^n to a text of its own.
func suffix(v uint64, n int) string {
	var b [16]byte
	for i := range n {
		b[i] = safeAlphabet[v%27]
		v /= 27
	}
	return string(b[:n])
}

// suffixes27 is the number of texts of five letters; as a power of 3 it shares no factor with the step below.
const suffixes27 = 27 * 27 * 27 * 27 * 27

// podSuffix returns the five letters that end the name of the k-th pod of a workload: all different, and scattered.
func podSuffix(seed uint64, k int) string {
	return suffix((seed%suffixes27+uint64(k)*5_882_353)%suffixes27, 5)
}

// pick returns one of the choices.
func pick[T any](r *rng, choices []T) T { return choices[r.n(len(choices))] }

// base64Text returns n characters that look like base64.
func (r *rng) base64Text(n int) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	b := make([]byte, n)
	for i := 0; i < n; {
		for v, k := r.next(), 0; k < 10 && i < n; k++ {
			b[i] = digits[v&63]
			v >>= 6
			i++
		}
	}
	return string(b)
}
