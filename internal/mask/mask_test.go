package mask_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/mask"
)

func TestJSON(t *testing.T) {
	m := mask.New([]string{"api_key", "password", "password"})
	for text, want := range map[string]string{
		`{"z":1.50,"apiKey":"s","a":[{"API-KEY":{"deep":[1]}},null,true]}`: `{"z":1.50,"apiKey":"•••","a":[{"API-KEY":"•••"},null,true]}`,
		`{"key":"api_key","n":12345678901234567890}`:                       `{"key":"api_key","n":12345678901234567890}`,
		`"<b>"`:        `"<b>"`,
		``:             ``,
		`{"a":`:        `"{\"a\":"`,
		`password=s {`: `"password=••• {"`,
	} {
		if got := string(m.JSON([]byte(text))); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := new(mask.Mask).JSON([]byte(`{"password":1}`)); string(got) != `{"password":1}` {
		t.Errorf("the zero mask returns %s", got)
	}
}

func TestText(t *testing.T) {
	m := mask.New(mask.Default)
	for text, want := range map[string]string{
		`GET /?api_key=s3&x=1: 404`:               `GET /?api_key=•••&x=1: 404`,
		`Authorization: Bearer s3.t-u, x`:         `Authorization: •••, x`,
		`{"password":"a \"b","user":"u"}`:         `{"password":•••,"user":"u"}`,
		`said "{\"password\":\"s3\",\"user\":1}"`: `said "{\"password\":•••,\"user\":1}"`,
		`no keys to hide`:                         `no keys to hide`,
	} {
		if got := m.Text(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// FuzzJSON hides a secret in arbitrary JSON.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `[[]]`, `"x"`, `1e400`, `{"a":{"a":""}}`, `{"\ud800":1}`} {
		f.Add(seed)
	}
	m := mask.New([]string{"secret"})
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "hunter2") {
			t.Skip()
		}
		if json.Valid([]byte(text)) {
			text = `{"deep":[{"Secret":{"x":["hunter2"]},"rest":` + text + `}]}`
		}
		got := m.JSON([]byte(text))
		if len(text) > 0 && !json.Valid(got) || strings.Contains(string(got), "hunter2") {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}
