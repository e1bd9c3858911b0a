// Package version is the command "meanwhile version".
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// A Command is "meanwhile version", which has no settings.
type Command struct{}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Prints the version of the module, the revision of the repository with its time, and the version of Go. The revision is
missing if the program was not built in a clone of the repository.`
}

// Run prints the version and build information of the program.
func (*Command) Run(streams probe.Streams) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	_, err := fmt.Fprint(streams.Out, text(info))
	return err
}

// Line returns the name and the version of the program in one line.
func Line() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return "meanwhile " + number(info)
}

// number returns the version of the module, or (devel) if it is unknown.
func number(info *debug.BuildInfo) string { return cmp.Or(info.Main.Version, "(devel)") }

// text returns the build information of a program.
func text(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	var b strings.Builder
	fmt.Fprintf(&b, "meanwhile %s\n", number(info))
	if revision := settings["vcs.revision"]; revision != "" {
		fmt.Fprintf(&b, "revision %s of %s", revision, settings["vcs.time"])
		if settings["vcs.modified"] == "true" {
			b.WriteString(", with changes that are not committed")
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "built with %s for %s/%s\n", cmp.Or(info.GoVersion, runtime.Version()), runtime.GOOS, runtime.GOARCH)
	return b.String()
}
