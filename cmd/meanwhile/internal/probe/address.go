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

// An Address is the address of a program's task tree.
type Address struct {
	url    *url.URL
	socket string // file of a Unix socket, over which url is requested; "" for TCP
}

// ParseAddress parses host:port, http://host:port/path or unix:/path/to/socket. The default host is localhost, the default port
// without a scheme 6060, and the default path /debug/meanwhile.
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
		return Address{}, errAddress(text, fmt.Errorf("scheme %q is not supported", u.Scheme))
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
	if strings.Contains(text, "@") { // the text and the error may contain a password
		return &UsageError{errors.New("the address cannot be read: give host:port, http://host:port/path or unix:/path/to/socket; " +
			"in a user and a password, % is %25, # is %23, / is %2F, ? is %3F, @ is %40")}
	}
	return &UsageError{fmt.Errorf("address %q: %w: give host:port, http://host:port/path or unix:/path/to/socket", text, err)}
}

// String returns the address in short form: without the default path, and never with a password.
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

// full returns the complete address without a password.
func (a Address) full() string {
	if a.socket != "" {
		return "unix:" + a.socket
	}
	return a.url.Redacted()
}

// with returns the URL with additional query parameters.
func (a Address) with(query url.Values) string {
	u := *a.url
	all := u.Query()
	for key, values := range query {
		all[key] = values
	}
	u.RawQuery = all.Encode()
	return u.String()
}
