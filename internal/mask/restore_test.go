package mask_test

import (
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/mask"
)

// TestRestore: what was hidden and not changed gets its value back, in its own place only.
func TestRestore(t *testing.T) {
	m := mask.New([]string{"password"})
	const original = `{"user":1,"password":"s1","list":[{"Password":{"deep":"s2"}},{"n":12345678901234567890}]}`
	for text, want := range map[string]string{
		string(m.JSON([]byte(original))):        `{"list":[{"Password":{"deep":"s2"}},{"n":12345678901234567890}],"password":"s1","user":1}`,
		`{"z":1,  "password":"new"}`:            `{"z":1,  "password":"new"}`,
		`{"user":"•••"}`:                        `{"user":"•••"}`,
		`{"password":"•••","user":"<&>"}`:       `{"password":"s1","user":"<&>"}`,
		`{"other":{"password":"•••"}}`:          "",
		`{"list":[{"n":1},{"Password":"•••"}]}`: "",
		`{"password":"•••"} {}`:                 "",
		`{"password":"•••"`:                     "",
	} {
		got, err := m.Restore([]byte(text), []byte(original))
		if (err != nil) != (want == "") || err == nil && string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s1") {
			t.Errorf("%s: the error has a secret: %v", text, err)
		}
	}
}
