package httprequest

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
)

// request returns the request. The args must have been checked.
func (a *Args) request(ctx context.Context) (*http.Request, error) {
	u, err := a.parseURL()
	if err != nil {
		return nil, err
	}
	var body io.Reader
	if content := a.content(); len(content) > 0 {
		body = bytes.NewReader(content)
	}
	request, err := http.NewRequestWithContext(ctx, strings.ToUpper(cmp.Or(a.Method, http.MethodGet)), "", body)
	if err != nil {
		return nil, err
	}
	request.URL, request.Host = u, u.Host
	request.Header.Set("User-Agent", "meanwhile")
	if a.JSON != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range a.Headers {
		if name = http.CanonicalHeaderKey(name); name == "Host" {
			request.Host = value
		} else {
			request.Header.Set(name, value)
		}
	}
	return request, nil
}

// content returns the body.
func (a *Args) content() []byte {
	if a.Body != "" {
		return []byte(a.Body)
	}
	return a.JSON
}

const idempotencyKey = "Idempotency-Key"

// setIdempotencyKey sets a key that all attempts of a job share, for methods with which a repeated request does more than one.
func setIdempotencyKey(request *http.Request, key string) {
	if request.Method != http.MethodPost && request.Method != http.MethodPatch {
		return
	}
	if _, given := request.Header[idempotencyKey]; !given {
		request.Header.Set(idempotencyKey, key)
	}
}
