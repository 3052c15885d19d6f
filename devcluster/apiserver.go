package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tarn-dev/tarn/devcluster/internal/apiargs"
	"github.com/tarn-dev/tarn/devcluster/internal/credentials"
)

// apiserverArgs returns the arguments for kube-apiserver.
func apiserverArgs(port int, etcdURL string, creds *credentials.Set, certDir string, extra []string) ([]string, error) {
	return apiargs.Merge([]string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=" + loopback,
		"--secure-port=" + strconv.Itoa(port),
		// Without these two, the server looks for an address of the host to announce: there may be none, and nothing may
		// reach it.
		"--advertise-address=" + loopback,
		"--endpoint-reconciler-type=none",
		"--cert-dir=" + certDir,
		"--tls-cert-file=" + creds.Cert(),
		"--tls-private-key-file=" + creds.Key(),
		"--token-auth-file=" + creds.Tokens(),
		"--service-account-key-file=" + creds.ServiceAccountKey(),
		"--service-account-signing-key-file=" + creds.ServiceAccountKey(),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=10.0.0.0/16",
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		// Nobody creates the service accounts that it waits for.
		"--disable-admission-plugins=ServiceAccount",
		// Open watches end with the server; without this they would hold it until the grace is over.
		"--shutdown-watch-termination-grace-period=1s",
	}, extra)
}

// probe asks the server whether it is ready.
type probe struct {
	url   string
	token string
	http  *http.Client
}

func newProbe(port int, creds *credentials.Set) *probe {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(creds.CA)
	return &probe{
		url:   "https://" + address(port),
		token: creds.Token,
		http: &http.Client{
			Timeout:   2 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true},
		},
	}
}

// ready returns nil once the server is ready and the default namespace exists, which the server creates for itself and
// everybody expects; else what is missing.
func (p *probe) ready(ctx context.Context) error {
	if err := p.get(ctx, "/readyz?verbose"); err != nil {
		return err
	}
	return p.get(ctx, "/api/v1/namespaces/default")
}

func (p *probe) get(ctx context.Context, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := p.http.Do(req)
	if err != nil {
		return errors.New("not listening yet")
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	var failing []string
	for line := range strings.Lines(string(body)) {
		// [-]poststarthook/rbac/bootstrap-roles failed: reason withheld
		if check, ok := strings.CutPrefix(line, "[-]"); ok {
			check, _, _ = strings.Cut(check, " ")
			failing = append(failing, check[strings.LastIndexByte(check, '/')+1:])
		}
	}
	if len(failing) > 0 {
		return fmt.Errorf("waiting for %s", strings.Join(failing, ", "))
	}
	return fmt.Errorf("%s: %s", path, resp.Status)
}
