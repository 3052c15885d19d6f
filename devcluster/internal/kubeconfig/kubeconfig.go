// Package kubeconfig writes a kubeconfig file for one server and one token.
package kubeconfig

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
)

// Write writes the kubeconfig file at path: mode 0600, and whole or not at all, so that whoever sees it can use it. A
// file that is there already is replaced.
func Write(path, server string, ca []byte, token string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = fmt.Fprintf(tmp, `apiVersion: v1
kind: Config
current-context: devcluster
clusters:
- name: devcluster
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: admin
  user:
    token: %s
contexts:
- name: devcluster
  context:
    cluster: devcluster
    user: admin
`, server, base64.StdEncoding.EncodeToString(ca), token)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}
