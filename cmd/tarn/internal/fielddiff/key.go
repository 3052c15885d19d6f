package fielddiff

import "strconv"

// keyFields are the fields that tell items of Kubernetes' lists apart, the likeliest first: containers, volumes and env have
// names, conditions types, tolerations keys, mounts paths, addresses an ip.
var keyFields = []string{"name", "type", "key", "mountPath", "containerPort", "port", "ip", "uid", "id"}

// keyField returns the first field that every item of both lists has, with a value of its own in each list.
func keyField(before, after []any) (string, bool) {
	if len(before)+len(after) == 0 {
		return "", false
	}
	for _, f := range keyFields {
		if distinct(before, f) && distinct(after, f) {
			return f, true
		}
	}
	return "", false
}

func distinct(items []any, field string) bool {
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		k, ok := key(item, field)
		if !ok || seen[k] {
			return false
		}
		seen[k] = true
	}
	return true
}

// key returns the text by which an item is told from the others.
func key(item any, field string) (string, bool) {
	m, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	switch v := m[field].(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// keys returns the texts of all items, which have them.
func keys(items []any, field string) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i], _ = key(item, field)
	}
	return out
}
