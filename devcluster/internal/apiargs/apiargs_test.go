package apiargs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tarn-dev/tarn/devcluster/internal/apiargs"
)

// Ensure that given flags replace devcluster's, that lists are joined, and that feature gates come together.
func TestMerge(t *testing.T) {
	base := []string{"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount", "--cert-dir=/c"}
	const gate = "--feature-gates=ShardedListAndWatch=true"
	for _, c := range []struct {
		name  string
		extra []string
		want  []string
	}{
		{"nothing given", nil, append(slices.Clone(base), gate)},
		{
			"replaced",
			[]string{"--authorization-mode=AlwaysAllow"},
			[]string{base[1], base[2], gate, "--authorization-mode=AlwaysAllow"},
		},
		{
			"replaced, value apart, underscore",
			[]string{"--authorization_mode", "AlwaysAllow"},
			[]string{base[1], base[2], gate, "--authorization_mode", "AlwaysAllow"},
		},
		{
			"admission plugins join",
			[]string{"--disable-admission-plugins=PodSecurity"},
			append(slices.Clone(base), gate, "--disable-admission-plugins=PodSecurity"),
		},
		{
			"other gates join",
			[]string{"--feature-gates=WatchList=false", "-v=4"},
			append(slices.Clone(base), gate, "--feature-gates=WatchList=false", "-v=4"),
		},
		{
			"prefixed gates stay prefixed",
			[]string{"--feature-gates", "kube:WatchList=false"},
			append(slices.Clone(base), "--feature-gates=kube:ShardedListAndWatch=true", "--feature-gates", "kube:WatchList=false"),
		},
		{
			"the gate itself given",
			[]string{"--feature-gates=WatchList=false,ShardedListAndWatch=false"},
			append(slices.Clone(base), "--feature-gates=WatchList=false,ShardedListAndWatch=false"),
		},
		{
			"an older version does not know the gate",
			[]string{"--emulated-version=1.34", "--feature-gates=WatchList=false"},
			append(slices.Clone(base), "--emulated-version=1.34", "--feature-gates=WatchList=false"),
		},
		{
			"an older version, long form",
			[]string{"--emulated-version", "kube=1.35"},
			append(slices.Clone(base), "--emulated-version", "kube=1.35"),
		},
		{
			"a version that knows the gate",
			[]string{"--emulated-version=v1.36"},
			append(slices.Clone(base), gate, "--emulated-version=v1.36"),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := apiargs.Merge(base, c.extra)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// Ensure that a flag that would make devcluster listen elsewhere, or on another etcd, is refused and says what to do.
func TestMerge_Reserved(t *testing.T) {
	for _, arg := range []string{"--bind-address=0.0.0.0", "--secure-port=1", "--etcd_servers=x", "--token-auth-file=x"} {
		_, err := apiargs.Merge(nil, []string{arg})
		if err == nil || !strings.Contains(err.Error(), "cannot be passed") {
			t.Errorf("%s: got %v", arg, err)
		}
	}
}
