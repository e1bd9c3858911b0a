package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/retry"
)

type client struct{ url string }

// summarize calls the model once, and its return value decides the job's outcome. Retries are the worker's concern: there is
// no loop and no sleep here.
func (c *client) summarize(ctx context.Context, a Article) (Summary, error) {
	var s Summary
	text, err := json.Marshal(a)
	if err != nil {
		return s, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(text))
	if err != nil {
		return s, err
	}
	// The job's ID is the same in each attempt: an API that supports the header answers a repeated request without doing, and
	// charging for, the work again.
	if j, ok := job.FromContext(ctx); ok {
		request.Header.Set("Idempotency-Key", j.ID.String())
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return s, err // a network error: retried after the backoff
	}
	defer response.Body.Close()

	failure := fmt.Errorf("summarize article %d: %s", a.Number, response.Status)
	switch response.StatusCode {
	case http.StatusOK:
		return s, json.NewDecoder(response.Body).Decode(&s)
	case http.StatusTooManyRequests:
		return s, job.Throttled(failure, retryAfter(response))
	case http.StatusServiceUnavailable:
		return s, retry.After(failure, retryAfter(response))
	case http.StatusRequestEntityTooLarge:
		return s, job.Cancel(failure)
	}
	return s, failure
}

// retryAfter reads the header, and adds up to half of it at random: clients that were rejected together should not return
// together.
func retryAfter(r *http.Response) time.Duration {
	wait := time.Second
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && seconds > 0 {
		wait = time.Duration(seconds) * time.Second
	}
	return wait + rand.N(wait/2)
}
