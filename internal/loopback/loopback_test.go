package loopback_test

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/loopback"
)

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		address, host, header string
		want                  error
	}{
		{"127.0.0.1:4000", "localhost:7", "", nil},
		{"[::1]:4000", "[::1]:7", "", nil},
		{"@", "LOCALHOST", "", nil},
		{"192.0.2.7:4000", "localhost", "", loopback.ErrAddress},
		{"127.0.0.1", "localhost", "", loopback.ErrAddress},
		{"127.0.0.1:4000", "evil.example", "", loopback.ErrHost},
		{"127.0.0.1:4000", "127.0.0.1.evil.example", "", loopback.ErrHost},
		{"127.0.0.1:4000", "", "", loopback.ErrHost},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr, r.Host = test.address, test.host
		if got := loopback.Check(r); !errors.Is(got, test.want) {
			t.Errorf("from %s to %s: %v, want %v", test.address, test.host, got, test.want)
		}
	}
	r := httptest.NewRequest("GET", "http://localhost/", nil)
	r.RemoteAddr = "127.0.0.1:4000"
	r.Header.Set("X-Forwarded-For", "")
	if proxy, ok := errors.AsType[*loopback.ProxyError](loopback.Check(r)); !ok || proxy.Header != "X-Forwarded-For" {
		t.Errorf("a header of a proxy: got %v", loopback.Check(r))
	}
}
