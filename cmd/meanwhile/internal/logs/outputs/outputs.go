// Package outputs creates outputs of logs from URLs.
package outputs

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/loki"
	"github.com/meanwhile-go/meanwhile/logs/nats"
	"github.com/meanwhile-go/meanwhile/logs/opensearch"
	"github.com/meanwhile-go/meanwhile/logs/otlp"
)

// Kinds describes the URLs that Open accepts, for messages.
const Kinds = "otlp://HOST:4318, opensearch+https://HOST:9200/INDEX, victorialogs://HOST:9428, loki://HOST:3100 or nats://HOST:4222/STREAM"

// An Output is an output with a name: its URL without user, password, query and fragment.
type Output struct {
	forward.Output
	Name string // with placeholders such as {date} as they are written
	ID   string // the same, percent-encoded
}

// Open returns the output for a URL. otlp://, opensearch://, victorialogs:// and loki:// use HTTP; with the suffix +https, HTTPS.
// The secret, if any, is sent as the Authorization header, or to NATS as a token. Open does not connect.
func Open(text, secret string) (Output, error) {
	where, err := url.Parse(text)
	if err != nil { // its text quotes the URL
		return Output{}, errors.New("it is not a URL")
	}
	if where.Host == "" { // the secret may be in the path then
		return Output{}, errors.New("it has no host: give " + Kinds)
	}
	name := *where
	name.User, name.RawQuery, name.Fragment = nil, "", ""
	out := Output{ID: name.String()}
	out.Name = strings.NewReplacer("%7B", "{", "%7D", "}").Replace(out.ID)
	if out.Output, err = open(where, secret); err != nil {
		return Output{}, fmt.Errorf("%s: %w", out.Name, err)
	}
	return out, nil
}

func open(where *url.URL, secret string) (forward.Output, error) {
	kind, scheme, _ := strings.Cut(where.Scheme, "+")
	if kind == "nats" || kind == "tls" {
		return openNATS(where, secret)
	}
	if scheme == "" {
		scheme = "http"
	}
	if scheme != "http" && scheme != "https" {
		return nil, errors.New("give " + Kinds)
	}
	where.Scheme = scheme
	header := http.Header{}
	if secret != "" {
		header.Set("Authorization", secret)
	}
	switch kind {
	case "otlp":
		return opened(otlp.NewOutput(where.String(), header))
	case "loki":
		return opened(loki.New(where.String(), header))
	case "victorialogs":
		where.Path = path.Join("/", where.Path, "insert/elasticsearch")
		where.RawQuery = strings.Trim(where.RawQuery+"&_msg_field=message&_time_field=@timestamp&_stream_fields=service.name", "&")
		return opened(opensearch.New(opensearch.Config{URL: where.String(), Header: header}))
	case "opensearch", "elasticsearch":
		var index string
		where.Path, index = path.Split(where.Path)
		where.RawPath = ""
		return opened(opensearch.New(opensearch.Config{URL: where.String(), Index: index, Header: header}))
	}
	return nil, errors.New("give " + Kinds)
}

func openNATS(where *url.URL, secret string) (forward.Output, error) {
	query := where.Query()
	c := nats.Config{Stream: strings.Trim(where.Path, "/"), Subject: query.Get("subject")}
	for key := range query {
		if key != "subject" && key != "create" {
			return nil, fmt.Errorf("NATS has no setting %.40q: its settings are subject and create", key)
		}
	}
	if text := query.Get("create"); text != "" {
		create, err := strconv.ParseBool(text)
		if err != nil {
			return nil, errors.New("create is true or false")
		}
		c.Create = create
	}
	if secret != "" {
		where.User = url.User(secret)
	}
	server := url.URL{Scheme: where.Scheme, User: where.User, Host: where.Host}
	c.URL = server.String()
	return opened(nats.New(c))
}

// opened returns a nil interface if there is an error.
func opened[T forward.Output](output T, err error) (forward.Output, error) {
	if err != nil {
		return nil, err
	}
	return output, nil
}
