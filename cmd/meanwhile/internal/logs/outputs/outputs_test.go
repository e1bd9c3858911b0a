package outputs_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/logs/outputs"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
)

func TestOpen(t *testing.T) {
	var asked *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		w.WriteHeader(http.StatusTeapot)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:hidden"))
	for _, test := range []struct{ url, secret, path, authorization, name string }{
		{"otlp://" + host, "", "/v1/logs", "", "otlp://" + host},
		{"otlp+http://" + host + "/insert/opentelemetry/v1/logs?a=hidden", "", "/insert/opentelemetry/v1/logs?a=hidden", "", "otlp+http://" + host + "/insert/opentelemetry/v1/logs"},
		{"otlp://me:hidden@" + host, "", "/v1/logs", basic, "otlp://" + host},
		{"opensearch://" + host + "/x/logs-{date}", "ApiKey hidden", "/x/_bulk", "ApiKey hidden", "opensearch://" + host + "/x/logs-{date}"},
		{"elasticsearch://" + host, "", "/_bulk", "", ""},
		{"victorialogs://" + host, "", "/insert/elasticsearch/_bulk", "", ""},
		{"loki://" + host + "/insert", "Bearer hidden", "/insert/loki/api/v1/push", "Bearer hidden", ""},
	} {
		output, err := outputs.Open(test.url, test.secret)
		if err != nil {
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		err = output.Send(t.Context(), make([]logs.Record, 1))
		if err == nil || errors.Is(err, forward.ErrRefused) || strings.Contains(err.Error()+output.Name, "hidden") {
			t.Errorf("%s: %v", test.url, err)
		}
		if asked == nil || !strings.HasPrefix(asked.URL.String(), test.path) || asked.Header.Get("Authorization") != test.authorization {
			t.Errorf("%s sent the requests %v", test.url, asked)
		}
		if test.name != "" && output.Name != test.name {
			t.Errorf("the name of %s is %s", test.url, output.Name)
		}
		if err := output.Close(); err != nil {
			t.Error(err)
		}
	}
	output, err := outputs.Open("nats://127.0.0.1:1/logs?subject=x.{service}&create=true", "hidden")
	if err != nil {
		t.Fatal(err)
	}
	if err := output.Send(t.Context(), make([]logs.Record, 1)); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("NATS: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, text := range []string{
		"", "store", "kafka://hidden@host", "otlp:", "otlp+ftp://host", "opensearch+https://hidden@host:no/", "opensearch://host/Logs",
		"otlp:me:hidden@host", "otlp:/me:hidden@host", "nats:hidden@host/s", "nats://hidden@/s", "nats://host", "nats://host/s?creat=true", "nats://host/s?create=perhaps", "nats://host/s?subject=logs.%3E",
	} {
		if _, err := outputs.Open(text, ""); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
