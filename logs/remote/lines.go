package remote

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
)

const (
	searchPatience = 10 * time.Minute // for a client that reads nothing, such as a pager
	followPatience = time.Minute      // the same for a follow, which the client resumes later
	flushEach      = 100 * time.Millisecond
	aliveEach      = 10 * time.Second // the time between heartbeats
	fullBuffer     = 32 << 10         // bytes from which on the buffer is flushed
)

// lines writes a response that is a stream. A record is sent immediately if nothing was sent for a while; otherwise several are sent together.
// So single records arrive without delay, and many records need few writes.
type lines struct {
	w        http.ResponseWriter
	patience time.Duration
	stop     context.CancelCauseFunc

	mu      sync.Mutex
	buffer  []byte
	flushed time.Time
	records int64
	err     error
}

// serveLines responds with the lines that fn writes, and with a last line that has the end or the error.
func serveLines(w http.ResponseWriter, r *http.Request, patience time.Duration, fn func(ctx context.Context, l *lines) error) {
	header := w.Header()
	header.Set("Content-Type", "application/x-ndjson")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // so that proxies do not buffer lines
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	l := &lines{w: w, patience: patience, stop: cancel}
	l.mu.Lock()
	_ = l.flush() // the header; after an error, the next write fails as well
	l.mu.Unlock()
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Every(ctx, flushEach, l.tick, meanwhile.Name("flush"))
		return fn(ctx, l)
	}, meanwhile.Name("records"))
	last := control{End: &end{Records: l.records}}
	if err != nil {
		last = control{Error: said(err)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffer = append(append(l.buffer, last.line()...), '\n')
	_ = l.flush() // after an error the client notices that the last line is missing
}

func (l *lines) record(r *logs.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records++
	l.buffer = append(r.AppendJSON(l.buffer), '\n')
	return l.written()
}

func (l *lines) control(c *control) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buffer = append(append(l.buffer, c.line()...), '\n')
	return l.written()
}

func (l *lines) written() error {
	if len(l.buffer) >= fullBuffer || time.Since(l.flushed) >= flushEach {
		return l.flush()
	}
	return l.err
}

// tick sends the buffered lines, or a heartbeat.
func (l *lines) tick(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.buffer) == 0 {
		if time.Since(l.flushed) < aliveEach {
			return nil
		}
		l.buffer = append(l.buffer, '\n')
	}
	return l.flush()
}

func (l *lines) flush() error {
	if l.err != nil {
		return l.err
	}
	control := http.NewResponseController(l.w)
	err := control.SetWriteDeadline(time.Now().Add(l.patience))
	if errors.Is(err, http.ErrNotSupported) { // such as a recorder of a test
		err = nil
	}
	if err == nil {
		_, err = l.w.Write(l.buffer)
	}
	if err == nil {
		err = control.Flush()
	}
	l.buffer, l.flushed = l.buffer[:0], time.Now()
	if err != nil {
		l.err = err
		l.stop(err)
	}
	return err
}
