package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// The limits of the API.
const (
	latency   = 150 * time.Millisecond
	perSecond = 25
	maxWords  = 10_000
	overload  = 9 // each ninth request meets an overload
)

// A model is an API that rejects requests above its limits.
type model struct {
	url string

	mu       sync.Mutex
	requests int
	second   int64       // the current second
	used     int         // requests accepted in this second
	answers  map[int]int // number of responses by status
}

// serve serves until ctx's scope ends.
func serve(ctx context.Context) (*model, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &model{url: "http://" + listener.Addr().String(), answers: map[int]int{}}
	server := &http.Server{Handler: m}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { server.Close() })
		if err := server.Serve(listener); err != http.ErrServerClosed {
			return err
		}
		return nil
	}, meanwhile.InBackground(), meanwhile.Name("model"))
	return m, nil
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var a Article
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if status := m.admit(a); status != http.StatusOK {
		w.Header().Set("Retry-After", "1")
		http.Error(w, http.StatusText(status), status)
		return
	}
	if meanwhile.Sleep(r.Context(), latency) != nil {
		return // the client has disconnected
	}
	fmt.Fprintf(w, `{"text": "article %d in four words", "tokens": %d}`, a.Number, a.Words*4/3)
}

// admit returns the status with which a request is accepted or rejected.
func (m *model) admit(a Article) (status int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() { m.answers[status]++ }()
	if second := time.Now().Unix(); second != m.second {
		m.second, m.used = second, 0
	}
	m.requests++
	switch {
	case a.Words > maxWords:
		return http.StatusRequestEntityTooLarge
	case m.used >= perSecond:
		return http.StatusTooManyRequests
	case m.requests%overload == 0:
		return http.StatusServiceUnavailable
	}
	m.used++
	return http.StatusOK
}

// answered lists the responses by their status.
func (m *model) answered() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(m.answers)) {
		parts = append(parts, fmt.Sprintf("%d × %d", m.answers[status], status))
	}
	return strings.Join(parts, ", ")
}
