package dash

import (
	"context"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// A pageState is the shared state of a live page.
type pageState struct {
	hub     *hub
	view    *view           // of the first reader; those of all others are equal
	ctx     context.Context // of no request, since the page is rendered for all readers; canceled when the last one has left
	cancel  context.CancelFunc
	readers int // guarded by the hub's mu

	mu      sync.Mutex
	timer   *time.Timer // of the next rendering
	follows map[follower]struct{}
	last    *update
	trouble *trouble // of the last rendering, or nil
}

// A follower is a reader that waits for updates.
type follower interface {
	Wake()
	Wait(ctx context.Context, until time.Time) error // returns when it is woken, or at a time
}

// A trouble is the reason why a page cannot be rendered.
type trouble struct {
	text  string
	event *event
}

// newPageState returns the state of a page, and starts rendering it.
func newPageState(h *hub, v *view) *pageState {
	p := &pageState{hub: h, view: v, follows: map[follower]struct{}{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = time.AfterFunc(0, p.draw)
	return p
}

func (p *pageState) end() {
	p.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
}

// follow sends a reader updates until it disconnects. Between updates it needs no more stack than a goroutine starts with: deep calls are made by
// draw.
func (p *pageState) follow(ctx context.Context, out *stream, f follower) {
	p.mu.Lock()
	p.follows[f] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.follows, f)
	}()
	defer out.end()
	over := time.Now().Add(mostLive)
	for sent := (*update)(nil); time.Now().Before(over); {
		now, news, trouble := p.since(sent)
		if out.send(news, trouble) != nil {
			return
		}
		sent = now
		until := out.due()
		if over.Before(until) {
			until = over
		}
		if f.Wait(ctx, until) != nil {
			return
		}
	}
}

// since returns the newest update, the event with its changes for a reader that has received sent, and the trouble if the page could not be rendered.
// If there are no changes, news is nil.
func (p *pageState) since(sent *update) (now *update, news *event, trouble *event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.trouble != nil:
		return sent, nil, p.trouble.event
	case p.last == nil:
		return nil, nil, nil
	}
	return p.last, p.last.since(sent), nil
}

// draw renders the page when it is due, if any reader is left, and wakes all readers if something is new.
func (p *pageState) draw() {
	select {
	case p.hub.draws <- struct{}{}:
	case <-p.ctx.Done():
		return
	}
	var parts map[string]string
	err := meanwhile.Run(p.ctx, func(ctx context.Context) (err error) { // turns a panic into an error
		parts, err = p.hub.draw(ctx, p.view)
		return err
	}, meanwhile.Name("live page"))
	<-p.hub.draws
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil { // the timer was stopped by end, or will be
		return
	}
	if p.note(parts, err) {
		for f := range p.follows {
			f.Wake()
		}
	}
	p.timer.Reset(period)
}

// note records a rendering, and reports whether anything is new.
func (p *pageState) note(parts map[string]string, err error) bool {
	if err != nil {
		_, text := p.view.reason(err)
		if p.trouble != nil && p.trouble.text == text {
			return false
		}
		p.trouble = &trouble{text, dataEvent("trouble", text)}
		return true
	}
	isNew := p.trouble != nil
	p.trouble = nil
	if p.last == nil {
		p.last = &update{parts: parts}
		return true
	}
	if found := changed(p.last.parts, parts); len(found) > 0 {
		p.last = &update{n: p.last.n + 1, parts: parts, news: dataEvent("parts", found)}
		isNew = true
	}
	return isNew
}
