package fetch

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// newClient returns the HTTP client of a command that runs up to most transfers concurrently.
func newClient(c *Command, most int) *http.Client {
	dialer := &net.Dialer{Timeout: time.Duration(c.ConnectTimeout), KeepAlive: 30 * time.Second}
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: c.Insecure},
		TLSHandshakeTimeout:    time.Duration(c.ConnectTimeout),
		ResponseHeaderTimeout:  time.Duration(c.MaxTime),
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConns:           2 * most,
		MaxIdleConnsPerHost:    most,
		MaxResponseHeaderBytes: 1 << 20,
		ForceAttemptHTTP2:      true,
		DisableCompression:     !c.Compressed,
	}
	return &http.Client{Transport: transport, CheckRedirect: redirects(c)}
}

// redirects decides which redirects are followed, in the same way as curl: to another host, port or scheme no Authorization or
// Cookie is sent, and a Referer never.
func redirects(c *Command) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, before []*http.Request) error {
		if !c.Location {
			return http.ErrUseLastResponse
		}
		if len(before) > c.MaxRedirs {
			return &finalError{classRedirect, fmt.Errorf("more than %d redirects", c.MaxRedirs)}
		}
		if err := checkURL(next.URL); err != nil {
			return &finalError{classRedirect, fmt.Errorf("redirect to %s: %w", printable(next.URL.Redacted()), err)}
		}
		next.Header.Del("Referer")
		for _, request := range append(before[1:], next) {
			if hostOf(request.URL) != hostOf(before[0].URL) || request.URL.Scheme != before[0].URL.Scheme {
				next.Header.Del("Authorization")
				next.Header.Del("Cookie")
			}
		}
		return nil
	}
}
