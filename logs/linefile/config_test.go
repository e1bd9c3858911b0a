package linefile

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
)

// The file of a service with a long name has a name that leaves space for what is added when it is rotated and compressed, and that no
// other service has. A name that is not long stays readable.
func TestPathOf(t *testing.T) {
	conf := Config{Path: "log/{service}.log"}
	for service, want := range map[string]string{
		"api": "api.log", "a/b c": "a%2fb%20c.log", "..": "%2e..log", "~": "%7e.log",
		strings.Repeat("x", logs.MaxService): strings.Repeat("x", logs.MaxService) + ".log",
	} {
		if path, _ := conf.PathOf(service); path != "log/"+want {
			t.Errorf("the file of %q is %q, want %q", service, path, want)
		}
	}
	services := make(map[string]string)
	for _, c := range []string{"é", "語"} {
		for _, end := range []string{"", "a", "b"} {
			service := strings.Repeat(c, (logs.MaxService-1)/len(c)) + end
			path, place := conf.PathOf(service)
			name := filepath.Base(path)
			if !strings.HasPrefix(name, "%") || len(name) > 200 || filepath.Base(place) != name {
				t.Errorf("the file of %q is %q, of %d bytes, at %q", service, name, len(name), place)
			}
			if other, taken := services[name]; taken {
				t.Errorf("%q and %q share the file %q", service, other, name)
			}
			services[name] = service
		}
	}
}
