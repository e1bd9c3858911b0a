package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// ErrEnded is returned for a task that has ended.
var ErrEnded = errors.New("the task has ended")

// A Failure is the reason why there is no response, or no usable one.
type Failure struct {
	Reason string // in a few words
	Err    error  // with the remedy
	status int    // of the response, if there was one
}

// Error returns a text with the request, the failure and the remedy.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// noAnswer explains an error of net/http.
func (c *Client) noAnswer(err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err // without the URL, which may contain a password
	}
	where := c.address.full()
	reason := Printable(err.Error())
	switch unknown, isUnknown := errors.AsType[*net.DNSError](err); {
	case errors.Is(err, context.DeadlineExceeded):
		reason = fmt.Sprintf("no answer within %v", c.timeout)
		return &Failure{Reason: reason, Err: fmt.Errorf("%s from %s: give it more time with --timeout", reason, where)}
	case errors.Is(err, context.Canceled):
		return &Failure{Reason: "interrupted", Err: err}
	case isUnknown && unknown.IsNotFound:
		reason = "no host is named " + Printable(unknown.Name)
		return &Failure{Reason: reason, Err: fmt.Errorf("ask %s: %s: give host:port or unix:/path/to/socket", where, reason)}
	case errors.Is(err, syscall.ECONNREFUSED):
		reason = "connection refused"
	case errors.Is(err, fs.ErrNotExist):
		reason = "there is no such socket"
	case errors.Is(err, fs.ErrPermission):
		reason = "permission denied"
	case errors.Is(err, io.EOF):
		reason = "the connection was closed"
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return &Failure{Reason: reason, Err: fmt.Errorf(
			"nothing answers at %s (%s): is the program running, and does it mount live.Handler?", where, reason)}
	}
	return &Failure{Reason: reason, Err: fmt.Errorf("ask %s: %s", where, reason)}
}

// refused explains a response with an error status. It includes the text of the program.
func (c *Client) refused(response *http.Response) error {
	status := response.StatusCode
	said := sentence(response.Body)
	if said == "" {
		said = http.StatusText(status)
	}
	f := &Failure{Reason: said, status: status}
	switch status {
	case http.StatusNotFound:
		f.Reason = "nothing is at that path"
		f.Err = fmt.Errorf("nothing is at %s (404): mount live.Handler there, or give the path where it is, as in %s/path",
			c.address.full(), c.address.url.Host)
	case http.StatusUnauthorized:
		f.Err = fmt.Errorf("%s rejected the token (401): %s", c.address.full(), said)
	case http.StatusForbidden:
		f.Err = fmt.Errorf("%s refused the request (403): %s", c.address.full(), said)
	default:
		f.Err = fmt.Errorf("%s answers with status %d: %s", c.address.full(), status, said)
	}
	return f
}

// unread explains why a response could not be read.
func (c *Client) unread(err error) error {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, mismatch := errors.AsType[*json.UnmarshalTypeError](err)
	_, moment := errors.AsType[*time.ParseError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return c.noAnswer(errors.New("the answer broke off"))
	case syntax || mismatch || moment || errors.Is(err, io.EOF):
		return c.notOurs(err)
	}
	return c.noAnswer(err)
}

func (c *Client) notOurs(err error) error {
	return &Failure{Reason: "the answer is not from live.Handler", Err: fmt.Errorf(
		"%s answers, but not as live.Handler does (%s): give the path where the handler is mounted", c.address.full(), Printable(err.Error()))}
}

func (c *Client) tooLong() error {
	reason := fmt.Sprintf("the answer is longer than %d MB", c.most>>20)
	return &Failure{Reason: reason, Err: fmt.Errorf("%s of %s: ask for fewer tasks with --max", reason, c.address.full())}
}

// sentence returns the first line of a text, or "" if it is a page or too long.
func sentence(r io.Reader) string {
	scanner := bufio.NewScanner(io.LimitReader(r, 500))
	for scanner.Scan() {
		if line := strings.TrimSpace(scanner.Text()); line != "" && !strings.HasPrefix(line, "<") {
			return Printable(line)
		}
	}
	return ""
}
