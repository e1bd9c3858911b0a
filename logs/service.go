package logs

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxService is the maximum length of a service name, in bytes.
const MaxService = 128

// UnknownService is the service of records that name none and come through an input without a default of its own.
const UnknownService = "unknown_service"

// FromService is the key of the attribute that keeps the original service of a record that is stored under another one: the first 256
// bytes of its name.
const FromService = "from_service"

// MaxServiceRead is the number of bytes that are read of a service name that is too long.
const MaxServiceRead = 512

// The reasons for which names are repaired, as a server counts them.
const (
	repairedLength  = "too long"
	repairedUTF8    = "not UTF-8"
	repairedControl = "control character"
)

// CheckService returns an error if a text is not a valid name of a service: 1 to [MaxService] bytes of valid UTF-8 without
// control characters. Characters that are special in file names are valid: stores escape them.
func CheckService(name string) error {
	if name == "" {
		return fmt.Errorf("a service has no name")
	}
	switch whyRepaired(name) {
	case repairedLength:
		return fmt.Errorf("the name of a service is %d bytes long, at most %d are", len(name), MaxService)
	case repairedUTF8:
		return fmt.Errorf("the name of a service is not UTF-8: %q", name)
	case repairedControl:
		return fmt.Errorf("the name of a service has a control character: %q", name)
	}
	return nil
}

func whyRepaired(name string) (reason string) {
	switch {
	case len(name) > MaxService:
		return repairedLength
	case !utf8.ValidString(name):
		return repairedUTF8
	}
	for _, r := range name {
		if unicode.IsControl(r) {
			return repairedControl
		}
	}
	return ""
}

// RepairService returns the name under which the records of a service are stored, whichever input they come through. A name that
// [CheckService] accepts stays as it is. In any other, "_" replaces each control character and each byte that is not UTF-8, and
// the name is cut after the last whole character within [MaxService] bytes. An empty name becomes [UnknownService].
//
// The reason is the one under which package logs/server counts such a record: "too long", "not UTF-8" or "control character", the first
// of them that applies. It is empty for a valid name and for an empty one.
func RepairService(name string) (repaired, reason string) {
	if name == "" {
		return UnknownService, ""
	}
	if reason = whyRepaired(name); reason == "" {
		return name, ""
	}
	b := make([]byte, 0, MaxService)
	for i, r := range name {
		c := name[i:]
		if _, size := utf8.DecodeRuneInString(c); r == utf8.RuneError && size == 1 || unicode.IsControl(r) {
			c = "_"
		} else {
			c = c[:size]
		}
		if len(b)+len(c) > MaxService {
			break
		}
		b = append(b, c...)
	}
	return string(b), reason
}
