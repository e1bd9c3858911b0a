package probe

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

const (
	defaultPort = "6060"
	defaultPath = "/debug/meanwhile"
)

// An Address is where a program answers.
type Address struct {
	url    *url.URL
	socket string // the file of a Unix socket; then url is what is asked for over it
}

// ParseAddress reads host:port, http://host:port/path or unix:/path/to/socket. Without a host it is localhost, without
// scheme and port it is port 6060, without a path it is /debug/meanwhile.
func ParseAddress(text string) (Address, error) {
	if socket, ok := strings.CutPrefix(text, "unix:"); ok {
		socket = strings.TrimPrefix(socket, "//")
		if socket == "" {
			return Address{}, errAddress(text, errors.New("the file of the socket is missing"))
		}
		return Address{&url.URL{Scheme: "http", Host: "localhost", Path: defaultPath}, socket}, nil
	}
	full, bare := text, !strings.Contains(text, "://")
	if bare {
		full = "http://" + text
	}
	u, err := url.Parse(full)
	if inner, ok := errors.AsType[*url.Error](err); ok {
		return Address{}, errAddress(text, inner.Err)
	}
	switch {
	case err != nil:
		return Address{}, errAddress(text, err)
	case u.Scheme != "http" && u.Scheme != "https":
		return Address{}, errAddress(text, fmt.Errorf("%q is no scheme for it", u.Scheme))
	case u.Hostname() == "" && u.Port() == "":
		return Address{}, errAddress(text, errors.New("the host is missing"))
	case u.Hostname() == "":
		u.Host = "localhost:" + u.Port()
	case bare && u.Port() == "":
		u.Host = net.JoinHostPort(u.Hostname(), defaultPort)
	}
	if u.Path == "" {
		u.Path = defaultPath
	}
	u.Fragment = ""
	return Address{url: u}, nil
}

func errAddress(text string, err error) error {
	if strings.Contains(text, "@") { // the text and what is wrong with it may be a password
		return &UsageError{errors.New("the address cannot be read: give host:port, http://host:port/path or unix:/path/to/socket; " +
			"in a user and a password, % is %25, # is %23, / is %2F, ? is %3F, @ is %40")}
	}
	return &UsageError{fmt.Errorf("address %q: %w: give host:port, http://host:port/path or unix:/path/to/socket", text, err)}
}

// String is the address in short: the usual path is left out, and a password never shown.
func (a Address) String() string {
	if a.socket != "" {
		return "unix:" + a.socket
	}
	short := *a.url
	if short.Path == defaultPath {
		short.Path = ""
	}
	return strings.TrimPrefix(short.Redacted(), "http://")
}

// full is the address with all that is asked for.
func (a Address) full() string {
	if a.socket != "" {
		return "unix:" + a.socket
	}
	return a.url.Redacted()
}

// with is the URL with more in its query.
func (a Address) with(query url.Values) string {
	u := *a.url
	all := u.Query()
	for key, values := range query {
		all[key] = values
	}
	u.RawQuery = all.Encode()
	return u.String()
}
