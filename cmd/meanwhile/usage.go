package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A flagError matches an error text of kong about a value, and has the wording for it.
type flagError struct {
	text    *regexp.Regexp
	instead string
}

// flagErrors are compiled only when there is an error, not whenever a command starts.
func flagErrors() []flagError {
	return []flagError{
		{regexp.MustCompile(`expected a valid \d+ bit u?int but got ("[^"]*")`), `$1 is not a whole number`},
		{regexp.MustCompile(`expected a float but got ("[^"]*")(?: \(\w+\))?`), `$1 is not a number`},
		{regexp.MustCompile(`expected duration but got ("[^"]*"): time: (?:invalid|missing unit in|unknown unit "[^"]*" in) duration "[^"]*"`), `$1 is not a time such as 500ms, 10s or 2h`},
		{regexp.MustCompile(`bool value must be true, 1, yes, false, 0 or no but got ("[^"]*")`), `$1 is neither true nor false`},
		{regexp.MustCompile(`expected \w+ value but got ("-[^"]*") \((?:short|long) flag\); perhaps try --\S+=("[^"]*")\?`), `$1 looks like a flag; if it is the value, write it after =`},
		{regexp.MustCompile(`expected \w+ value but got "EOL" \(<EOL>\)|missing value, expecting ".*"$`), `its value is missing`},
		{regexp.MustCompile(` \(from envar (\w+)=.*\)$`), ` (from the variable $1)`},
	}
}

// plainly returns an error of kong in the wording of this command's flags: the value, and what is allowed.
func plainly(err error) error {
	text := err.Error()
	oneOf := regexp.MustCompile(`^(?:(--\S+)|\[?<\w+>\]?) must be one of ("[^ ]*") but got ("[^"]*")`)
	if m := oneOf.FindStringSubmatch(text); m != nil {
		return errors.New(strings.TrimPrefix(m[1]+": ", ": ") + m[3] + " is not one of " + list(m[2]))
	}
	for _, e := range flagErrors() {
		text = e.text.ReplaceAllString(text, e.instead)
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

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

// list converts "","a","b","c" to a, b and c.
func list(quoted string) string {
	var names []string
	for name := range strings.SplitSeq(quoted, ",") {
		if name = strings.Trim(name, `"`); name != "" {
			names = append(names, name)
		}
	}
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
