package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Control is what a benchmark does to a server: to this one, or to a real one behind the same requests.
type Control interface {
	// Reset makes the collection what it was at first.
	Reset(ctx context.Context) error
	// Relist modifies one object in a hundred and makes every client list again to see it. It returns how many.
	Relist(ctx context.Context) (changed int, err error)
	// Burst modifies objects n times, as fast as clients read, each of the first set objects in turn (0: all), and then
	// adds an object, whose key it returns.
	Burst(ctx context.Context, n, set int) (sentinel string, err error)
}

// done is the answer to all of them.
type done struct {
	Changed  int    `json:"changed,omitempty"`
	Sentinel string `json:"sentinel,omitempty"`
}

func (s *Server) control() { Handle(&s.ServeMux, control{s.s}) }

type control struct{ s *state }

func (c control) Reset(context.Context) error         { c.s.reset(); return nil }
func (c control) Relist(context.Context) (int, error) { return c.s.relist(), nil }
func (c control) Burst(_ context.Context, n, set int) (string, error) {
	return c.s.burst(n, set)
}

// Handle makes mux answer the requests of a [Client].
func Handle(mux *http.ServeMux, c Control) {
	mux.HandleFunc("POST /bench/reset", func(w http.ResponseWriter, r *http.Request) {
		answer(w, done{}, c.Reset(r.Context()))
	})
	mux.HandleFunc("POST /bench/relist", func(w http.ResponseWriter, r *http.Request) {
		n, err := c.Relist(r.Context())
		answer(w, done{Changed: n}, err)
	})
	mux.HandleFunc("POST /bench/burst", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("n"))
		set, _ := strconv.Atoi(r.URL.Query().Get("set"))
		if err != nil || n < 0 {
			http.Error(w, "n is how many modifications", http.StatusBadRequest)
			return
		}
		key, err := c.Burst(r.Context(), n, set)
		answer(w, done{Sentinel: key}, err)
	})
}

// Client is a [Control] over HTTP.
type Client struct {
	// URL is where the server is, without /bench/.
	URL string
}

var _ Control = Client{}

// Reset implements [Control].
func (c Client) Reset(ctx context.Context) error {
	_, err := c.post(ctx, "reset")
	return err
}

// Relist implements [Control].
func (c Client) Relist(ctx context.Context) (int, error) {
	d, err := c.post(ctx, "relist")
	return d.Changed, err
}

// Burst implements [Control].
func (c Client) Burst(ctx context.Context, n, set int) (string, error) {
	d, err := c.post(ctx, fmt.Sprintf("burst?n=%d&set=%d", n, set))
	return d.Sentinel, err
}

func (c Client) post(ctx context.Context, what string) (d done, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/bench/"+what, nil)
	if err != nil {
		return d, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return d, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return d, err
	}
	if resp.StatusCode != http.StatusOK {
		return d, fmt.Errorf("%s: %s: %s", what, resp.Status, strings.TrimSpace(string(body)))
	}
	return d, json.Unmarshal(body, &d)
}
