package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const latency = 50 * time.Millisecond

// An index is a search server that takes 50 ms to write a document, regardless of how many it writes concurrently.
type index struct {
	url string

	mu        sync.Mutex
	documents map[string]string // by path
	now, most int               // concurrent requests
}

// serve serves until ctx's scope ends.
func serve(ctx context.Context) (*index, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	x := &index{url: "http://" + listener.Addr().String(), documents: map[string]string{}}
	server := &http.Server{Handler: x}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { server.Close() })
		if err := server.Serve(listener); err != http.ErrServerClosed {
			return err
		}
		return nil
	}, meanwhile.InBackground(), meanwhile.Name("index"))
	return x, nil
}

func (x *index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	x.now++
	x.most = max(x.most, x.now)
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.now--
	}()
	text, err := io.ReadAll(r.Body)
	if err != nil || meanwhile.Sleep(r.Context(), latency) != nil {
		return // the client has disconnected
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.documents[r.URL.Path] = string(text)
}

// clear empties the index and returns how many documents were in it, and the highest number of concurrent requests.
func (x *index) clear() (documents, most int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	documents, most = len(x.documents), x.most
	clear(x.documents)
	x.most = 0
	return documents, most
}
