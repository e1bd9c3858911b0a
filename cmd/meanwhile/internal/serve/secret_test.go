package serve

import (
	"bytes"
	"testing"
)

func TestTypePassword(t *testing.T) {
	for _, test := range []struct{ first, second, want string }{{"a", "a", "a"}, {"a", "b", ""}} {
		var said bytes.Buffer
		typed := []string{test.first, test.second}
		got, err := typePassword(&said, func() ([]byte, error) {
			text := typed[0]
			typed = typed[1:]
			return []byte(text), nil
		})
		if string(got) != test.want || (err == nil) != (test.want != "") || said.String() != "Password: \nAgain: \n" {
			t.Errorf("%+v: got %q, %v; it said %q", test, got, err, &said)
		}
	}
}
