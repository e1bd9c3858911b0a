package dash

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/detach"
	"github.com/meanwhile-go/meanwhile/internal/shutdown"
)

// Limits of live pages.
const (
	period      = time.Second      // time between two renderings of a page
	mostReaders = 5000             // concurrent streams, further ones are refused; with TLS or HTTP/2 these need 200 MB
	mostPages   = 1000             // different pages with streams, each of which is kept as it was rendered
	mostDraws   = 32               // pages that are rendered concurrently
	mostLive    = 10 * time.Minute // then the browser reconnects, and its access is checked again
	mostWrite   = 10 * time.Second // that a browser may take to receive an update
	beat        = 15 * time.Second // maximum time between two events, so that a dead connection is noticed
)

// A hub keeps live pages up to date while browsers show them. All readers of the same page share its state.
//
// A page is rendered by its timer, and has no goroutine between two renderings. A slow reader delays nobody, and is sent the newest state when it is
// ready: nothing is queued for it.
type hub struct {
	draw  func(context.Context, *view) (map[string]string, error)
	draws chan struct{} // holds a value for each page that is being rendered

	servers shutdown.Servers

	mu      sync.Mutex
	pages   map[string]*pageState
	readers int
}

func newHub(draw func(context.Context, *view) (map[string]string, error)) *hub {
	return &hub{draw: draw, draws: make(chan struct{}, mostDraws), pages: map[string]*pageState{}}
}

// enter returns the state of a page for one more reader, or nil if there are too many.
func (h *hub) enter(key string, v *view) *pageState {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pages[key]
	if h.readers >= mostReaders || p == nil && len(h.pages) >= mostPages {
		return nil
	}
	if p == nil {
		p = newPageState(h, v)
		h.pages[key] = p
	}
	h.readers++
	p.readers++
	return p
}

func (h *hub) leave(key string, p *pageState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers--
	if p.readers--; p.readers == 0 {
		delete(h.pages, key)
		p.end()
	}
}

// serve sends a reader the parts of a page as they change, until it disconnects or the server shuts down. A HEAD request gets only the header.
func (h *hub) serve(w http.ResponseWriter, r *http.Request, v *view) {
	if r.Method == http.MethodHead {
		newStream(w, r)
		return
	}
	key := v.Here()
	if v.ReadOnly {
		key = "read-only " + key
	}
	p := h.enter(key, v)
	if p == nil {
		w.Header().Set("Retry-After", "30")
		w.Header().Set("Connection", "close") // an idle connection would cost as much as a stream
		http.Error(w, "too many live pages are open", http.StatusServiceUnavailable)
		return
	}
	out := newStream(w, r)
	detached := detach.Take(w, r, func(ctx context.Context, conn *detach.Conn) {
		defer h.leave(key, p)
		out.to = conn
		p.follow(ctx, out, conn)
	})
	if detached {
		return
	}
	defer h.leave(key, p)
	ctx, cancel := h.servers.Context(r)
	defer cancel()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a server's limit for requests would end the stream, too
	out.to = response{w, control}
	p.follow(ctx, out, make(waiter, 1))
}

// A waiter is the follower for a request that was not detached: it waits in the goroutine of the request.
type waiter chan struct{}

func (w waiter) Wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

func (w waiter) Wait(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-w:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
