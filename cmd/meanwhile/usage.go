package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
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

// noCommand matches kong's errors about an argument that it has no use for, and about a missing command.
var noCommand = regexp.MustCompile(`^(?:unexpected argument (.*?)(?:, did you mean .*\?)?|expected (?:one of )?".*)$`)

// nameCommands returns an error about an unknown or missing command of a node with the commands that may be meant, or all. Kong's own
// suggestions are far from what was given.
func nameCommands(err error, node *kong.Node) error {
	m := noCommand.FindStringSubmatch(err.Error())
	if m == nil || len(node.Children) == 0 {
		return err
	}
	given := m[1]
	var all, near []string
	for _, child := range node.Children {
		all = append(all, child.Name)
		if given != "" && (strings.HasPrefix(child.Name, given) || oneEdit(child.Name, given)) {
			near = append(near, strconv.Quote(child.Name))
		}
	}
	there := strings.Join(all, ", ")
	switch {
	case given == "":
		return fmt.Errorf("a command is missing: there are %s", there)
	case len(near) == 0:
		return fmt.Errorf("unknown command %s: there are %s", given, there)
	case len(near) == 1:
		return fmt.Errorf("unknown command %s, did you mean %s?", given, near[0])
	}
	return fmt.Errorf("unknown command %s, did you mean one of %s?", given, strings.Join(near, ", "))
}

// oneEdit reports whether two words differ by one letter: another, a missing or an additional one, or two that are swapped.
func oneEdit(a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(a) <= 1 && len(b) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}
