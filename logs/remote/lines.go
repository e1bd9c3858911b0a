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
	searchPatience = 10 * time.Minute // for a reader that takes nothing, such as a pager
	followPatience = time.Minute      // who follows goes on later where it was
	flushEach      = 100 * time.Millisecond
	aliveEach      = 10 * time.Second // a line, so that the other side knows
	fullBuffer     = 32 << 10
)

// lines are the answer of a stream. A record is sent at once when none was for a while, so that one by one they come at
// once and many of them in few parts.
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

// serveLines answers with what fn writes, and with how it ended.
func serveLines(w http.ResponseWriter, r *http.Request, patience time.Duration, fn func(ctx context.Context, l *lines) error) {
	header := w.Header()
	header.Set("Content-Type", "application/x-ndjson")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // proxies hand each line on
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	l := &lines{w: w, patience: patience, stop: cancel}
	l.mu.Lock()
	_ = l.flush() // the header; a failure is known by what comes next
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
	_ = l.flush() // the client knows by what is missing
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

// tick sends what waits, or a sign of life.
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
	if errors.Is(err, http.ErrNotSupported) { // such as that of a test
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
