package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// unknownFlag matches kong's error about an unknown flag, with the names that are similar.
var unknownFlag = regexp.MustCompile(`^unknown flag (--?)([^ ,]+)(?:, did you mean (?:one of )?(.*)\?)?$`)

// suggest adds to an error about an unknown flag the flags that may be meant, and returns other errors unchanged. It replaces kong's
// suggestions, for which all one-letter flags are similar, and -from is the flag -f.
func suggest(err error, args []string, flags []*kong.Flag) error {
	m := unknownFlag.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	dashes, name := m[1], m[2]
	if dashes == "-" {
		for _, arg := range args {
			given, _, _ := strings.Cut(arg, "=")
			if strings.HasPrefix(given, "-"+name) && slices.ContainsFunc(flags, func(f *kong.Flag) bool { return "-"+f.Name == given }) {
				return fmt.Errorf("unknown flag %s, did you mean %q?", given, "-"+given)
			}
		}
		return fmt.Errorf("unknown flag -%s", name)
	}
	var similar []string
	for candidate := range strings.SplitSeq(m[3], ", ") {
		if candidate == `"-`+name+`"` {
			similar = []string{candidate}
			break
		}
		if strings.HasPrefix(candidate, `"--`) {
			similar = append(similar, candidate)
		}
	}
	switch len(similar) {
	case 0:
		return fmt.Errorf("unknown flag --%s", name)
	case 1:
		return fmt.Errorf("unknown flag --%s, did you mean %s?", name, similar[0])
	}
	return fmt.Errorf("unknown flag --%s, did you mean one of %s?", name, strings.Join(similar, ", "))
}
