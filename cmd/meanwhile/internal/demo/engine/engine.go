// Package engine is a small search engine over HTTP, so that the demo has something to wait for. Documents are JSON objects; they
// are stored in SQLite files with a full-text index. Requests and responses have the format of OpenSearch's document API:
//
//	PUT    /{index}             create an index; the text fields of its mappings, at most 8, are searched
//	DELETE /{index}             remove it
//	GET    /{index}/_count      return the number of documents
//	PUT    /{index}/_doc/{id}   index a document; POST without an ID generates one
//	GET    /{index}/_doc/{id}   return a document
//	DELETE /{index}/_doc/{id}   remove it
//	POST   /{index}/_bulk       index, create and delete many; also POST /_bulk
//	POST   /{index}/_search     match_all, match, multi_match, simple_query_string; from, size, highlight
//
// It has no replication, no clusters and no users: everybody who can reach it may do everything.
package engine

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// Limits of a request.
const (
	MaxBody = 8 << 20 // bytes of a _bulk
	MaxOne  = 1 << 20 // bytes of any other request

	mostIndexes = 16
	bodyTime    = 30 * time.Second
)

// A Config configures an engine.
type Config struct {
	Folder  string        // folder of its files; it must exist
	Latency time.Duration // time that is added to each request
}

// An Engine answers requests. It may be used concurrently.
type Engine struct {
	config Config
	mux    *http.ServeMux

	mu      sync.RWMutex
	indexes map[string]*index
	made    int // number of indexes created so far
}

// New returns an engine without an index. Call Close after use.
func New(config Config) *Engine {
	e := &Engine{config: config, mux: http.NewServeMux(), indexes: map[string]*index{}}
	for pattern, answer := range map[string]func(*http.Request) (answer, error){
		"PUT /{index}":              e.createIndex,
		"DELETE /{index}":           e.deleteIndex,
		"GET /{index}/_count":       e.count,
		"POST /{index}/_doc":        e.putDocument,
		"PUT /{index}/_doc/{id}":    e.putDocument,
		"POST /{index}/_doc/{id}":   e.putDocument,
		"GET /{index}/_doc/{id}":    e.document,
		"DELETE /{index}/_doc/{id}": e.deleteDocument,
		"POST /_bulk":               e.bulk,
		"POST /{index}/_bulk":       e.bulk,
		"GET /{index}/_search":      e.search,
		"POST /{index}/_search":     e.search,
		"GET /{$}":                  e.name,
		"/":                         noHandler,
	} {
		e.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { reply(w, r, answer) })
	}
	return e
}

// ServeHTTP answers a request after the configured latency.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if meanwhile.Sleep(r.Context(), e.config.Latency) != nil {
		return // the client has disconnected
	}
	most := int64(MaxOne)
	if isBulk(r) {
		most = MaxBody
	}
	// Some writers do not support deadlines, for example those of tests.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	r.Body = http.MaxBytesReader(w, r.Body, most)
	e.mux.ServeHTTP(w, r)
}

// Close closes the files. No request may be in progress.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var errs []error
	for name, x := range e.indexes {
		errs = append(errs, x.close())
		delete(e.indexes, name)
	}
	return errors.Join(errs...)
}

// index returns the index that a request names.
func (e *Engine) index(name string) (*index, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if x, ok := e.indexes[name]; ok {
		return x, nil
	}
	return nil, refuse(http.StatusNotFound, "index_not_found_exception", "no such index [%.100s]", name)
}

// add creates an index with these fields.
func (e *Engine) add(name string, fields []string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch _, ok := e.indexes[name]; {
	case ok:
		return refuse(http.StatusBadRequest, "resource_already_exists_exception", "index [%s] already exists", name)
	case len(e.indexes) >= mostIndexes:
		return refuse(http.StatusBadRequest, "validation_exception", "this engine has [%d] indexes already, the most there may be", mostIndexes)
	}
	e.made++
	x, err := openIndex(filepath.Join(e.config.Folder, "index-"+strconv.Itoa(e.made)+".db"), name, fields)
	if err != nil {
		return err
	}
	e.indexes[name] = x
	return nil
}

// remove removes an index with its files. Its requests in progress fail.
func (e *Engine) remove(name string) error {
	x, err := e.index(name)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.indexes[name] != x {
		return nil // it was removed by another request
	}
	delete(e.indexes, name)
	errs := []error{x.close()}
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(x.path + end); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
