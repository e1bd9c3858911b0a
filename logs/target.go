package logs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/logwire"
)

// DefaultPort is the port of this module's own protocol.
const DefaultPort = "6767"

// A target is the server that a sender connects to.
type target struct {
	address string
	tls     *tls.Config // nil: none
	key     string
	local   bool // on this machine, for which nothing is compressed by default
}

// parseTarget reads tcp://host:port or tls://host:port, with ?key=… if one is needed. Its errors do not show the key.
func parseTarget(text string, config *tls.Config, key string) (t target, err error) {
	if !strings.Contains(text, "://") {
		return t, errors.New("the address of a log server is tcp://host:port or tls://host:port: this one begins with neither")
	}
	u, err := url.Parse(text)
	if err != nil {
		return t, errors.New("the address of a log server is tcp://host:port or tls://host:port; this one cannot be read")
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = DefaultPort
	}
	query := u.Query()
	switch {
	case u.Scheme != "tcp" && u.Scheme != "tls":
		return t, fmt.Errorf("the address of a log server is tcp://host:port or tls://host:port, not %s://", u.Scheme)
	case host == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.Fragment != "":
		return t, fmt.Errorf("the address of a log server is %s://host:port; a key follows as ?key=", u.Scheme)
	}
	for name := range query {
		if name != "key" {
			return t, fmt.Errorf("the address of a log server takes ?key=, not %q", name)
		}
	}
	t = target{address: net.JoinHostPort(host, port), key: key, local: host == "localhost"}
	if query.Has("key") {
		t.key = query.Get("key")
	}
	if len(t.key) > logwire.MaxKey {
		return t, fmt.Errorf("the key for a log server is %d bytes long, at most %d are", len(t.key), logwire.MaxKey)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		t.local = ip.IsLoopback()
	}
	if u.Scheme == "tls" {
		t.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		if config != nil {
			t.tls = config.Clone()
		}
		if t.tls.ServerName == "" {
			t.tls.ServerName = host
		}
	}
	return t, nil
}

const connectTimeout = 10 * time.Second

func (t target) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	dialer := net.Dialer{KeepAlive: 15 * time.Second}
	if t.tls != nil {
		return (&tls.Dialer{NetDialer: &dialer, Config: t.tls}).DialContext(ctx, "tcp", t.address)
	}
	return dialer.DialContext(ctx, "tcp", t.address)
}
