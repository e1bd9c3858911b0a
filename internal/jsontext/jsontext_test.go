package jsontext_test

import (
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/internal/jsontext"
)

// FuzzAppendString: the JSON is valid UTF-8, and decodes to the original text.
func FuzzAppendString(f *testing.F) {
	for _, text := range []string{"", "plain", "a\"b\\c\n\r\t\x00\x1b\x7f", "größe € 😀", "\xff\xc3", "a\xe2\x82", "\u2028"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		encoded := jsontext.AppendString([]byte("x"), text)[1:]
		if again := jsontext.AppendString(nil, []byte(text)); string(again) != string(encoded) {
			t.Fatalf("%q and %q", encoded, again)
		}
		if !jsontext.IsSafe(encoded) {
			t.Errorf("%q is not safe", encoded)
		}
		var got string
		if err := json.Unmarshal(encoded, &got); err != nil {
			t.Fatalf("%q: %v", encoded, err)
		}
		want := string([]rune(text)) // each bad byte becomes U+FFFD
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if strings.ContainsFunc(string(encoded), func(r rune) bool {
			return r != utf8.RuneError && !unicode.IsPrint(r) && unicode.In(r, unicode.Cc, unicode.Cf)
		}) {
			t.Errorf("%q has control characters", encoded)
		}
	})
}

func TestAppendFloat(t *testing.T) {
	for x, want := range map[float64]string{0: "0.0", -1.5: "-1.5", 1e300: "1e+300", math.Inf(1): `"+Inf"`, math.Inf(-1): `"-Inf"`} {
		if got := string(jsontext.AppendFloat(nil, x)); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%v: got %s, want %s", x, got, want)
		}
	}
}

func TestAppendValue(t *testing.T) {
	for want, value := range map[string]slog.Value{
		`"a\"b"`:                 slog.StringValue(`a"b`),
		`-5`:                     slog.Int64Value(-5),
		`18446744073709551615`:   slog.Uint64Value(math.MaxUint64),
		`0.5`:                    slog.Float64Value(0.5),
		`true`:                   slog.BoolValue(true),
		`"1m30s"`:                slog.DurationValue(90 * time.Second),
		`"1970-01-01T00:00:01Z"`: slog.TimeValue(time.Unix(1, 0)),
		`{"a":[1,2]}`:            slog.AnyValue(json.RawMessage("{\"a\":\n[1, 2]}")),
		`"{\"a\":"`:              slog.AnyValue(json.RawMessage(`{"a":`)),
		`"[1 2]"`:                slog.AnyValue([]int{1, 2}),
	} {
		if got := string(jsontext.AppendValue([]byte("x"), value)); got != "x"+want {
			t.Errorf("got %s, want x%s", got, want)
		}
	}
}
