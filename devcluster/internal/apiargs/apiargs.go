// Package apiargs puts the arguments for kube-apiserver together: the ones that devcluster needs, and the ones that the
// person who starts it gave on top.
package apiargs

import (
	"fmt"
	"strconv"
	"strings"
)

// joined are the flags that take a list which both sides add to; of any other flag there is one value.
var joined = map[string]bool{"disable-admission-plugins": true, "enable-admission-plugins": true}

// reserved are the flags that devcluster keeps for itself, and what to use in their place.
var reserved = map[string]string{
	"secure-port":          "give --secure-port before the --",
	"bind-address":         "devcluster listens on 127.0.0.1 only",
	"etcd-servers":         "devcluster runs its own etcd; see --etcd-port",
	"tls-cert-file":        "devcluster makes its own certificates",
	"tls-private-key-file": "devcluster makes its own certificates",
	"token-auth-file":      "devcluster makes its own token",
}

// Merge returns base followed by extra. Both are kube-apiserver arguments; base is written --name=value throughout. A flag
// in extra replaces the one in base, except that lists of admission plugins are joined. The feature ShardedListAndWatch
// is switched on where the emulated version knows it and extra does not say otherwise. It is an error if extra has a
// flag that devcluster keeps for itself.
func Merge(base, extra []string) ([]string, error) {
	given := map[string][]string{}
	for i, arg := range extra {
		name, value, isFlag := split(arg)
		if !isFlag {
			continue
		}
		if why, ok := reserved[name]; ok {
			return nil, fmt.Errorf("--%s cannot be passed to kube-apiserver: %s", name, why)
		}
		if !strings.Contains(arg, "=") && i+1 < len(extra) {
			value = extra[i+1]
		}
		given[name] = append(given[name], value)
	}
	var merged []string
	for _, arg := range base {
		name, _, _ := split(arg)
		if _, replaced := given[name]; !replaced || joined[name] {
			merged = append(merged, arg)
		}
	}
	if gate := shardedGate(given); gate != "" {
		merged = append(merged, "--feature-gates="+gate)
	}
	return append(merged, extra...), nil
}

// split takes --name=value apart. Underscores in names count as dashes, as they do for kube-apiserver.
func split(arg string) (name, value string, isFlag bool) {
	rest, isFlag := strings.CutPrefix(arg, "--")
	if !isFlag {
		return "", "", false
	}
	name, value, _ = strings.Cut(rest, "=")
	return strings.ReplaceAll(name, "_", "-"), value, true
}

// sharded is the gate that is on by default, and shardedSince the minor version of Kubernetes that first knew it: an
// older emulated version refuses to start with it.
const (
	sharded      = "ShardedListAndWatch"
	shardedSince = 36
)

// shardedGate returns the gate to add, or "".
func shardedGate(given map[string][]string) string {
	for _, v := range list(given["emulated-version"]) {
		v = strings.TrimPrefix(v, "kube=")
		minor, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(v, "v"), "1."))
		if err == nil && minor < shardedSince {
			return ""
		}
	}
	prefix := ""
	for _, gate := range list(given["feature-gates"]) {
		// kube-apiserver refuses a mix of gates with and without the prefix.
		bare, has := strings.CutPrefix(gate, "kube:")
		if has {
			prefix = "kube:"
		}
		if name, _, _ := strings.Cut(bare, "="); strings.TrimSpace(name) == sharded {
			return ""
		}
	}
	return prefix + sharded + "=true"
}

// list takes comma-separated values apart.
func list(values []string) []string {
	var all []string
	for _, v := range values {
		for _, e := range strings.Split(v, ",") {
			all = append(all, strings.TrimSpace(e))
		}
	}
	return all
}
