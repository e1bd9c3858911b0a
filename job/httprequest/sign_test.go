package httprequest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

func TestSign(t *testing.T) {
	type asked struct {
		header http.Header
		body   string
	}
	got := make(chan asked, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- asked{r.Header, string(body)}
	}))
	defer s.Close()
	store := memory.New()
	defer func() { _ = store.Close() }()
	key := []byte("a key that has enough bytes")
	encoded := "whsec_" + base64.StdEncoding.EncodeToString(key)
	parsed, err := httprequest.ParseSigningKey(encoded + "\n")
	if err != nil || string(parsed) != string(key) {
		t.Fatalf("%q was read as %q, %v", encoded, parsed, err)
	}

	signed := httprequest.Config{AllowPrivate: true, SigningKey: parsed}
	j := work(t, store, signed, httprequest.Args{Method: "POST", URL: s.URL, JSON: json.RawMessage(`{"n":1}`), Sign: true})
	a := <-got
	if j.State != job.Completed || a.header.Get("Webhook-Id") != j.ID.String() {
		t.Errorf("job %v is %s and sent the ID %q, want it completed with its own ID", j.ID, j.State, a.header.Get("Webhook-Id"))
	}
	stamp := a.header.Get("Webhook-Timestamp")
	if sent, err := strconv.ParseInt(stamp, 10, 64); err != nil || time.Since(time.Unix(sent, 0)).Abs() > time.Hour {
		t.Errorf("the timestamp is %q", stamp)
	}
	mac := hmac.New(sha256.New, key)
	io.WriteString(mac, j.ID.String()+"."+stamp+"."+a.body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); a.header.Get("Webhook-Signature") != want {
		t.Errorf("the signature is %q, want %q", a.header.Get("Webhook-Signature"), want)
	}

	for name, test := range map[string]struct {
		c    httprequest.Config
		args httprequest.Args
	}{
		"without a key": {httprequest.Config{AllowPrivate: true}, httprequest.Args{URL: s.URL, Sign: true}},
		"not asked for": {signed, httprequest.Args{URL: s.URL}},
	} {
		work(t, store, test.c, test.args)
		if a := <-got; a.header.Get("Webhook-Signature") != "" {
			t.Errorf("%s: the request is signed", name)
		}
	}
}

func TestParseSigningKey(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "has 0 bytes",
		"short":                   "has 5 bytes",
		"whsec_????":              "not base64",
		"whsec_c2hvcnQ=":          "has 5 bytes",
		strings.Repeat("a", 5000): "has 5000 bytes",
	} {
		if key, err := httprequest.ParseSigningKey(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "c2hv") {
			t.Errorf("%.20q: %q, %v, want %q", text, key, err, want)
		}
	}
}
