package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// maxDrained is how much of an unwanted response is read, so that its connection can be reused.
const maxDrained = 256 << 10

// A fetcher makes the attempts.
type fetcher struct {
	template *template
	client   *http.Client
	folder   *folder // nil if bodies are not saved
	maxTime  time.Duration
	maxBytes int64
	retries  int

	inFlight inFlight
	retrying atomic.Int64 // transfers that wait for their next attempt
}

// fetch makes one attempt. Its error says whether another attempt makes sense, and when.
func (f *fetcher) fetch(ctx context.Context, t *transfer) (*transfer, error) {
	if t.attempts > 0 { // the first one has already waited for its turn
		if err := t.slot.pace(ctx); err != nil {
			return t, err
		}
	}
	f.wait(t, false)
	if t.attempts++; t.attempts == 1 {
		t.begun = time.Now()
	}
	t.err = f.attempt(ctx, t)
	t.elapsed = time.Since(t.begun)
	t.ended = t.err == nil || ctx.Err() == nil && (t.attempts > f.retries || !worthwhile(t.err))
	f.wait(t, !t.ended && ctx.Err() == nil)
	return t, classify(t.err)
}

// wait counts a transfer as waiting for its next attempt, or as not waiting any more.
func (f *fetcher) wait(t *transfer, again bool) {
	switch {
	case again && !t.again:
		f.retrying.Add(1)
	case !again && t.again:
		f.retrying.Add(-1)
	}
	t.again = again
}

// attempt sends the request once, and sets the transfer's fields from the response.
func (f *fetcher) attempt(ctx context.Context, t *transfer) error {
	if f.folder != nil {
		if err := f.folder.free(t.url); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, f.maxTime)
	defer cancel()
	clock := newClock()
	defer func() { t.spent = clock.stop() }()
	defer f.inFlight.enter(t.url.Redacted(), clock)()
	t.status, t.bytes, t.final, t.location = 0, 0, nil, ""

	request, err := f.template.make(httptrace.WithClientTrace(ctx, clock.trace()), t.url)
	if err != nil {
		return &finalError{classRequest, err}
	}
	answer, err := f.client.Do(request)
	if err != nil {
		return explain(ctx, err, clock, t.bytes)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode < 100 { // net/http accepts any three digits
		return &finalError{classStatus, fmt.Errorf("%q is not a valid HTTP status", answer.Status)}
	}
	t.status = answer.StatusCode
	if answer.Request.URL.String() != t.url.String() {
		t.final = answer.Request.URL
	}
	if next, err := answer.Location(); err == nil && answer.StatusCode/100 == 3 {
		t.location = next.Redacted()
	}
	if answer.StatusCode >= 400 {
		t.bytes, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxDrained))
		return newStatusError(answer)
	}
	if err := f.receive(t, answer); err != nil {
		return explain(ctx, err, clock, t.bytes)
	}
	return nil
}

// receive reads the body to its destination.
func (f *fetcher) receive(t *transfer, answer *http.Response) (err error) {
	if answer.ContentLength > f.maxBytes && answer.Request.Method != http.MethodHead {
		return &tooLongError{f.maxBytes}
	}
	body := &boundedReader{r: answer.Body, left: f.maxBytes, most: f.maxBytes}
	if f.folder != nil {
		t.file, t.bytes, err = f.folder.save(t.url, body)
	} else {
		t.bytes, err = io.Copy(io.Discard, body)
	}
	return err
}

// A boundedReader returns an error if there is more to read than allowed.
type boundedReader struct {
	r          io.Reader
	left, most int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if int64(n) > b.left {
		return int(b.left), &tooLongError{b.most}
	}
	b.left -= int64(n)
	return n, err
}
