package fetch

import (
	"encoding"
	"fmt"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	tests := []struct {
		flag encoding.TextUnmarshaler
		text string
		want string // "" means an error
	}{
		{new(limit), "64", "64 false"},
		{new(limit), "auto", "0 true"},
		{new(limit), "0", ""},
		{new(limit), "-1", ""},
		{new(limit), "many", ""},
		{new(limit), "1000001", ""},
		{new(seconds), "30", "30s"},
		{new(seconds), "0.25", "250ms"},
		{new(seconds), "1m30s", "1m30s"},
		{new(seconds), "-1", ""},
		{new(seconds), "-1s", ""},
		{new(seconds), "NaN", ""},
		{new(seconds), "1e300", ""},
		{new(size), "1000", "1000"},
		{new(size), "1k", "1024"},
		{new(size), "2MiB", "2097152"},
		{new(size), "3gb", "3221225472"},
		{new(size), "0", ""},
		{new(size), "k", ""},
		{new(size), "-5", ""},
		{new(size), "9999999999999G", ""},
		{new(rate), "50", "50 per 1s"},
		{new(rate), "50/s", "50 per 1s"},
		{new(rate), "100/m", "100 per 1m0s"},
		{new(rate), "7/h", "7 per 1h0m0s"},
		{new(rate), "0/s", ""},
		{new(rate), "5/d", ""},
	}
	for _, test := range tests {
		err := test.flag.UnmarshalText([]byte(test.text))
		var got string
		switch flag := test.flag.(type) {
		case *seconds:
			got = time.Duration(*flag).String()
		case *size:
			got = fmt.Sprint(*flag)
		case *limit:
			got = fmt.Sprint(flag.n, flag.auto)
		case *rate:
			got = fmt.Sprintf("%d per %s", flag.n, flag.per)
		}
		if (err != nil) != (test.want == "") || err == nil && got != test.want {
			t.Errorf("%T %q: got %s, %v; want %s", test.flag, test.text, got, err, test.want)
		}
	}
}
