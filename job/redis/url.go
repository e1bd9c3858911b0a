package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/internal/storeurl"
)

var schemes = []string{"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster", "unix"}

// A place is the address of a store, with the settings to connect to it.
type place struct {
	scheme         string   // without the second s of rediss
	tls            bool     // for all connections
	hosts          []string // host:port, or the path of a socket
	user, password string
	db             int
	master         string // name of the primary, for Sentinel
	sentinelUser   string // for the Sentinels, which know other users than the primary
	sentinelPass   string
	name           string // of the store
	durable        bool
	shown          string // address without the password
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// parseURL parses the URL of a store. Its errors show nothing of it but names.
func parseURL(address string) (*place, error) {
	p := &place{name: DefaultName, durable: true, shown: storeurl.Redacted(address)}
	if err := p.setScheme(strings.ToLower(storeurl.Scheme(address))); err != nil {
		return nil, err
	}
	if err := storeurl.Check(address); err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(address, "://")
	if at := strings.IndexByte(rest, '@'); at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		p.user, _ = url.PathUnescape(user) // storeurl.Check has unescaped it without an error
		p.password, _ = url.PathUnescape(password)
		rest = rest[at+1:]
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, path, _ := strings.Cut(rest, "/")
	if err := p.setQuery(query); err != nil {
		return nil, err
	}
	return p, p.setHosts(hosts, path)
}

// checkURL returns an error for a URL that Open would refuse.
func checkURL(address string) error {
	_, err := parseURL(address)
	return err
}

// setScheme sets the scheme. An unknown one could be meant to use TLS.
func (p *place) setScheme(scheme string) error {
	if !slices.Contains(schemes, scheme) {
		problem := "it has no scheme"
		if scheme != "" {
			problem = fmt.Sprintf("its scheme is %q", scheme)
		}
		return fmt.Errorf("%s: write redis:, redis+sentinel: or redis+cluster:, with TLS rediss:, rediss+sentinel: or rediss+cluster:, and unix: for a socket", problem)
	}
	p.scheme = scheme
	if rest, ok := strings.CutPrefix(scheme, "rediss"); ok {
		p.scheme, p.tls = "redis"+rest, true
	}
	return nil
}

func (p *place) setHosts(hosts, path string) error {
	if p.scheme == "unix" {
		if hosts != "" || path == "" {
			return errors.New("it names no socket: write unix:///PATH")
		}
		path, _ = url.PathUnescape(path)
		p.hosts = []string{"/" + path}
		return nil
	}
	port := "6379"
	if p.scheme == "redis+sentinel" {
		port = "26379"
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if host == "" || host[0] == ':' {
			host = "127.0.0.1" + host
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		p.hosts = append(p.hosts, host)
	}
	if len(p.hosts) > 1 && p.scheme != "redis+sentinel" && p.scheme != "redis+cluster" {
		return errors.New("it names several hosts, which only redis+cluster: and redis+sentinel: may")
	}
	if path == "" {
		return nil
	}
	db, err := strconv.Atoi(path)
	if err != nil || db < 0 {
		return errors.New("what follows the host is not the number of a database, such as /0")
	}
	return p.setDB(db)
}

func (p *place) setDB(db int) error {
	if p.scheme == "redis+cluster" && db != 0 {
		return errors.New("a cluster has only the database 0: leave the number out")
	}
	p.db = db
	return nil
}

func (p *place) setQuery(query string) error {
	if query == "" {
		return p.checkSentinel()
	}
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		value, _ = url.PathUnescape(value) // a + is one, as in the password of the primary
		switch key {
		case "name":
			if len(value) > 64 || !namePattern.MatchString(value) {
				return errors.New("its name is not 1 to 64 letters, digits, and the characters _ . -")
			}
			p.name = value
		case "durable":
			if value != "yes" && value != "no" {
				return errors.New("durable is neither yes nor no")
			}
			p.durable = value == "yes"
		case "master":
			p.master = value
		case "sentinel_username":
			p.sentinelUser = value
		case "sentinel_password":
			p.sentinelPass = value
		case "db":
			db, err := strconv.Atoi(value)
			if err != nil || db < 0 || p.scheme != "unix" {
				return errors.New("db is for unix: alone, and a number; elsewhere the number stands behind the host, such as /0")
			}
			p.db = db
		default:
			// It is not shown, since it may be the rest of a password that has a & in it.
			return errors.New("it has an unknown parameter: known are name, durable, master, sentinel_username, sentinel_password, and db; & in a value is %26")
		}
	}
	return p.checkSentinel()
}

func (p *place) checkSentinel() error {
	switch isSentinel := p.scheme == "redis+sentinel"; {
	case isSentinel != (p.master != ""):
		return errors.New("master=NAME says which server is meant, for redis+sentinel: and for no other")
	case !isSentinel && p.sentinelUser+p.sentinelPass != "":
		return errors.New("sentinel_username and sentinel_password are for redis+sentinel: alone")
	case p.sentinelUser != "" && p.sentinelPass == "":
		return errors.New("sentinel_username is given without sentinel_password")
	}
	return nil
}

// permissions returns the rules (ACL) that the user needs.
func (p *place) permissions() string {
	rules := "~{" + p.name + "}:* &{" + p.name + "}:wake +@all -@dangerous +info"
	if p.scheme == "redis+sentinel" {
		rules += " +role"
	}
	return rules
}

// connect creates a client.
func (p *place) connect() (rueidis.Client, error) {
	o := rueidis.ClientOption{
		// Read from each connection at all times. Otherwise an idle connection would not notice that its server has ended, and the next call would
		// fail.
		AlwaysPipelining: true,
		InitAddress:      p.hosts, Username: p.user, Password: p.password, SelectDB: p.db,
		DisableCache: true, DisableRetry: true, ForceSingleClient: p.scheme != "redis+cluster",
		Dialer: net.Dialer{Timeout: 5 * time.Second, KeepAlive: time.Second}, ConnWriteTimeout: ioTimeout,
		ClientSetInfo: rueidis.DisableClientSetInfo,
	}
	if p.tls {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} // each server has to show a certificate for the host that is dialed
	}
	switch p.scheme {
	case "redis+sentinel":
		o.ForceSingleClient = false
		o.Sentinel = rueidis.SentinelOption{
			MasterSet: p.master, Username: p.sentinelUser, Password: p.sentinelPass, Dialer: o.Dialer, TLSConfig: o.TLSConfig,
		}
	case "unix":
		o.DialCtxFn = func(ctx context.Context, path string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.DialContext(ctx, "unix", path)
		}
	}
	return rueidis.NewClient(o)
}
