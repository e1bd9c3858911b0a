package fetch

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		text string
		want time.Duration
	}{
		{"", -1},
		{"0", 0},
		{"120", 2 * time.Minute},
		{"-5", -1},
		{"soon", -1},
		{"Sun, 01 Mar 2026 12:00:30 GMT", 30 * time.Second},
		{"Sun, 01 Mar 2026 11:00:00 GMT", 0},
		{"9223372036854775807", 100 * 365 * 24 * time.Hour},
	}
	for _, test := range tests {
		if got := retryAfter(test.text, now); got != test.want {
			t.Errorf("retryAfter(%q) = %v, want %v", test.text, got, test.want)
		}
	}
}

func TestWorthwhile(t *testing.T) {
	tests := []struct {
		err  error
		want bool
	}{
		{&statusError{status: 500}, true},
		{&statusError{status: 503}, true},
		{&statusError{status: 599}, true},
		{&statusError{status: 429}, true},
		{&statusError{status: 408}, true},
		{&statusError{status: 404}, false},
		{&statusError{status: 401}, false},
		{&timeoutError{}, true},
		{io.ErrUnexpectedEOF, true},
		{&net.DNSError{IsNotFound: true}, false},
		{&net.DNSError{IsTemporary: true}, true},
		{&tls.CertificateVerificationError{}, false},
		{&tooLongError{}, false},
		{&finalError{classRequest, errors.New("x")}, false},
	}
	for _, test := range tests {
		if got := worthwhile(test.err); got != test.want {
			t.Errorf("worthwhile(%#v) = %v, want %v", test.err, got, test.want)
		}
		if !errors.Is(classify(test.err), test.err) {
			t.Errorf("mark(%#v) lost it", test.err)
		}
	}
}
