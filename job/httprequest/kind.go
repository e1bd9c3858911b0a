// Package httprequest has a kind of job that makes an HTTP request: calls of APIs that survive a restart, are retried when they fail, and wait as
// long as the server asks for.
//
//	store, err := sqlite.Open(ctx, "jobs.db")
//	_, err = httprequest.Kind.Enqueue(ctx, store, httprequest.Args{Method: "POST", URL: "https://api.example.com/v1/users"})
//	err = job.NewWorker(store, job.Config{}, httprequest.Handler(httprequest.Config{})).Run(ctx)
//
// A request may be made more than once: if the process dies between the response and its record, for example. POST and PATCH
// requests carry the ID of their job as Idempotency-Key, by which many services notice a repetition.
//
// Args are stored as they are, so everybody who can read the store can read the secrets in them. Errors and results contain none
// of them.
package httprequest

import (
	"context"
	"net/http"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/retry"
)

// Kind is the kind of the jobs, "http.request".
var Kind = job.Define[Args]("http.request")

// A Config limits what requests may do. The zero value is safe.
type Config struct {
	// AllowPrivate allows addresses that are not public: this machine, its network, the metadata service of a cloud. It also
	// makes requests go through the proxy that the environment names, if any. Without AllowPrivate, the address that is connected
	// to is checked, whatever name resolved to it and after any number of redirects.
	AllowPrivate bool
	MaxBody      int // bytes of a response's body that are kept; default 16 KiB, at most 32 KiB
	// SigningKey, if set, signs the requests that ask for it, such as those of a [job.Webhook], as https://www.standardwebhooks.com
	// describes: Webhook-Id is the ID of the job, Webhook-Timestamp the time of the attempt in Unix seconds, and Webhook-Signature "v1,"
	// with the base64 of the HMAC-SHA256 of both and the body, with dots between. See [ParseSigningKey].
	SigningKey []byte
}

// Handler returns the handler of [Kind]. It may be used by many workers.
//
// A response with an expected status completes the job, see Args.Expect. After a response with status 408, 425, 429 or 5xx, or no
// response, the request is retried, after the time that Retry-After gives, if there is one, up to a day. Other statuses, invalid
// args, addresses that are refused and more than 10 redirects are permanent failures.
func Handler(c Config) job.Handler {
	requester := newRequester(c, newClient(c.AllowPrivate))
	return job.HandleResult(Kind, requester.do)
}

// A requester makes the requests.
type requester struct {
	client  *http.Client
	maxBody int
	key     []byte
}

const (
	defaultMaxBody = 16 << 10
	mostMaxBody    = 32 << 10 // its base64 with the headers is within job.MaxResult
)

func newRequester(c Config, client *http.Client) *requester {
	r := &requester{client: client, maxBody: min(c.MaxBody, mostMaxBody), key: c.SigningKey}
	if r.maxBody <= 0 {
		r.maxBody = defaultMaxBody
	}
	return r
}

// do makes one request.
func (r *requester) do(ctx context.Context, a Args) (Result, error) {
	if err := a.Check(); err != nil {
		return Result{}, retry.Permanent(err)
	}
	begun := time.Now()
	bounded, cancel := context.WithTimeout(ctx, a.timeout())
	defer cancel()
	request, err := a.request(withExpect(bounded, a.Expect))
	if err != nil {
		return Result{}, retry.Permanent(err)
	}
	if j, ok := job.FromContext(ctx); ok {
		setIdempotencyKey(request, j.ID.String())
		if a.Sign && len(r.key) > 0 {
			sign(request, r.key, j.ID.String(), begun, a.content())
		}
	}
	failed := failure{args: &a, request: request}
	answer, err := r.client.Do(request)
	if err != nil {
		return Result{}, failed.noAnswer(ctx, bounded, err)
	}
	defer func() { _ = answer.Body.Close() }()
	failed.request = answer.Request
	body, cut, err := readBody(answer.Body, r.maxBody)
	if !a.Expect.Has(answer.StatusCode) {
		return Result{}, failed.unexpected(answer, body) // whose body may be cut off
	}
	if err != nil {
		return Result{}, failed.brokenOff(ctx, bounded, err)
	}
	return newResult(answer, body, cut, time.Since(begun)), nil
}
