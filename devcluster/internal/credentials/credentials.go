// Package credentials makes what a control plane on loopback needs to be trusted: a certificate authority, a serving
// certificate, an administrator's token and a key that signs service account tokens.
package credentials

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The files in a credentials directory. All have mode 0600, the directory 0700.
const (
	caFile     = "ca.crt"
	certFile   = "server.crt"
	keyFile    = "server.key"
	saKeyFile  = "service-account.key"
	tokensFile = "tokens.csv"
)

// Set is one set of credentials, in the files of a directory.
type Set struct {
	dir string
	// CA is the certificate of the authority, PEM encoded. Its key is forgotten once it has signed.
	CA []byte
	// Token is the bearer token of a member of system:masters.
	Token string
}

// Cert is the file that holds the serving certificate.
func (s *Set) Cert() string { return filepath.Join(s.dir, certFile) }

// Key is the file that holds the key of the serving certificate.
func (s *Set) Key() string { return filepath.Join(s.dir, keyFile) }

// ServiceAccountKey is the file that holds the key that signs service account tokens.
func (s *Set) ServiceAccountKey() string { return filepath.Join(s.dir, saKeyFile) }

// Tokens is the file that tells kube-apiserver whose the token is.
func (s *Set) Tokens() string { return filepath.Join(s.dir, tokensFile) }

// Make makes a new set in dir. Whatever dir held before is removed.
func Make(dir string) (*Set, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("make credentials: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make credentials: %w", err)
	}
	files, err := generate()
	if err != nil {
		return nil, fmt.Errorf("make credentials: %w", err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("make credentials: %w", err)
		}
	}
	return Load(dir)
}

// Load returns the set that an earlier Make left in dir. The error wraps [os.ErrNotExist] where it is not all there.
func Load(dir string) (*Set, error) {
	s := &Set{dir: dir}
	for _, file := range []string{s.Cert(), s.Key(), s.ServiceAccountKey()} {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("load credentials: %w", err)
		}
	}
	ca, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil {
		return nil, fmt.Errorf("load credentials: %w", err)
	}
	tokens, err := os.ReadFile(s.Tokens())
	if err != nil {
		return nil, fmt.Errorf("load credentials: %w", err)
	}
	s.CA = ca
	s.Token, _, _ = strings.Cut(string(tokens), ",")
	return s, nil
}

// generate returns the content of each file.
func generate() (map[string][]byte, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	saKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	// A clock that differs a little (a container, a virtual machine that slept) must not make the certificate invalid.
	from, until := time.Now().Add(-time.Hour), time.Now().AddDate(10, 0, 0)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "devcluster"}, NotBefore: from, NotAfter: until,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, err
	}
	server := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "kube-apiserver"}, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
	}
	der, err := x509.CreateCertificate(rand.Reader, server, ca, key.Public(), caKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	saKeyDER, err := x509.MarshalECPrivateKey(saKey)
	if err != nil {
		return nil, err
	}
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return map[string][]byte{
		caFile:     encode("CERTIFICATE", caDER),
		certFile:   encode("CERTIFICATE", der),
		keyFile:    encode("EC PRIVATE KEY", keyDER),
		saKeyFile:  encode("EC PRIVATE KEY", saKeyDER),
		tokensFile: []byte(rand.Text() + ",admin,admin,\"system:masters\"\n"),
	}, nil
}
