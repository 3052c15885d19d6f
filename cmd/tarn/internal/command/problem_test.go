package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/source/kube"
)

// Ensures that each kind of error is told in the user's words on one line, and that it is known which may pass.
func TestExplain(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	request := func(err error) error {
		return fmt.Errorf("pods: list: %w", &url.Error{Op: "Get", URL: "https://x/api", Err: err})
	}
	for _, c := range []struct {
		name         string
		err          error
		want         string
		fatal, waits bool
	}{
		{
			"no such resource", &kube.NoMatchError{Resource: kube.Named("pood"), Suggestions: []string{"pods"}},
			`no resource "pood" on the server (did you mean "pods"?), or wait for it with --wait`, true, true,
		},
		{"nothing like it", &kube.NoMatchError{Resource: kube.Named("zzz")}, `"kubectl api-resources" lists what there is`, true, true},
		{"cannot be listed", fmt.Errorf("tokenreviews: %w", kube.ErrNotListable), "so not be watched", true, false},
		{"forbidden", apierrors.NewForbidden(pods, "", errors.New("no\nrole")), "pods is forbidden: no role; ask for a role", true, true},
		{"unauthorized", apierrors.NewUnauthorized("x"), "does not accept your credentials: https://x (context \"c\"); log in again", true, false},
		{"bad selector", apierrors.NewBadRequest("field label not supported: a"), "field label not supported: a; check --selector and --field-selector", true, false},
		{"refused", request(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), "no answer from https://x (context \"c\"): connection refused", true, true},
		{"unknown host", request(&net.DNSError{Name: "x", IsNotFound: true}), "there is no host x", true, true},
		{"timed out", request(context.DeadlineExceeded), "timed out", true, true},
		{"plugin", request(errors.New("getting credentials: exec: executable aws not found")), "executable aws not found; the kubeconfig's user asks that program", true, false},
		{"server busy", apierrors.NewTooManyRequests("busy", 1), "busy", false, true},
		{"anything else", errors.New("a\nb\x1b[0m"), `a b\x1b[0m`, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := explain(c.err, place{"https://x", "c"})
			if !strings.Contains(p.Error(), c.want) || strings.Contains(p.Error(), "\n") {
				t.Errorf("got %s", p)
			}
			if p.fatal != c.fatal || p.waits != c.waits {
				t.Errorf("fatal %v, waits %v", p.fatal, p.waits)
			}
			if !errors.Is(p, c.err) {
				t.Error("the cause is lost")
			}
		})
	}
}

// Ensures that numbers, sizes and times are written as a person reads them.
func TestUnits(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{count(0, "pod", "pods"), "0 pods"},
		{count(1, "pod", "pods"), "1 pod"},
		{count(1234567, "pod", "pods"), "1,234,567 pods"},
		{count(999, "pod", "pods"), "999 pods"},
		{size(12), "12 B"},
		{size(1536), "1.5 kB"},
		{size(14 << 20), "14.0 MB"},
		{span(1234 * time.Millisecond), "1.2s"},
		{span(12400 * time.Millisecond), "12s"},
		{span(192 * time.Second), "3m12s"},
		{list(nil), ""},
		{list([]string{"a"}), "a"},
		{list([]string{"a", "b", "c"}), "a, b and c"},
		{retry(time.Time{}, time.Now()), "trying again now"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
