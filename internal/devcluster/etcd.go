package devcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Compact makes etcd forget everything before its newest revision, which it returns: the same number space as the
// resourceVersions of objects. The server's watch cache still knows what was forgotten; for a watch to get 410, restart it
// afterwards, or start the cluster [WithoutWatchCache].
func (c *Cluster) Compact(ctx context.Context) (revision int64, err error) {
	var answer struct {
		Header struct {
			Revision int64 `json:"revision,string"`
		} `json:"header"`
	}
	// Reading any one key tells the revision. Keys are base64.
	if err := c.etcd(ctx, "/v3/kv/range", map[string]any{"key": "AA==", "limit": 1}, &answer); err != nil {
		return 0, err
	}
	revision = answer.Header.Revision
	// Physical: it has happened when the answer comes.
	request := map[string]any{"revision": revision, "physical": true}
	return revision, c.etcd(ctx, "/v3/kv/compaction", request, &struct{}{})
}

// etcd makes one call through etcd's JSON gateway.
func (c *Cluster) etcd(ctx context.Context, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.EtcdURL()+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Close = true // leaves no connection behind
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("etcd: %s: %w", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("etcd: %s: %s: %s", path, resp.Status, bytes.TrimSpace(content))
	}
	return json.Unmarshal(content, answer)
}
