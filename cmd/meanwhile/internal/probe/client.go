// Package probe reads the task tree of a program. It is the client of package live, and has what the commands that show tasks share.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// MaxAnswer is the maximum length of a response, in bytes.
const MaxAnswer = 256 << 20

// A Client sends requests to one program. Its methods may be called concurrently; their errors are [*Failure] or [ErrEnded].
type Client struct {
	address Address
	timeout time.Duration
	most    int64
	http    *http.Client
}

// NewClient returns a client with a timeout for each request.
func NewClient(address Address, timeout time.Duration) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if address.socket != "" {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", address.socket)
		}
	}
	return &Client{address, timeout, MaxAnswer, &http.Client{Transport: transport, CheckRedirect: checkRedirect}}
}

// checkRedirect follows redirects as usual, but not for a request that changes something: a redirect would turn it into a GET.
func checkRedirect(_ *http.Request, via []*http.Request) error {
	if via[0].Method != http.MethodGet || len(via) > 10 {
		return http.ErrUseLastResponse
	}
	return nil
}

// String returns the address in short form.
func (c *Client) String() string { return c.address.String() }

// Snapshot returns the trees with at most most tasks.
func (c *Client) Snapshot(ctx context.Context, most int) (live.Snapshot, error) {
	var s live.Snapshot
	err := c.get(ctx, url.Values{"format": {"json"}, "max": {strconv.Itoa(most)}}, &s)
	if err == nil && (s.PID == 0 || s.Time.IsZero()) {
		err = c.notOurs(errors.New("it has no pid and time"))
	}
	return s, err
}

// Detail returns a task with its stack, or ErrEnded.
func (c *Client) Detail(ctx context.Context, id uint32) (live.Detail, error) {
	var d live.Detail
	err := c.get(ctx, url.Values{"format": {"json"}, "task": {strconv.FormatUint(uint64(id), 10)}}, &d)
	if failure, ok := errors.AsType[*Failure](err); ok && failure.status == http.StatusNotFound {
		return d, ErrEnded
	}
	if err == nil && d.Task.ID == 0 {
		err = c.notOurs(errors.New("it has no task"))
	}
	return d, err
}

// Waits returns the wait profile. A program without a running Watch has none, which is a Failure.
func (c *Client) Waits(ctx context.Context) (inspect.WaitProfile, error) {
	var p inspect.WaitProfile
	err := c.get(ctx, url.Values{"format": {"json"}, "waits": {""}}, &p)
	if err == nil && p.Snapshots == 0 {
		err = c.notOurs(errors.New("it has no snapshots"))
	}
	return p, err
}

// Cancel cancels the task if path is still its path, or returns ErrEnded.
func (c *Client) Cancel(ctx context.Context, n inspect.Node, token string) error {
	form := url.Values{"cancel": {strconv.FormatUint(uint64(n.ID), 10)}, "path": {n.Path}}.Encode()
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Authorization": {"Bearer " + token}}
	err := c.do(ctx, http.MethodPost, nil, header, form, nil)
	if failure, ok := errors.AsType[*Failure](err); ok && failure.status == http.StatusNotFound {
		return ErrEnded
	}
	return err
}

func (c *Client) get(ctx context.Context, query url.Values, answer any) error {
	return c.do(ctx, http.MethodGet, query, http.Header{"Accept": {"application/json"}}, "", answer)
}

// do sends a request and decodes its response into answer, unless that is nil.
func (c *Client) do(ctx context.Context, method string, query url.Values, header http.Header, body string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.address.with(query), strings.NewReader(body))
	if err != nil {
		return c.noAnswer(err)
	}
	request.Header = header
	response, err := c.http.Do(request)
	if err != nil {
		return c.noAnswer(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		return c.refused(response)
	}
	if answer == nil {
		return nil
	}
	limited := &io.LimitedReader{R: response.Body, N: c.most + 1}
	err = json.NewDecoder(limited).Decode(answer)
	if err != nil && limited.N <= 0 {
		return c.tooLong()
	}
	if err != nil && ctx.Err() != nil {
		return c.noAnswer(ctx.Err())
	}
	return c.unread(err)
}
