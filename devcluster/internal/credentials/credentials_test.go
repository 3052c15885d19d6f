package credentials_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tarn-dev/tarn/devcluster/internal/credentials"
)

// Ensure that the serving certificate is one that a client who knows the authority trusts on loopback, and nowhere else.
func TestMake_Trusted(t *testing.T) {
	set, err := credentials.Make(filepath.Join(t.TempDir(), "c"))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(set.Cert(), set.Key())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(set.CA) {
		t.Fatal("no certificate in CA")
	}
	for host, want := range map[string]bool{"127.0.0.1": true, "::1": true, "localhost": true, "10.1.2.3": false, "example.com": false} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		if (err == nil) != want {
			t.Errorf("%s: trusted %v, want %v (%v)", host, err == nil, want, err)
		}
	}
}

// Ensure that nobody else can read the files, also where a readable one was there before.
func TestMake_Modes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.key"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := credentials.Make(dir); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: mode %v, %v", info.Mode(), err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

// Ensure that every Make gives new credentials, that Load gives the same ones again, and that half a set is no set.
func TestLoad(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	if _, err := credentials.Load(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("before Make: got %v", err)
	}
	first, err := credentials.Make(dir)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := credentials.Load(dir)
	if err != nil || loaded.Token != first.Token || !bytes.Equal(loaded.CA, first.CA) {
		t.Errorf("loaded a different set, %v", err)
	}
	if len(first.Token) < 20 || strings.ContainsAny(first.Token, ", \n") {
		t.Errorf("token %q", first.Token)
	}
	second, err := credentials.Make(dir)
	if err != nil || second.Token == first.Token || bytes.Equal(second.CA, first.CA) {
		t.Errorf("Make gave the same set again, %v", err)
	}
	if err := os.Remove(second.ServiceAccountKey()); err != nil {
		t.Fatal(err)
	}
	if _, err := credentials.Load(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a set: got %v", err)
	}
}
