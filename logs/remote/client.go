package remote

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/jsontext"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A Config configures a [Client]. The zero value of each field is its default.
type Config struct {
	Token   string        // sent with each request; without https, anyone on the network path can read it
	TLS     *tls.Config   // for https: roots, client certificates; default: the roots of the system
	Timeout time.Duration // the maximum time to connect, and to wait for data from the server; default 30 s

	// Lost is called with the error when [Client.Follow] has lost its connection, before it connects again. It may be nil.
	Lost func(err error)
}

// A Client searches the records of a server over HTTP, if the server mounts a [Handler]. It is a [storage.Finder]; its methods may be called
// concurrently. An error response becomes an error with the server's text.
type Client struct {
	base   *url.URL
	config Config
	http   *http.Client
}

var _ storage.Finder = (*Client)(nil)

// NewClient returns a client of the server at an address: http://host:port, https://host, or host:port, which means http. It connects at the
// first call.
func NewClient(address string, c Config) (*Client, error) {
	full := address
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	switch {
	case strings.Contains(address, "@"): // first, since special characters in a password may make url.Parse fail
		return nil, errors.New("the address of a log server has a user or a password in it: give a token")
	case err != nil:
		return nil, fmt.Errorf("%.80q is not an address of a log server: give http://host:port", address)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("%.80q is not an address of a log server: give http://host:port or https://host", address)
	}
	if c.Timeout <= 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Lost == nil {
		c.Lost = func(error) {}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: c.Timeout}).DialContext, TLSClientConfig: c.TLS,
		TLSHandshakeTimeout: c.Timeout, ResponseHeaderTimeout: c.Timeout, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	}
	return &Client{base: u, config: c, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is only for this server
	}}, nil
}

// String returns the address of the server.
func (c *Client) String() string { return c.base.String() }

// Close ends idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Find yields the matching records of the server; see [storage.Finder].
func (c *Client) Find(ctx context.Context, q storage.Query) meanwhile.Stream[logs.Record] {
	return func(yield func(logs.Record, error) bool) {
		var got int64
		for l, err := range c.lines(ctx, "find", encode(q)) {
			switch {
			case err == nil && l.End != nil && l.End.Records == got:
				return
			case err == nil && l.record != nil:
				got++
				if !yield(*l.record, nil) {
					return
				}
				continue
			case err == nil:
				err = errNonsense
			}
			yield(logs.Record{}, c.failed("find records", err))
			return
		}
	}
}

// FindJSON is [Client.Find] for callers that want records as JSON, as [logs.Record.MarshalJSON] writes them. It yields the lines that the
// server has sent, which costs a tenth of decoding them. A line is valid until the next one.
func (c *Client) FindJSON(ctx context.Context, q storage.Query) meanwhile.Stream[[]byte] {
	return func(yield func([]byte, error) bool) {
		var got int64
		for text, err := range c.texts(ctx, "find", encode(q)) {
			if err == nil && isRecord(text) && jsontext.IsSafe(text) {
				got++
				if !yield(text, nil) {
					return
				}
				continue
			}
			var l line
			if err == nil {
				l, err = parseLine(text)
			}
			switch {
			case err == nil && l.End != nil && l.End.Records == got:
				return
			case err == nil:
				err = errNonsense
			}
			yield(nil, c.failed("find records", err))
			return
		}
	}
}

// CountBy lets the server count records, and receives only the counts; see [storage.CountBy].
func (c *Client) CountBy(ctx context.Context, q storage.Query, by []string, every time.Duration) (counts *storage.Counts, err error) {
	if err := storage.CheckCounts(by, every); err != nil {
		return nil, err
	}
	v := encode(q)
	v["by"] = by
	v.Set("every", every.String())
	for l, err := range c.lines(ctx, "count", v) {
		switch {
		case err != nil:
			return nil, c.failed("count records", err)
		case l.Counts != nil:
			counts = l.Counts
		case l.End != nil && counts != nil:
			return counts, nil
		default:
			return nil, c.failed("count records", errNonsense)
		}
	}
	return nil, c.failed("count records", errCut)
}

// Histogram returns a histogram of the server's records; see [storage.Finder]. Without q.Until it ends now, and without q.Since it begins a
// day before its end.
func (c *Client) Histogram(ctx context.Context, q storage.Query, n int) (h storage.Histogram, err error) {
	v := encode(q)
	v.Set("n", fmt.Sprint(n))
	err = c.answer(ctx, "histogram", v, &h)
	return h, err
}

// Services returns the services in the server's store; see [storage.Finder].
func (c *Client) Services(ctx context.Context) (s []storage.ServiceStats, err error) {
	err = c.answer(ctx, "services", nil, &s)
	return s, err
}

// Stats returns the server's statistics as JSON.
func (c *Client) Stats(ctx context.Context) (stats json.RawMessage, err error) {
	err = c.answer(ctx, "stats", nil, &stats)
	return stats, err
}

func (c *Client) failed(doing string, err error) error {
	return fmt.Errorf("%s at %s: %w", doing, c.base.Redacted(), err)
}

func (c *Client) answer(ctx context.Context, path string, v url.Values, into any) error {
	body, end, err := c.ask(ctx, path, v)
	if err == nil {
		defer end()
		limited := &io.LimitedReader{R: body, N: maxAnswer}
		if err = json.NewDecoder(limited).Decode(into); limited.N <= 0 {
			err = fmt.Errorf("the answer is longer than %d MB", maxAnswer>>20)
		}
	}
	if err != nil {
		return c.failed("ask for "+path, err)
	}
	return nil
}

// A line is a line of a response: a record or a control line.
type line struct {
	control
	record *logs.Record
}

var (
	errCut      = errors.New("the answer was cut")
	errNonsense = errors.New("the answer makes no sense")
)

// lines yields the decoded lines of a response. It ends with an error, unless the caller stops the loop.
func (c *Client) lines(ctx context.Context, path string, v url.Values) meanwhile.Stream[line] {
	return func(yield func(line, error) bool) {
		for text, err := range c.texts(ctx, path, v) {
			var l line
			if err == nil {
				l, err = parseLine(text)
			}
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// texts yields the lines of a response as they were sent, each valid until the next one. It ends like lines.
func (c *Client) texts(ctx context.Context, path string, v url.Values) meanwhile.Stream[[]byte] {
	return func(yield func([]byte, error) bool) {
		body, end, err := c.ask(ctx, path, v)
		if err != nil {
			yield(nil, err)
			return
		}
		defer end()
		scanner := bufio.NewScanner(body)
		scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
		for scanner.Scan() {
			text := scanner.Bytes()
			if len(text) == 0 {
				continue
			}
			if !yield(text, nil) {
				return
			}
		}
		if err = scanner.Err(); err == nil {
			err = errCut
		}
		yield(nil, err)
	}
}

// isRecord reports whether a line is a record.
func isRecord(text []byte) bool { return bytes.HasPrefix(text, []byte(`{"time"`)) }

func parseLine(text []byte) (l line, err error) {
	if isRecord(text) {
		l.record = new(logs.Record)
		err = json.Unmarshal(text, l.record)
	} else if err = json.Unmarshal(text, &l.control); err == nil && l.Error != "" {
		return l, errors.New(l.Error)
	}
	if err != nil {
		err = fmt.Errorf("the answer is not that of a log server: %w", err)
	}
	return l, err
}

// A refusal is the error of a response with another status than 200.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// otherProtocol explains an error of net/http that a port with another protocol may have caused.
func otherProtocol(err error) error {
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case strings.Contains(err.Error(), "malformed HTTP"):
		return errors.New("what answers there speaks no HTTP: give the address of the server's HTTP")
	case noTLS:
		return errors.New("what listens there speaks no TLS: give http://, or the address of the server's HTTP")
	case errors.Is(err, io.EOF):
		return fmt.Errorf("what listens there closed the connection without a response: give the address of the server's HTTP, unless the server was just ending (%w)", err)
	}
	return err
}

// ask sends a request and returns the body of the response. Reading it fails if the server sends nothing for too long.
func (c *Client) ask(ctx context.Context, path string, v url.Values) (body io.Reader, end func(), err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	u := c.base.JoinPath(Prefix, path)
	u.RawQuery = v.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	if c.config.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if ok {
			err = otherProtocol(inner.Err) // without the URL, which may be long because of the filter
		}
		cancel(nil)
		return nil, nil, err
	}
	r := &patient{ctx: ctx, body: response.Body, patience: c.config.Timeout}
	r.timer = time.AfterFunc(r.patience, func() { cancel(fmt.Errorf("no byte came for %v", r.patience)) })
	r.timer.Stop()
	end = func() {
		r.timer.Stop()
		cancel(nil)
		_ = response.Body.Close()
	}
	if response.StatusCode != http.StatusOK {
		defer end()
		return nil, nil, refused(response, r)
	}
	return r, end, nil
}

// refused returns the error of a response with another status than 200.
func refused(response *http.Response, body io.Reader) error {
	text, _ := io.ReadAll(io.LimitReader(body, 16<<10))
	var said struct {
		Detail string `json:"detail"`
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if !strings.HasSuffix(kind, "json") || json.Unmarshal(text, &said) != nil || said.Detail == "" {
		said.Detail = http.StatusText(response.StatusCode)
		if response.StatusCode == http.StatusNotFound {
			said.Detail = "nothing serves logs there"
		}
	}
	if strings.Contains(string(text), "HTTP request to an HTTPS server") { // the text of net/http
		said.Detail = "it speaks TLS: give https:// before the address"
	}
	err := &refusal{response.StatusCode, fmt.Sprintf("%s (%d)", said.Detail, response.StatusCode)}
	if response.StatusCode == http.StatusUnauthorized {
		err.text = "the server requires a token, or a different one (401)"
	}
	return err
}

// A patient reader reads a body, and fails when a read takes too long. The time between two reads does not count.
type patient struct {
	ctx      context.Context
	body     io.Reader
	patience time.Duration
	timer    *time.Timer
}

func (p *patient) Read(b []byte) (int, error) {
	p.timer.Reset(p.patience)
	n, err := p.body.Read(b)
	p.timer.Stop()
	if err != nil && p.ctx.Err() != nil {
		err = context.Cause(p.ctx)
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errCut
	}
	return n, err
}
