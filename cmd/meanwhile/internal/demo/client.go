package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
)

const (
	requestTime   = 30 * time.Second // in addition to the latency
	longestAnswer = 1 << 20
)

// A client sends requests to the search engine, over HTTP as for any other search engine.
type client struct {
	address string
	base    string
	http    *http.Client
}

// newClient returns a client that keeps a connection for each of a thousand concurrent requests. With the default, all but two
// would be opened again for each request.
func newClient(address string, latency time.Duration) *client {
	transport := &http.Transport{MaxIdleConns: mostTasks, MaxIdleConnsPerHost: mostTasks}
	return &client{address, "http://" + address + enginePath, &http.Client{Transport: transport, Timeout: latency + requestTime}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// create creates an index, replacing an existing one.
func (c *client) create(ctx context.Context, index string) error {
	_ = c.do(ctx, http.MethodDelete, index, nil, nil) // there may be no such index
	text := map[string]string{"type": "text"}
	mappings := map[string]any{"mappings": map[string]any{"properties": map[string]any{"package": text, "symbol": text, "text": text}}}
	return c.do(ctx, http.MethodPut, index, mappings, nil)
}

// put indexes a document.
func (c *client) put(ctx context.Context, index string, d corpus.Document) error {
	return c.do(ctx, http.MethodPut, index+"/_doc/"+url.PathEscape(d.ID()), d, nil)
}

func (c *client) count(ctx context.Context, index string) (int, error) {
	var answer struct{ Count int }
	err := c.do(ctx, http.MethodGet, index+"/_count", nil, &answer)
	return answer.Count, err
}

// found is the response to a search.
type found struct {
	Hits struct {
		Total struct{ Value int }
		Hits  []struct {
			ID        string              `json:"_id"`
			Highlight map[string][]string `json:"highlight"`
		}
	}
}

func (c *client) search(ctx context.Context, index, words string, size int) (found, error) {
	var answer found
	err := c.do(ctx, http.MethodPost, index+"/_search", map[string]any{
		"query":     map[string]any{"multi_match": map[string]any{"query": words, "fields": []string{"symbol^3", "text"}}},
		"size":      size,
		"highlight": map[string]any{"fields": map[string]any{"text": struct{}{}}},
	}, &answer)
	return answer, err
}

// do sends a request and reads the response.
func (c *client) do(ctx context.Context, method, path string, body, answer any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, bytes.TrimSpace(said))
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(said, answer); err != nil {
		return fmt.Errorf("%s %s: the answer: %w", method, path, err)
	}
	return nil
}
