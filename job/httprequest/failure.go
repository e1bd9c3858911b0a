package httprequest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/internal/retryafter"
	"github.com/meanwhile-go/meanwhile/retry"
)

const (
	maxRetryAfter = 24 * time.Hour
	maxSaid       = 200 // bytes of the response body in an error
)

// A failure creates the errors of one attempt.
type failure struct {
	args    *Args
	request *http.Request // the last one, after redirects
}

// errorf returns an error with the method and the URL of the request. It contains nothing that may be a secret: neither the user and the query nor
// the values of headers, wherever they occur.
func (f failure) errorf(format string, args ...any) error {
	u := *f.request.URL
	u.User, u.RawQuery, u.ForceQuery, u.Fragment = nil, "", false, ""
	return fmt.Errorf("%s %s: %s", f.request.Method, f.mask(u.String()), f.mask(fmt.Sprintf(format, args...)))
}

// noAnswer returns the error of a request without a response. ctx is that of the job, and bounded has the timeout.
func (f failure) noAnswer(ctx, bounded context.Context, err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err // without the URL
	}
	if err := f.ended(ctx, bounded); err != nil {
		return err
	}
	if redirect, ok := errors.AsType[*redirectError](err); ok {
		return retry.Permanent(f.errorf("%v", redirect))
	}
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return retry.Permanent(f.errorf("%v", refused))
	}
	unknown, isUnknown := errors.AsType[*net.DNSError](err)
	switch {
	case errors.Is(err, errTooManyRedirects):
		return retry.Permanent(f.errorf("%v", errTooManyRedirects))
	case isUnknown && unknown.IsNotFound:
		return f.errorf("no host is named %s", unknown.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return f.errorf("connection refused")
	case errors.Is(err, syscall.ECONNRESET):
		return f.errorf("the connection was reset")
	case errors.Is(err, io.EOF):
		return f.errorf("the connection was closed without an answer")
	}
	return f.errorf("%v", err)
}

// brokenOff returns the error of a response that could not be read to its end.
func (f failure) brokenOff(ctx, bounded context.Context, err error) error {
	if err := f.ended(ctx, bounded); err != nil {
		return err
	}
	return f.errorf("the answer broke off: %v", err)
}

// ended returns an error if the job was canceled or the time is over, and otherwise nil.
func (f failure) ended(ctx, bounded context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case bounded.Err() != nil:
		return f.errorf("no answer within %v", f.args.timeout())
	}
	return nil
}

// unexpected returns the error of a response with a status that is not expected.
func (f failure) unexpected(answer *http.Response, body []byte) error {
	status := answer.StatusCode
	text := strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
	if said := sentence(body); said != "" {
		text += ": " + said
	}
	err := f.errorf("%s", text)
	if status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooEarly && status != http.StatusTooManyRequests {
		return retry.Permanent(err)
	}
	if after, ok := retryafter.Parse(answer.Header.Get("Retry-After"), time.Now()); ok && after > 0 { // otherwise the backoff of the kind applies
		return retry.After(err, min(after, maxRetryAfter))
	}
	return err
}

// sentence returns the beginning of a body on one line, or "" if it is not text.
func sentence(body []byte) string {
	body = body[:min(len(body), 4*maxSaid)]
	text := strings.Join(strings.Fields(string(wholeRunes(body))), " ")
	if strings.HasPrefix(text, "<") || !utf8.ValidString(text) {
		return ""
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if len(text) > maxSaid {
		text = string(wholeRunes([]byte(text[:maxSaid]))) + "…"
	}
	return text
}

// mask replaces secrets in a text.
func (f failure) mask(text string) string {
	for _, secret := range f.args.secrets() {
		text = strings.ReplaceAll(text, secret, "xxxxx")
	}
	return text
}

// secrets returns what may be a secret among the args: the values of headers and their words, except of harmless headers, user, password, and the
// values of the query; the longest first. Texts shorter than 6 bytes are left out: they would occur by chance.
func (a *Args) secrets() []string {
	var found []string
	add := func(texts ...string) {
		for _, text := range texts {
			if len(text) >= 6 {
				found = append(found, text)
			}
		}
	}
	for name, value := range a.Headers {
		if name = http.CanonicalHeaderKey(name); name != "Host" && !harmless[name] {
			add(value)
			add(strings.Fields(value)...)
		}
	}
	if u, err := a.parseURL(); err == nil {
		password, _ := u.User.Password()
		add(u.User.Username(), password)
		for _, values := range u.Query() {
			add(values...)
		}
	}
	slices.SortFunc(found, func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	return found
}
