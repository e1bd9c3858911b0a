package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

var card = server.Redaction{Name: "card", Pattern: regexp.MustCompile(`\b\d{4}-\d{4}\b`), With: "[card number]"}

// Redacted values are in no file of the server, whichever input brings the record.
func TestRedactionOfAllInputs(t *testing.T) {
	byAllInputs(t, []server.Redaction{card}, func(ctx context.Context, s *server.Server, store storage.Store, all map[string]in) {
		for what, in := range all {
			in.bring(t, "pay", what+" 1234-5678")
			awaitRecord(t, ctx, store, "pay", what+" [card number]")
		}
		if got := s.Stats().Redacted["card"]; got != int64(len(all)) {
			t.Errorf("%d are counted, want %d", got, len(all))
		}
	})
}

// Redacted values are neither in the store, nor in line files, nor in their journal, whether they came by the own protocol or by other
// inputs.
func TestRedaction(t *testing.T) {
	folder := t.TempDir()
	rules := []server.Redaction{card, {Attrs: []string{"password", "http.header.*"}}}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		store, err := segment.Open(ctx, filepath.Join(folder, "store"), segment.Config{Sync: segment.OS})
		if err != nil {
			return err
		}
		defer func() { _ = store.Close() }()
		var sessions *server.Sessions
		conf := server.Config{
			Store: store, Redact: rules, Journal: filepath.Join(folder, "lines"), MaxRecord: 1000,
			Routes: []server.Route{{To: []server.Destination{{Store: true}, {File: &linefile.Config{Path: filepath.Join(folder, "all.log")}}}}},
			Listeners: []server.Listener{{Name: "own", Address: "127.0.0.1:0", Serve: func(ctx context.Context, conn net.Conn, state []byte) ([]byte, error) {
				return sessions.Serve(ctx, conn, state)
			}}},
		}
		serve(t, conf, func(ctx context.Context, s *server.Server) {
			sessions = server.NewSessions(s.Acceptor(), server.SessionConfig{})
			record := logs.Record{Time: time.Unix(1, 0), Service: "pay", Message: "pays by 1234-5678, 1234-5678", Task: "main/1234-5678", Attrs: []slog.Attr{
				slog.String("user.Password", "swordfish"), slog.Int("n", 7), slog.String("http.header.cookie", "swordfish"), slog.String("passwords", "kept"),
				slog.Any("list", json.RawMessage(`["1234-5678",{"a":1}]`)), slog.Any("number", json.RawMessage(`[1234]`)), slog.Bool("password", true),
				slog.Any("login", map[string]any{"user": 7, "Password": "swordfish", "on": []any{map[string]any{"x.password": []int{1}}}}),
				slog.Any("http", json.RawMessage(`{"header":{"cookie":["swordfish"]},"n":1.50,"url":"/1234-5678?a&b"}`)),
			}}
			want := `{"time":"1970-01-01T00:00:01Z","level":"INFO","service":"pay","message":"pays by [card number], [card number]","task":"main/[card number]","number":N,"attrs":{` +
				`"user.Password":"[redacted]","n":7,"http.header.cookie":"[redacted]","passwords":"kept","list":["[card number]",{"a":1}],"number":[1234],"password":"[redacted]",` +
				`"login":{"Password":"[redacted]","on":[{"x.password":"[redacted]"}],"user":7},` +
				`"http":{"header":{"cookie":"[redacted]"},"n":1.50,"url":"/[card number]?a&b"}}}`
			v := record.View()
			f := s.Batcher("test")
			f.Add(&v)
			if err := f.Sync(ctx); err != nil {
				t.Error(err)
			}
			sender, err := logs.NewSender("tcp://"+s.Addr("own").String(), &logs.SenderOptions{Service: "pay", Spool: logs.SpoolOff})
			if err != nil {
				t.Fatal(err)
			}
			v = record.View()
			grows := logs.View{Service: []byte("pay"), Message: []byte(strings.Repeat("1234-5678 ", 99)), Time: 2e9}
			if err := errors.Join(sender.Add(&v), sender.Add(&grows), sender.Close(ctx)); err != nil {
				t.Fatal(err)
			}
			var got []string
			for r, err := range store.Read(ctx, "pay", 1) {
				if err != nil {
					t.Fatal(err)
				}
				number := string(rune('0' + r.Number))
				got = append(got, strings.Replace(string(r.AppendJSON(nil)), `"number":`+number, `"number":N`, 1))
			}
			if len(got) != 3 || got[0] != want || got[1] != want || strings.Contains(got[2], "1234") || !strings.Contains(got[2], "bytes more]") {
				t.Errorf("got\n%s\nwant twice\n%s", strings.Join(got, "\n"), want)
			}
			if redacted := s.Stats().Redacted; redacted["card"] != 4+4+1 || redacted["rule 2"] != 12 {
				t.Errorf("counted %v", redacted)
			}
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{"swordfish", "1234-5678"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s has %s", path, secret)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A value that a client declares to be JSON, and that is not, may have any content: if there are names to redact, it is replaced as a
// whole.
func TestRedactionOfBrokenJSON(t *testing.T) {
	const broken = "\x01aj\x16" + `{"password":"swordfish` // a key, its kind, and a text behind its length
	serve(t, server.Config{Redact: []server.Redaction{{Attrs: []string{"password"}}}, Routes: toFile(filepath.Join(t.TempDir(), "x"))}, func(_ context.Context, s *server.Server) {
		var v logs.View
		v.AddEncodedAttrs([]byte(broken))
		if err := v.Check(); err != nil {
			t.Fatal(err)
		}
		f := s.Batcher("broken")
		f.Add(&v)
		if got := v.Record().Attrs; len(got) != 1 || got[0].String() != "a=[redacted]" {
			t.Errorf("got %v", got)
		}
	})
}

func TestRedactionCheck(t *testing.T) {
	for want, rule := range map[string]server.Redaction{
		"neither names of attributes nor a pattern": {},
		"matches the empty text":                    {Pattern: regexp.MustCompile(`x*`)},
		"at most 64 are":                            {Attrs: []string{"a"}, With: strings.Repeat("x", 65)},
		`"a*b" is not a valid name`:                 {Attrs: []string{"a*b"}},
		`"*" is not a valid name`:                   {Attrs: []string{"*"}},
		`"" is not a valid name`:                    {Attrs: []string{""}},
	} {
		if err := rule.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := server.New(server.Config{Routes: toFile("x"), Redact: []server.Redaction{card, {}}})
	if err == nil || !strings.Contains(err.Error(), `redaction "rule 2": it has neither`) {
		t.Errorf("got %v", err)
	}
}

// Attributes that are not redacted stay as they are, in their order.
func TestRedactionLaw(t *testing.T) {
	serve(t, server.Config{Redact: []server.Redaction{{Attrs: []string{"secret"}}}, Routes: toFile(filepath.Join(t.TempDir(), "x"))}, func(_ context.Context, s *server.Server) {
		rapid.Check(t, func(t *rapid.T) {
			var r logs.Record
			var want []string
			for range rapid.IntRange(0, 8).Draw(t, "attributes") {
				key := rapid.SampledFrom([]string{"a", "secret", "b.SECRET", "secrets", ""}).Draw(t, "key")
				value := rapid.OneOf(rapid.Just(slog.IntValue(-1)), rapid.Just(slog.StringValue("")), rapid.Just(slog.TimeValue(time.Unix(3, 4).UTC())), rapid.Just(slog.Float64Value(0.5))).Draw(t, "value")
				r.Attrs = append(r.Attrs, slog.Attr{Key: key, Value: value})
				if name := strings.ToLower(key); name == "secret" || name == "b.secret" {
					value = slog.StringValue("[redacted]")
				}
				want = append(want, slog.Attr{Key: key, Value: value}.String())
			}
			v := r.View()
			f := s.Batcher("law")
			f.Add(&v)
			got := []string(nil)
			for _, a := range v.Record().Attrs {
				got = append(got, a.String())
			}
			if !slices.Equal(got, want) {
				t.Fatalf("got %q, want %q", got, want)
			}
		})
	})
}
