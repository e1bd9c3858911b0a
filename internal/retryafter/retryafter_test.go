package retryafter_test

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/retryafter"
)

func TestParse(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"", 0, false},
		{"0", 0, true},
		{"120", 2 * time.Minute, true},
		{"-5", 0, false},
		{"+5", 0, false},
		{"1.5", 0, false},
		{"soon", 0, false},
		{"Sun, 01 Mar 2026 12:00:30 GMT", 30 * time.Second, true},
		{"Sunday, 01-Mar-26 12:00:30 GMT", 30 * time.Second, true},
		{"Sun, 01 Mar 2026 11:00:00 GMT", 0, true},
		{"Fri, 31 Dec 9999 23:59:59 GMT", retryafter.Most, true},
		{"18446744073709551615", retryafter.Most, true},
		{"18446744073709551616", retryafter.Most, true},
		{"184467440737095516160000000000", retryafter.Most, true},
	}
	for _, test := range tests {
		if got, ok := retryafter.Parse(test.value, now); got != test.want || ok != test.ok {
			t.Errorf("%q: got %v, %v, want %v, %v", test.value, got, ok, test.want, test.ok)
		}
	}
}
