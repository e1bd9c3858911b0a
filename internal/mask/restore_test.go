package mask_test

import (
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/mask"
)

// TestRestore: a hidden value that was not edited is restored, only in its own place.
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

// TestRestoreIsForTheSameElement: a value is not restored into another element of an array, although it has the same index.
func TestRestoreIsForTheSameElement(t *testing.T) {
	m := mask.New([]string{"password"})
	const original = `{"to":[{"host":"a","in":{"password":"s1"}},{"host":"b","password":"s2","port":1},"c"]}`
	for text, want := range map[string]string{
		`{"to":[{"host":"a","in":{"password":"•••"}},{"host":"b","password":"•••","port":1},"d"]}`:      `{"to":[{"host":"a","in":{"password":"s1"}},{"host":"b","password":"s2","port":1},"d"]}`,
		`{"to":[{"host":"a","in":{"password":"•••"}},{"host":"e","password":"new"},"c"]}`:               `{"to":[{"host":"a","in":{"password":"s1"}},{"host":"e","password":"new"},"c"]}`,
		`{"to":[{"host":"b","password":"new","port":1}],"n":"•••"}`:                                     `{"to":[{"host":"b","password":"new","port":1}],"n":"•••"}`,
		`{"to":[{"host":"b","password":"•••","port":1},{"host":"a","in":{"password":"•••"}},"c"]}`:      "",
		`{"to":[{"host":"a","in":{"password":"•••"}},{"host":"e","password":"•••","port":1},"c"]}`:      "",
		`{"to":[{"host":"a","in":{"password":"•••"}},{"host":"b","password":"•••"},"c"]}`:               "",
		`{"to":[{"host":"a","in":{"password":"•••","z":1}},{"host":"b","password":"new"},"c"]}`:         "",
		`{"to":[{"host":"b","password":"•••","port":1}]}`:                                               "",
		`{"to":[{"host":"a","in":{"password":"•••"}},{"host":"b","password":"new","port":1},"c",null]}`: "",
	} {
		got, err := m.Restore([]byte(text), []byte(original))
		if (err != nil) != (want == "") || err == nil && string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), `write the value of "password"`) {
			t.Errorf("%s: the error has no remedy: %v", text, err)
		}
	}
}

// TestRestoreIsForTheSameServer: a person who may change args cannot have a hidden value sent to their own server.
func TestRestoreIsForTheSameServer(t *testing.T) {
	m := mask.New([]string{"authorization"})
	const original = `{"url":"https://api.example.com/a","headers":{"Authorization":"s1"}}`
	for text, wrong := range map[string]string{
		`{"url":"https://API.example.com/b?c=d","headers":{"Authorization":"•••"}}`:                      "",
		`{"url":"https://evil.example/a","headers":{"Authorization":"new"}}`:                             "",
		`{"url":"https://evil.example/a","headers":{"Authorization":"•••"}}`:                             "https://evil.example ",
		`{"url":"https://api.example.com@evil.example/a","headers":{"Authorization":"•••"}}`:             "https://evil.example ",
		`{"url":"https://api.example.com:8443/a","headers":{"Authorization":"•••"}}`:                     "https://api.example.com:8443 ",
		`{"url":"http://api.example.com/a","headers":{"Authorization":"•••"}}`:                           "http://api.example.com ",
		`{"url":"https://api.example.com/a","all":["//evil.example"],"headers":{"Authorization":"•••"}}`: "//evil.example ",
	} {
		got, err := m.Restore([]byte(text), []byte(original))
		if (err != nil) != (wrong != "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: got %s, %v, want an error with %q in it", text, got, err, wrong)
		}
	}
}
