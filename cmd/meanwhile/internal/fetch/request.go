package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"unicode"
)

const maxBody = 100 << 20 // bytes of a request body, which is kept in memory

// token matches the characters that HTTP allows for a method and a header name.
var token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// A template creates the requests, which differ only in their URL.
type template struct {
	method string
	header http.Header
	host   string // replaces the URL's host; empty for none
	body   []byte // nil for none
}

func newTemplate(c *Command) (*template, error) {
	r := &template{header: http.Header{"User-Agent": {cmp.Or(c.UserAgent, userAgent())}}}
	body, err := requestBody(c)
	if err != nil {
		return nil, err
	}
	r.body = body
	r.method = http.MethodGet
	if body != nil {
		r.method = http.MethodPost
		r.header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if c.Head {
		r.method = http.MethodHead
	}
	r.method = cmp.Or(c.Request, r.method)
	if !token.MatchString(r.method) {
		return nil, fmt.Errorf("--request %q is not a method", r.method)
	}
	given := make(map[string]bool)
	for _, line := range c.Header {
		if err := r.setHeader(line, given); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// setHeader parses a line as curl does: "Name: value", "Name:" to omit the header, "Name;" for an empty one. An error contains
// only the part before the colon; the value may be a secret.
func (r *template) setHeader(line string, given map[string]bool) error {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		if name, ok = strings.CutSuffix(line, ";"); !ok {
			return errors.New(`--header: give "Name: value"`)
		}
	}
	name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
	if !token.MatchString(name) || strings.ContainsFunc(value, unicode.IsControl) {
		return fmt.Errorf("--header %q: this header cannot be sent", name)
	}
	remove := value == "" && !strings.HasSuffix(line, ";")
	switch {
	case name == "Host":
		r.host = value
	case remove && name == "User-Agent":
		r.header[name] = []string{""} // net/http then omits the header
	case remove:
		r.header.Del(name)
	case !given[name]:
		r.header.Set(name, value)
	default:
		r.header.Add(name, value)
	}
	given[name] = true
	return nil
}

// make returns the request for a URL.
func (r *template) make(ctx context.Context, u *url.URL) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, "", body)
	if err != nil {
		return nil, err
	}
	own := *u // a copy, since net/http reads it concurrently
	request.URL, request.Host = &own, cmp.Or(r.host, u.Host)
	request.Header = r.header.Clone()
	return request, nil
}

func requestBody(c *Command) ([]byte, error) {
	var parts [][]byte
	for _, data := range c.Data {
		part, file, err := readData("--data", data)
		if err != nil {
			return nil, err
		}
		if file {
			part = slices.DeleteFunc(part, func(b byte) bool { return b == '\n' || b == '\r' || b == 0 })
		}
		parts = append(parts, part)
	}
	for _, data := range c.DataBinary {
		part, _, err := readData("--data-binary", data)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if parts == nil {
		return nil, nil
	}
	return append([]byte{}, bytes.Join(parts, []byte("&"))...), nil
}

// readData returns the data of a flag, and whether it came from a file.
func readData(flag, data string) (part []byte, file bool, err error) {
	name, file := strings.CutPrefix(data, "@")
	if !file {
		return []byte(data), false, nil
	}
	if name == "-" {
		return nil, true, fmt.Errorf("%s @-: standard input is for URLs; give a file", flag)
	}
	f, err := openRegular(name)
	if err != nil {
		return nil, true, fmt.Errorf("%s: %w", flag, err)
	}
	defer func() { _ = f.Close() }()
	part, err = io.ReadAll(io.LimitReader(f, maxBody+1))
	switch {
	case err != nil:
		return nil, true, fmt.Errorf("%s: %w", flag, err)
	case len(part) > maxBody:
		return nil, true, fmt.Errorf("%s: %s is longer than %d bytes", flag, name, maxBody)
	}
	return part, true, nil
}

func userAgent() string {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	version = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".-+", r)) {
			return -1
		}
		return r
	}, version)
	return "meanwhile/" + cmp.Or(version, "devel")
}
