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

// summarize asks the model once, and says what is to become of the job. That it may be called again is the worker's
// affair: there is no loop and no sleep in it.
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
	// The job's ID is the same in each attempt: an API that knows the header answers a repeated request without working,
	// and charging, for it again.
	if j, ok := job.FromContext(ctx); ok {
		request.Header.Set("Idempotency-Key", j.ID.String())
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return s, err // the network: tried again after the backoff
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

// retryAfter reads the header, and adds up to half of it at random: those who were sent away together should not return
// together.
func retryAfter(r *http.Response) time.Duration {
	wait := time.Second
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && seconds > 0 {
		wait = time.Duration(seconds) * time.Second
	}
	return wait + rand.N(wait/2)
}
