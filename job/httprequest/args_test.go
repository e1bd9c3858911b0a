package httprequest

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseArgs(t *testing.T) {
	text := `{"method":"post","url":"https://me:pw@example.com/a?b=c#d","headers":{"x-id":"7"},"json":{"n": 1},
		"expect":[201,"300-399"],"timeout":1.5}`
	a, err := ParseArgs([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := Args{
		Method: "post", URL: "https://me:pw@example.com/a?b=c#d", Headers: map[string]string{"x-id": "7"},
		JSON: json.RawMessage(`{"n": 1}`), Expect: Statuses{{201, 201}, {300, 399}}, Timeout: Duration(1500 * time.Millisecond),
	}
	if !reflect.DeepEqual(a, want) {
		t.Errorf("got %+v, want %+v", a, want)
	}
	request, err := a.request(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := request.Method+" "+request.URL.Redacted(), "POST https://me:xxxxx@example.com/a?b=c"; got != want {
		t.Errorf("got request %q, want %q", got, want)
	}
	if got, want := request.Header.Get("Content-Type"), "application/json"; got != want {
		t.Errorf("got content type %q, want %q", got, want)
	}
}

func TestParseArgsErrors(t *testing.T) {
	long := strings.Repeat("x", 40<<10)
	tests := []struct{ args, want string }{
		{`[]`, `the args are of type array; give an object`},
		{`null`, `"url": not given`},
		{`{}`, `"url": not given`},
		{`{"url":7}`, `"url" is of type number; give one of type string`},
		{`{"url":"https://a","headers":[]}`, `"headers" is of type array; give one of type object`},
		{`{"url":"https://a","header":{}}`, `unknown field "header"`},
		{`{"url":"example.com"}`, `"url": has no scheme`},
		{`{"url":"ftp://example.com"}`, `"url": has scheme "ftp", which is neither`},
		{`{"url":"https:///x"}`, `"url": has no host`},
		{`{"url":"https://a:0"}`, `"url": has port 0, which is not`},
		{`{"url":"https://a b"}`, `"url": has a space or a control character`},
		{`{"url":"https://me:secret@a/%zz"}`, `"url": not well-formed`},
		{`{"url":"https://` + long + `"}`, `"url": longer than`},
		{`{"url":"https://a","method":"GE T"}`, `"method": not a method`},
		{`{"url":"https://a","method":"` + strings.Repeat("M", 257) + `"}`, `"method": not a method`},
		{`{"url":"https://a","method":"connect"}`, `"method": CONNECT`},
		{`{"url":"https://a","headers":{"X:":"secret"}}`, `"headers": "X:" is not a valid name`},
		{`{"url":"https://a","headers":{"X":"secret\r\nY: 1"}}`, `"headers": the value of X has a control`},
		{`{"url":"https://a","headers":{"content-length":"secret"}}`, `"headers": Content-Length is set by the connection`},
		{`{"url":"https://a","headers":{"X-A":"1","x-a":"2"}}`, `"headers": X-A is given twice`},
		{`{"url":"https://a","headers":{"Host":"a/secret"}}`, `"headers": the value of Host`},
		{`{"url":"https://a","headers":{"X":"` + long + `"}}`, `"headers": 40961 bytes`},
		{`{"url":"https://a","body":"x","json":1}`, `"body" and "json": choose one`},
		{`{"url":"https://a","timeout":"2h"}`, `"timeout": 2h0m0s: give up to`},
		{`{"url":"https://a","timeout":"-1s"}`, `"timeout": -1s`},
		{`{"url":"https://a","timeout":"soon"}`, `"soon" is not a duration`},
		{`{"url":"https://a","timeout":1e300}`, `1e300 is not a duration`},
		{`{"url":"https://a","expect":200}`, `"expect" is of type number; give one of type array`},
		{`{"url":"https://a","expect":["2xx"]}`, `"2xx" is not a status`},
		{`{"url":"https://a","expect":[99]}`, `"expect": 99 to 99`},
		{`{"url":"https://a","expect":["300-200"]}`, `"expect": 300 to 200`},
	}
	for _, test := range tests {
		_, err := ParseArgs([]byte(test.args))
		switch {
		case err == nil:
			t.Errorf("%.60s: got no error, want %q", test.args, test.want)
		case !strings.Contains(err.Error(), test.want):
			t.Errorf("%.60s: got %q, want %q", test.args, err, test.want)
		case strings.Contains(err.Error(), "secret"):
			t.Errorf("%.60s: the error shows a secret: %v", test.args, err)
		}
	}
}

// FuzzArgs checks that accepted args make a request that corresponds to them, and survive a round trip through JSON.
func FuzzArgs(f *testing.F) {
	f.Add(`{"url":"https://me:pw@example.com:8080/a?b=c#d","method":"PUT","headers":{"a":"b","Host":"c:1"},"body":"x","expect":[200,"300-399"],"timeout":"3s"}`)
	f.Add(`{"url":"http://[::1%25eth0]/","json":[1,2,{"a":null}],"timeout":0.25}`)
	f.Add(`{"url":"http://a","expect":["200"],"headers":{"X":"\t"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseArgs([]byte(text))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("the error has control characters: %q", err)
			}
			return
		}
		request, err := a.request(context.Background())
		if err != nil {
			t.Fatalf("accepted args make no request: %v", err)
		}
		if s := request.URL.Scheme; s != "http" && s != "https" || request.URL.Host == "" {
			t.Errorf("request for %v", request.URL)
		}
		for name := range request.Header {
			if reserved[name] || name != http.CanonicalHeaderKey(name) {
				t.Errorf("request with header %q", name)
			}
		}
		again, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseArgs(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if final, _ := json.Marshal(b); string(final) != string(again) {
			t.Errorf("got %s, then %s", again, final)
		}
	})
}
