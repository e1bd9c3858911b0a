// Package push posts batches of log records to servers over HTTP, for the outputs of logs. Its errors and texts never contain a secret: neither the
// password of a
// URL nor a header.
package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/retryafter"
)

// Config is how to reach a server.
type Config struct {
	Header http.Header // sent with each request, such as Authorization
	TLS    *tls.Config // nil: certificates are checked by the system's roots
	Gzip   bool        // compress bodies
}

// A Client posts to one server. Its methods may be called concurrently.
type Client struct {
	base   *url.URL // without user and password
	config Config
	http   *http.Client
}

const maxAnswer = 8 << 20 // bytes of an answer that are read

// New returns a client for the server at a URL. A user and password in the URL are sent as a header.
func New(address string, c Config) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil { // its text quotes the URL
		return nil, errors.New("the address of an output is not a URL")
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, errors.New("the address of an output is a URL that begins with http:// or https://, and has a host")
	}
	c.Header = c.Header.Clone()
	if c.Header == nil {
		c.Header = http.Header{}
	}
	if user := base.User; user != nil {
		password, _ := user.Password()
		r := &http.Request{Header: c.Header}
		r.SetBasicAuth(user.Username(), password)
		base.User = nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = c.TLS
	transport.MaxConnsPerHost = 16
	transport.MaxIdleConnsPerHost = 16
	return &Client{base: base, config: c, http: &http.Client{
		Transport: transport,
		// Do not follow redirects: records and passwords go only where they were meant to go.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// String returns the address, for people.
func (c *Client) String() string { return c.base.Host }

// Base returns the path of the URL, without a slash at its end.
func (c *Client) Base() string { return strings.TrimSuffix(c.base.Path, "/") }

// Close closes connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Post posts a body to a path of the server, with a query in addition to that of its URL. It returns up to 8 MiB of the answer. For a status outside
// of 200 to 299 it returns a [*StatusError], which has a method RetryAfter if the server said when to try again.
func (c *Client) Post(ctx context.Context, path, query, contentType string, body []byte) (answer []byte, err error) {
	where := *c.base
	where.Path, where.RawPath, where.RawQuery = path, "", strings.Trim(where.RawQuery+"&"+query, "&")
	request := &http.Request{Method: http.MethodPost, URL: &where, Header: c.config.Header.Clone(), Host: where.Host}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("User-Agent", "meanwhile")
	if c.config.Gzip {
		packed := buffers.Get().(*bytes.Buffer)
		defer buffers.Put(packed)
		packed.Reset()
		compress(packed, body)
		body = bytes.Clone(packed.Bytes()) // the transport may still read it after it has returned
		request.Header.Set("Content-Encoding", "gzip")
	}
	request.ContentLength = int64(len(body))
	request.Body = io.NopCloser(bytes.NewReader(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	response, err := c.http.Do(request.WithContext(ctx))
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return nil, fmt.Errorf("post to %s: %w", c, err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		err := &StatusError{Host: c.String(), Status: response.StatusCode, Answer: Shorten(answer)}
		if after, ok := retryafter.Parse(response.Header.Get("Retry-After"), time.Now()); ok && after > 0 {
			return answer, &later{err, after}
		}
		return answer, err
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", c, err)
	}
	return answer, nil
}

var (
	buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	writers = sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid, so there is no error
		return w
	}}
)

func compress(to *bytes.Buffer, body []byte) {
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	w.Reset(to)
	_, _ = w.Write(body) // writing to a buffer cannot fail
	_ = w.Close()
}

// A StatusError is an answer whose status is an error.
type StatusError struct {
	Host   string
	Status int
	Answer string // shortened, escaped
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answers %d %s: %s", e.Host, e.Status, http.StatusText(e.Status), e.Answer)
}

// Refused reports whether the same body will always be refused: it is invalid (400, 422) or too large (413). A wrong password, for example, can be
// fixed at the server, and is not a refusal.
func (e *StatusError) Refused() bool {
	return e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity || e.Status == http.StatusRequestEntityTooLarge
}

// Refused reports whether an error is an answer that [StatusError.Refused].
func Refused(err error) bool {
	status, ok := errors.AsType[*StatusError](err)
	return ok && status.Refused()
}

// A later is an error with the time after which the server accepts requests again.
type later struct {
	error
	after time.Duration
}

func (e *later) Unwrap() error             { return e.error }
func (e *later) RetryAfter() time.Duration { return e.after }

// Shorten makes an answer of a server safe to show: short, and without control characters.
func Shorten(answer []byte) string {
	const most = 300
	text := strings.ToValidUTF8(string(answer[:min(len(answer), most)]), "")
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text))
	if len(answer) > most {
		text += "…"
	}
	return text
}
