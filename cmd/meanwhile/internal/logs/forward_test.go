//go:build unix

package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/otlp"
)

// planOf returns the plan of a command line.
func planOf(t *testing.T, arguments ...string) (*plan, error) {
	t.Helper()
	var c Serve
	parser, err := kong.New(&c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append(arguments, "--listen=", "--analogger=")); err != nil {
		return nil, err
	}
	return c.plan(slog.New(slog.DiscardHandler), probe.Streams{Out: io.Discard, Err: io.Discard})
}

func written(t *testing.T, text string) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestForward: a server forwards stored records to a server that starts later, and has one that never starts as another output.
func TestForward(t *testing.T) {
	t.Parallel()
	first, second := freeAddress(t), freeAddress(t)
	dir := t.TempDir()
	config := written(t, fmt.Sprintf("forward:\n  - to: otlp://%s\n    filter: level>=warn\n  - nats://127.0.0.1:1/nobody\n", second))
	p, err := planOf(t, "--config", config, "--http", first, "--dir", dir)
	if err != nil {
		t.Fatal(err)
	}
	if text := p.String(); !strings.Contains(text, "forward to otlp://"+second+"\n") {
		t.Errorf("the plan is %s", text)
	}
	var got logtest.Recorder
	errEnough := errors.New("enough")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = meanwhile.Supervise(ctx, func(ctx context.Context) error {
		serving := meanwhile.Go(ctx, p.serve)
		var body strings.Builder
		for n := range 1000 {
			fmt.Fprintf(&body, `{"service":"api","level":"%s","message":"%d"}`+"\n", []string{"info", "warn"}[n%2], n)
		}
		if err := until(ctx, func() bool {
			response, err := http.Post("http://"+first+jsonPath, "application/x-ndjson", strings.NewReader(body.String()))
			if err != nil {
				return false
			}
			defer response.Body.Close()
			if response.StatusCode/100 != 2 {
				t.Errorf("post: %s", response.Status)
			}
			return true
		}); err != nil {
			return err
		}
		l, err := net.Listen("tcp", second)
		if err != nil {
			return err
		}
		other := &httptest.Server{Listener: l, Config: &http.Server{Handler: otlp.Handler(func(*http.Request) input.Batcher { return &got })}}
		other.Start()
		defer other.Close()
		cursor := filepath.Join(dir, "forward", cursorName("otlp://"+second))
		if err := until(ctx, func() bool {
			text, _ := os.ReadFile(cursor)
			return strings.Contains(string(text), `"api":1001`)
		}); err != nil {
			return err
		}
		if there := p.report(p.running.Load()).Forwards["otlp://"+second]; len(there) != 1 || there[0].Service != "api" || there[0].Sent != 500 || there[0].Left != 500 || there[0].Failure != "" {
			t.Errorf("report of an output: %+v", there)
		}
		if err := until(ctx, func() bool {
			away := p.report(p.running.Load()).Forwards["nats://127.0.0.1:1/nobody"]
			return len(away) == 1 && away[0].Sent == 0 && away[0].Failure != ""
		}); err != nil {
			return fmt.Errorf("the report does not say why an output waits: %w", err)
		}
		serving.Cancel(errEnough)
		if _, err := serving.Wait(ctx); err != nil && !errors.Is(err, errEnough) {
			return err
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	for i, r := range got.Records() {
		if r.Service != "api" || r.Message != fmt.Sprint(2*i+1) || r.Level != slog.LevelWarn {
			t.Fatalf("record %d is %v", i, r)
		}
	}
	if len(got.Records()) != 500 {
		t.Errorf("%d of 500 records arrived", len(got.Records()))
	}
}

// until waits until done returns true, for events in another program or connection.
func until(ctx context.Context, done func() bool) error {
	for !done() {
		if err := meanwhile.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// TestForwardName: the name of an output has the placeholders of its URL as they are written; the name of the file with its position is that of earlier
// versions.
func TestForwardName(t *testing.T) {
	p, err := planOf(t, "--config", written(t, "forward: ['opensearch://h/logs-{date}']"), "--http", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if want := "forward to opensearch://h/logs-{date}\n"; !strings.Contains(p.String(), want) {
		t.Errorf("%s\nhas no line %s", p, want)
	}
	if got, want := p.routes.onward[0].cursor, "opensearch%3a%2f%2fh%2flogs-%257Bdate%257D"; got != want {
		t.Errorf("the file with the position is %s, want %s", got, want)
	}
}

func TestForwardSettings(t *testing.T) {
	secret := written(t, "ApiKey hidden\n")
	for text, want := range map[string]string{
		"forward: otlp://h":                                          "give a list",
		"forward: [otlp]":                                            "otlp://HOST:4318",
		"forward: [{to: 'kafka://hidden@h'}]":                        "opensearch+https://HOST:9200/INDEX",
		"forward: [otlp://h, otlp://h]":                              "two outputs are otlp://h",
		"forward: [{to: otlp://h, filter: level>=loud}]":             "level",
		"forward:\n- to: otlp://h\n  filter: [level>=warn]":          `:3: "filter": give a filter in one text`,
		"forward:\n- to: otlp://h\n  filter: {level: warn}":          `:3: "filter": give a filter in one text`,
		"forward:\n- to: otlp://h\n  filter:":                        `:3: "filter": give a filter in one text`,
		"forward: [{to: otlp://h, from: here}]":                      "give newest or oldest",
		"forward: [{to: otlp://h, where: x}]":                        "no key \"where\"",
		"forward: [{to: otlp://h, secret-file: /not/there}]":         "/not/there",
		"forward: [otlp://h, {to: otlp://h, name: b, from: newest}]": "",
		"forward: [{to: otlp://h, secret-file: " + secret + "}]":     "",
	} {
		_, err := planOf(t, "--config", written(t, text), "--http", "127.0.0.1:0")
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden")) {
			t.Errorf("%s\ngot %v, want %s", text, err, want)
		}
	}
}
