package loki_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/loki"
)

func TestPush(t *testing.T) {
	records := []logs.Record{
		{Service: "api", Time: time.Unix(1, 5), Level: slog.LevelWarn, Message: "one\n\"two\"", Task: "main", Job: "j", Number: 7, Attrs: []slog.Attr{
			slog.Int("n", 1), slog.String("number", "ours"), slog.Duration("took", time.Second), slog.Any("ids", json.RawMessage(`[ 1 ]`)),
		}},
		{Service: "api", Time: time.Unix(2, 0), Level: slog.LevelInfo, Message: "three", Number: 8},
		{Service: "api", Time: time.Unix(3, 0), Level: slog.LevelWarn, Message: "four", Number: 9},
	}
	want := `{"streams":[{"stream":{"service":"api","level":"warn"},"values":[` +
		`["1000000005","one\n\"two\"",{"identity":"` + records[0].Identity() + `","number":"7","task":"main","job":"j","n":"1","took":"1s","ids":"[1]"}],` +
		`["3000000000","four",{"identity":"` + records[2].Identity() + `","number":"9"}]]},` +
		`{"stream":{"service":"api","level":"info"},"values":[["2000000000","three",{"identity":"` + records[1].Identity() + `","number":"8"}]]}]}`
	for status, check := range map[int]func(error) bool{
		204: func(err error) bool { return err == nil },
		400: func(err error) bool { return errors.Is(err, forward.ErrRefused) },
		429: func(err error) bool { return err != nil && !errors.Is(err, forward.ErrRefused) },
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			if got, _ := io.ReadAll(unpacked); string(got) != want || !json.Valid(got) || r.URL.Path != "/x/loki/api/v1/push" {
				t.Errorf("%s\ngot  %s\nwant %s", r.URL, got, want)
			}
			w.WriteHeader(status)
		}))
		output, err := loki.New(server.URL+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := output.Send(t.Context(), records); !check(err) {
			t.Errorf("%d: %v", status, err)
		}
		_ = output.Close()
		server.Close()
	}
	if _, err := loki.New("loki:3100", nil); err == nil || strings.Contains(err.Error(), "%!") {
		t.Errorf("no URL: %v", err)
	}
}
