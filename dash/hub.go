package dash

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Bounds of live pages.
const (
	period      = time.Second      // between two looks at a page
	mostReaders = 1000             // streams at once; further ones are refused
	mostLive    = 10 * time.Minute // then the browser asks again, and who asks is checked again
	mostWrite   = 10 * time.Second // that a browser may take to receive an update
	beat        = 15 * time.Second // something is sent at least so often, so that a dead connection is noticed
)

// A hub keeps pages up to date while somebody looks at them. Those who look at the same page share its scene.
//
// It has no goroutines: once a second, one of the requests that show a page reads it, and the others wait for that. A reader
// that is slow to receive holds up nobody, and is sent what is newest when it is ready: nothing is queued for it.
type hub struct {
	draw func(context.Context, *view) (map[string]string, error)

	mu         sync.Mutex
	pageStates map[string]*pageState
	readers    int
}

// A pageState is a page that somebody looks at.
type pageState struct {
	readers int           // guarded by the hub's mu
	turn    chan struct{} // holds one value: the right to use what follows

	last *update
	err  error     // of the last look
	next time.Time // when to look again
}

// An update is what a page was from a look on at which it had changed. It is never changed itself, but for first.
type update struct {
	n     int // of the updates before it
	parts map[string]string
	news  *event // the parts that have changed since the update before
	first *event // all parts, for those who come now; made when somebody does
}

func newHub(draw func(context.Context, *view) (map[string]string, error)) *hub {
	return &hub{draw: draw, pageStates: map[string]*pageState{}}
}

// enter returns the scene of a page for one more reader, or nil when there are too many.
func (h *hub) enter(key string) *pageState {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.readers >= mostReaders {
		return nil
	}
	h.readers++
	s := h.pageStates[key]
	if s == nil {
		s = &pageState{turn: make(chan struct{}, 1)}
		s.turn <- struct{}{}
		h.pageStates[key] = s
	}
	s.readers++
	return s
}

func (h *hub) leave(key string, s *pageState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readers--
	if s.readers--; s.readers == 0 {
		delete(h.pageStates, key)
	}
}

// serve sends a reader the parts of a page as they change, until it goes away.
func (h *hub) serve(w http.ResponseWriter, r *http.Request, v *view) {
	key := v.Here()
	if v.ReadOnly {
		key = "read-only " + key
	}
	s := h.enter(key)
	if s == nil {
		w.Header().Set("Retry-After", "30")
		w.Header().Set("Connection", "close") // one that is idle would cost as much as a stream
		http.Error(w, "too many live pages are open", http.StatusServiceUnavailable)
		return
	}
	defer h.leave(key, s)
	ctx, cancel := context.WithTimeout(r.Context(), mostLive)
	defer cancel()
	out := newStream(w, r)
	defer out.end()
	for sent := (*update)(nil); ; {
		now, news, next, err := s.refresh(ctx, sent, func() (map[string]string, error) { return h.draw(ctx, v) })
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if out.trouble(v.trouble(err)) != nil {
				return
			}
		default:
			if out.parts(news) != nil {
				return
			}
			sent = now
		}
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
			return
		}
	}
}

// refresh returns the page as it was at most a period ago, what is new in it for somebody to whom sent was sent, and when to ask again. News of
// nil are none.
func (s *pageState) refresh(ctx context.Context, sent *update, draw func() (map[string]string, error)) (now *update, news *event, next time.Time, err error) {
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, nil, time.Time{}, context.Cause(ctx)
	}
	if !time.Now().Before(s.next) {
		parts, err := draw()
		if ctx.Err() != nil { // whoever is next looks for itself
			return nil, nil, time.Time{}, context.Cause(ctx)
		}
		if err == nil {
			err = s.note(parts)
		}
		s.err, s.next = err, time.Now().Add(period)
	}
	if s.err != nil {
		return nil, nil, s.next, s.err
	}
	news, err = s.last.since(sent)
	return s.last, news, s.next, err
}

// note makes an update of what was drawn, if that has changed.
func (s *pageState) note(parts map[string]string) (err error) {
	if s.last == nil {
		s.last = &update{parts: parts}
		return nil
	}
	found := changed(s.last.parts, parts)
	if len(found) == 0 {
		return nil
	}
	u := &update{n: s.last.n + 1, parts: parts}
	u.news, err = dataEvent("parts", found)
	s.last = u
	return err
}

// since returns what has changed since an update, nil is none. Whoever has the one before is sent what others are.
func (u *update) since(sent *update) (news *event, err error) {
	switch {
	case sent == u:
		return nil, nil
	case sent == nil:
		if u.first == nil {
			u.first, err = dataEvent("parts", u.parts)
		}
		return u.first, err
	case sent.n+1 == u.n:
		return u.news, nil
	}
	found := changed(sent.parts, u.parts)
	if len(found) == 0 {
		return nil, nil
	}
	return dataEvent("parts", found)
}

// changed returns the parts that differ from those that were sent. Of a list to whose beginning rows were added, it returns
// these alone, as a part with "+" behind its ID.
func changed(sent, parts map[string]string) map[string]string {
	news := map[string]string{}
	for id, html := range parts {
		old, ok := sent[id]
		if rows, isLonger := addedRows(old, html); isLonger {
			news[id+"+"] = rows
		} else if !ok || old != html {
			news[id] = html
		}
	}
	return news
}

// rowBegin is what a part begins with that is nothing but rows.
const rowBegin = "<tr data-id="

// addedRows returns the rows that a list has before those that it had. It may have lost some at its end.
func addedRows(old, html string) (rows string, ok bool) {
	if !strings.HasPrefix(old, rowBegin) || !strings.HasPrefix(html, rowBegin) {
		return "", false
	}
	first := old
	if i := strings.Index(old[1:], rowBegin); i >= 0 {
		first = old[:i+1]
	}
	n := strings.Index(html, first)
	if n <= 0 || !strings.HasPrefix(old, html[n:]) {
		return "", false
	}
	return html[:n], true
}
