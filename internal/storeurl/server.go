package storeurl

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// A server is the URL of a server, split into parts that are still escaped.
type server struct {
	scheme   string
	user     string // with the @, if there is one
	password bool
	hosts    string // host:port, or several separated by commas
	path     string // with the slash
}

// String returns the URL without password and query.
func (s server) String() string {
	if s.password {
		return s.scheme + "://" + s.user + ":" + hidden + "@" + s.hosts + s.path
	}
	if s.user != "" {
		return s.scheme + "://" + s.user + "@" + s.hosts + s.path
	}
	return s.scheme + "://" + s.hosts + s.path
}

const remedy = ": percent-encode what is special in a user, password or database: % is %25, # is %23, / is %2F, ? is %3F, @ is %40"

var (
	errForm    = errors.New("it is not of the form postgres://user:password@host:5432/database, or redis://user:password@host:6379/0")
	errControl = errors.New("it has a line break or another control character in it")
	errEscape  = errors.New("a % has no two hexadecimal digits behind it" + remedy)
	errHash    = errors.New("it has a # in it" + remedy)
	errAt      = errors.New("it has an @ behind a second one, or behind a / or ?" + remedy)
	errPort    = errors.New("what follows the : of a host is not a port number; a user and a password end with an @" + remedy)
	errQuery   = errors.New("behind the ? it is not of the form KEY=VALUE&KEY=VALUE" + remedy + ", & is %26")
)

var (
	portPattern = regexp.MustCompile(`^[0-9]*$`)
	keyPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)
	brackets    = regexp.MustCompile(`^\[[0-9A-Fa-f:.%A-Za-z_-]+\]`)
)

// parseServer parses a URL. It is stricter than libpq and net/url, which disagree about where a password with a #, /, ? or @ ends.
func parseServer(text string) (server, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != Scheme(text) {
		return server{}, errForm
	}
	s := server{scheme: scheme}
	switch {
	case strings.ContainsFunc(rest, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return server{}, errControl
	case !isEscaped(rest):
		return server{}, errEscape
	case strings.Contains(rest, "#"):
		return server{}, errHash
	}
	if at := strings.IndexByte(rest, '@'); at >= 0 {
		if strings.LastIndexByte(rest, '@') != at || strings.ContainsAny(rest[:at], "/?") {
			return server{}, errAt
		}
		s.user, _, s.password = strings.Cut(rest[:at], ":")
		rest = rest[at+1:]
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	s.hosts = rest
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		s.hosts, s.path = rest[:slash], rest[slash:]
	}
	for host := range strings.SplitSeq(s.hosts, ",") {
		if err := checkHost(host); err != nil {
			return server{}, err
		}
	}
	database, _ := url.PathUnescape(strings.TrimPrefix(s.path, "/"))
	if err := checkSetting("database", database); err != nil {
		return server{}, err
	}
	if hasQuery {
		if err := checkQuery(query); err != nil {
			return server{}, err
		}
	}
	return s, nil
}

func isEscaped(text string) bool {
	_, err := url.PathUnescape(text)
	return err == nil
}

func checkHost(text string) error {
	name := brackets.FindString(text)
	_, port, _ := strings.Cut(text[len(name):], ":")
	if name == "" {
		name, _, _ = strings.Cut(text, ":")
	} else if after := text[len(name):]; after != "" && after[0] != ':' {
		return errPort
	}
	if !portPattern.MatchString(port) {
		return errPort
	}
	name, _ = url.PathUnescape(name)
	return checkSetting("host", name)
}

func checkQuery(query string) error {
	for pair := range strings.SplitSeq(query, "&") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || !keyPattern.MatchString(key) {
			return errQuery
		}
		value, _ = url.PathUnescape(value)
		if err := checkSetting(key, value); err != nil {
			return err
		}
	}
	return nil
}
