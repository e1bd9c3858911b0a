package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxURL is the maximum length of a URL in bytes, since waiting URLs are kept in memory.
const maxURL = 64 << 10

var (
	withScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:/`)
	hostLike   = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[^/?#:@\[\]]*\.[^/?#:@\[\]]+|localhost|[^/?#:@\[\]]+:[0-9]+)([:/?#]|$)`)
)

// parseURL parses a URL as a user writes it: a host without a scheme stands for http.
func parseURL(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("longer than %d bytes", maxURL)
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("not UTF-8")
	}
	if strings.IndexFunc(text, unicode.IsControl) >= 0 {
		return nil, errors.New("has a control character inside")
	}
	if strings.IndexFunc(text, unicode.IsSpace) >= 0 {
		return nil, errors.New("has a space inside")
	}
	if !withScheme.MatchString(text) {
		if !hostLike.MatchString(text) {
			return nil, errors.New("has no scheme, and is not a host such as example.com")
		}
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		// The message of url.Error contains the URL with its password.
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err
		}
		if strings.Contains(text, "@") {
			return nil, errors.New("not well-formed")
		}
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	return u, checkURL(u)
}

func checkURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("scheme %q is neither http nor https", u.Scheme)
	}
	if u.Hostname() == "" {
		return errors.New("has no host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("port %s is not from 1 to 65535", port)
		}
	}
	return nil
}

// hostOf returns the host of a URL with its port.
func hostOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// credentials matches what may be a user and a password: up to the last @, since it is unclear where they end.
var credentials = regexp.MustCompile(`(?s)^([A-Za-z][A-Za-z0-9+.-]*:/*)?.*@`)

// quote formats an input line that is not a URL: shortened, on one line, without a possible password.
func quote(text string) string {
	text = credentials.ReplaceAllString(text, "${1}xxxxx@")
	const most = 60
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return strconv.Quote(text)
}
