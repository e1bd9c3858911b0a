package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestText(t *testing.T) {
	system := fmt.Sprintf(" for %s/%s\n", runtime.GOOS, runtime.GOARCH)
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "80c9bec"}, {Key: "vcs.time", Value: "2026-11-23T12:00:00Z"}, {Key: "vcs.modified", Value: modified}}
	}
	for _, test := range []struct {
		info debug.BuildInfo
		want string
	}{
		{
			debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0"}, Settings: vcs("false")},
			"meanwhile v0.1.0\nrevision 80c9bec of 2026-11-23T12:00:00Z\nbuilt with go1.26.8" + system,
		},
		{
			debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: "v0.1.0"}, Settings: vcs("true")},
			"meanwhile v0.1.0\nrevision 80c9bec of 2026-11-23T12:00:00Z, with changes that are not committed\nbuilt with go1.26.8" + system,
		},
		{debug.BuildInfo{GoVersion: "go1.26.8"}, "meanwhile (devel)\nbuilt with go1.26.8" + system},
		{debug.BuildInfo{}, "meanwhile (devel)\nbuilt with " + runtime.Version() + system},
	} {
		if got := text(&test.info); got != test.want {
			t.Errorf("got\n%s\nwant\n%s", got, test.want)
		}
	}
}
