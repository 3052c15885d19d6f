package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/printer"
	"github.com/tarn-dev/tarn/source/kube"
)

// place is what the user is talking to.
type place struct{ server, context string }

func (p place) String() string {
	if p.context == "" {
		return p.server
	}
	return fmt.Sprintf("%s (context %q)", p.server, p.context)
}

// problem is an error in the user's words.
type problem struct {
	// text is what is wrong, hint what to do about it.
	text, hint string
	// fatal says that at the start it is better to end than to try again, waits that with --wait it may pass.
	fatal, waits bool
	err          error
}

// Error returns one line.
func (p *problem) Error() string {
	s := p.text
	if p.hint != "" {
		s += "; " + p.hint
	}
	if p.waits {
		s += ", or wait for it with --wait"
	}
	return s
}

// Unwrap returns the error that was explained.
func (p *problem) Unwrap() error { return p.err }

// explain returns what an error of the server, or on the way to it, means.
func explain(err error, at place) *problem {
	p := &problem{err: err, fatal: true, waits: true}
	var missing *kube.NoMatchError
	var status apierrors.APIStatus
	var network net.Error
	switch {
	case errors.As(err, &missing):
		if p.text = missing.Error(); len(missing.Suggestions) == 0 {
			p.hint = `"kubectl api-resources" lists what there is`
		}
	case errors.Is(err, kube.ErrNotListable):
		p.text, p.waits = err.Error()+" and so not be watched", false
	case apierrors.IsUnauthorized(err):
		p.text = "the server does not accept your credentials: " + at.String()
		p.hint = "log in again, choose another --context or give a --token"
		p.waits = false
	case apierrors.IsForbidden(err):
		p.text = message(err)
		p.hint = `ask for a role with the verbs list and watch ("kubectl auth can-i --list" shows what you may do), choose another -n or --context`
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		p.text, p.hint, p.waits = "the server refuses the request: "+message(err), "check --selector and --field-selector", false
	case strings.Contains(err.Error(), "getting credentials"):
		p.text, p.hint, p.waits = oneLine(inner(err).Error()), "the kubeconfig's user asks that program for them: does it run?", false
	case isCertificate(err):
		p.text = fmt.Sprintf("the certificate of %s is not trusted: %s", at, oneLine(inner(err).Error()))
		p.hint, p.waits = "check the kubeconfig's certificate-authority or give --certificate-authority", false
	case errors.As(err, &status):
		p.text, p.fatal = message(err), false
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		p.text = fmt.Sprintf("no answer from %s: %s", at, reason(err))
		p.hint = "check that it runs and that this is the right one (--context, --server)"
	default:
		p.text, p.fatal = oneLine(err.Error()), false
	}
	return p
}

// oneObject returns the problem with what to do where name is probably that of an object, not a resource: kubectl takes
// one after the resource.
func (o *watchOptions) oneObject(p *problem, name string) *problem {
	var missing *kube.NoMatchError
	if name == o.names[0] || strings.Contains(name, ".") || !errors.As(p.err, &missing) || len(missing.Suggestions) > 0 {
		return p
	}
	p.hint, p.waits = "to watch one object: "+o.watchOne(o.names[0], name), false
	return p
}

// watchOne returns the command that watches one object, in the namespace that was given.
func (o *watchOptions) watchOne(resource, object string) string {
	s := "tarn watch " + resource + " --field-selector metadata.name=" + object
	switch {
	case o.allNamespaces:
		s += " -A"
	case *o.flags.Namespace != "":
		s += " -n " + *o.flags.Namespace
	}
	return s
}

// message returns what the server said.
func message(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return oneLine(status.Status().Message)
	}
	return oneLine(err.Error())
}

// inner returns the error below the request that failed.
func inner(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// reason returns why there is no connection, without addresses that were said already.
func reason(err error) string {
	var number syscall.Errno
	var network net.Error
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "there is no host " + dns.Name
	case errors.As(err, &number):
		return number.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timed out"
	}
	return oneLine(inner(err).Error())
}

func isCertificate(err error) bool {
	var c *tls.CertificateVerificationError
	return errors.As(err, &c)
}

// oneLine returns s on one line, with nothing in it that could disturb a terminal.
func oneLine(s string) string { return printer.Printable(strings.Join(strings.Fields(s), " ")) }
