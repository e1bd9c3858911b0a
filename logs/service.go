package logs

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxService is the longest name of a service, in bytes.
const MaxService = 128

// CheckService says why a text is no name of a service, or nil: it is 1 to [MaxService] bytes of valid UTF-8 without
// control characters. What a name would mean to a file system does not matter: stores escape it.
func CheckService(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a service has no name")
	case len(name) > MaxService:
		return fmt.Errorf("the name of a service is %d bytes long, at most %d are", len(name), MaxService)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name of a service is not UTF-8: %q", name)
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return fmt.Errorf("the name of a service has a control character: %q", name)
		}
	}
	return nil
}
