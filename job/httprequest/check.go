package httprequest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxURL     = 16 << 10 // bytes
	maxHeaders = 32 << 10 // bytes of names and values
)

// token is what HTTP allows for a method and a header's name.
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// isToken reports whether a name is a token of up to 256 bytes. A bound in the expression would have to be compiled at each start of a program.
func isToken(name string) bool { return len(name) <= 256 && token.MatchString(name) }

// reserved are headers that belong to the connection, and that net/http sets.
var reserved = map[string]bool{
	"Connection": true, "Content-Length": true, "Expect": true, "Keep-Alive": true, "Proxy-Authorization": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// Check returns an error if the args do not make a request. Its errors show no values: they may be secrets.
func (a *Args) Check() error {
	if a.Method != "" && !isToken(a.Method) {
		return errors.New(`"method": not a method, such as POST`)
	}
	if strings.EqualFold(a.Method, http.MethodConnect) {
		return errors.New(`"method": CONNECT is for proxies`)
	}
	if _, err := a.parseURL(); err != nil {
		return fmt.Errorf(`"url": %w`, err)
	}
	if err := a.checkHeaders(); err != nil {
		return err
	}
	if a.Body != "" && a.JSON != nil {
		return errors.New(`"body" and "json": choose one`)
	}
	if d := time.Duration(a.Timeout); d < 0 || d > maxTimeout {
		return fmt.Errorf(`"timeout": %v: give up to %v`, d, maxTimeout)
	}
	return a.Expect.check()
}

func (a *Args) parseURL() (*url.URL, error) {
	switch {
	case a.URL == "":
		return nil, errors.New("not given")
	case len(a.URL) > maxURL:
		return nil, fmt.Errorf("longer than %d bytes", maxURL)
	case !utf8.ValidString(a.URL):
		return nil, errors.New("not UTF-8")
	case strings.ContainsFunc(a.URL, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return nil, errors.New("has a space or a control character inside")
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		return nil, errors.New("not well-formed") // the message of url.Error repeats the URL, with its password
	}
	u.Fragment, u.RawFragment = "", ""
	return u, checkURL(u)
}

// checkURL returns an error if a URL cannot be requested.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme == "":
		return errors.New("has no scheme: begin with https:// or http://")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("has scheme %.20q, which is neither http nor https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("has no host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("has port %.10s, which is not from 1 to 65535", port)
		}
	}
	return nil
}

func (a *Args) checkHeaders() error {
	size, seen := 0, make(map[string]bool, len(a.Headers))
	for name, value := range a.Headers {
		if !isToken(name) {
			return fmt.Errorf(`"headers": %.60q is not a valid name of a header`, name)
		}
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case reserved[canonical]:
			return fmt.Errorf(`"headers": %s is set by the connection; leave it out`, canonical)
		case seen[canonical]:
			return fmt.Errorf(`"headers": %s is given twice`, canonical)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return fmt.Errorf(`"headers": the value of %s has a control character inside`, canonical)
		case canonical == "Host" && !hostValue.MatchString(value):
			return errors.New(`"headers": the value of Host is not a host`)
		}
		seen[canonical] = true
		size += len(name) + len(value)
	}
	if size > maxHeaders {
		return fmt.Errorf(`"headers": %d bytes, at most %d are allowed`, size, maxHeaders)
	}
	return nil
}

var hostValue = regexp.MustCompile(`^[0-9A-Za-z._~:\[\]-]+$`)
