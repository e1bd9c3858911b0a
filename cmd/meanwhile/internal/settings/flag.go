package settings

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
		{regexp.MustCompile(`^expected "(<\w+>)[^"]*"$`), `the argument $1 is missing`},
		{regexp.MustCompile(`expected \w+ value but got "EOL" \(<EOL>\)|missing value, expecting ".*"$`), `its value is missing`},
		{regexp.MustCompile(` \(from envar (\w+)=.*\)$`), ` (from the variable $1)`},
	}
}

// Plainly returns an error of kong in the wording of this command's flags: the value, and what is allowed.
func Plainly(err error) error {
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

// aboutFlags matches the beginning of an error about flags.
var aboutFlags = regexp.MustCompile(`^--[a-z][a-z-]*(?:(?:, | and )--[a-z][a-z-]*)*: `)

// WithVariables adds to an error that begins with the names of flags the variables of the environment that have set them.
func WithVariables(ctx *kong.Context, err error) error {
	if err == nil {
		return nil
	}
	about := aboutFlags.FindString(err.Error())
	var names []string
	for _, flag := range ctx.Flags() {
		given := slices.ContainsFunc(ctx.Path, func(p *kong.Path) bool { return p.Flag == flag }) // on the command line or in the file
		set := slices.IndexFunc(flag.Envs, isSet)
		if !given && set >= 0 && strings.Contains(strings.NewReplacer(",", " ", ":", " ").Replace(about), "--"+flag.Name+" ") {
			names = append(names, flag.Envs[set])
		}
	}
	switch len(names) {
	case 0:
		return err
	case 1:
		return fmt.Errorf("%w (from the variable %s)", err, names[0])
	}
	return fmt.Errorf("%w (from the variables %s)", err, strings.Join(names, " and "))
}
