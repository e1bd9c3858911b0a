package fetch

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
)

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
			t.Errorf("mark(%#v) does not wrap the error", test.err)
		}
	}
}
