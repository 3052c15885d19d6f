package object

import "strings"

// CompareVersions compares two resource versions of one collection: negative, zero or positive as a is older than,
// equal to or newer than b. Kubernetes 1.35 and later promises that the versions of one resource compare as decimal
// numbers of any length (KEP-5504); ok is false where either is not such a number, and then only equality of the
// strings means anything.
func CompareVersions(a, b string) (order int, ok bool) {
	if !isDecimal(a) || !isDecimal(b) {
		return 0, false
	}
	if len(a) != len(b) {
		return len(a) - len(b), true
	}
	return strings.Compare(a, b), true
}

// isDecimal reports whether v is a positive decimal number without leading zeros.
func isDecimal(v string) bool {
	if v == "" || v[0] == '0' {
		return false
	}
	for i := 0; i < len(v); i++ {
		if v[i] < '0' || v[i] > '9' {
			return false
		}
	}
	return true
}
