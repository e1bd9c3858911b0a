package logs

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/bench/logs/load"
)

var syslogFormats = []load.Format{load.Octets, load.Lines, load.BSD}

//go:embed testdata/rsyslog.conf
var rsyslogConf string

var rsyslog = server{lib: "rsyslog", formats: syslogFormats, find: findIn("rsyslogd", "/usr/sbin"), start: startRsyslog}

func startRsyslog(tb testing.TB, program, folder string, _ load.Format, port int) *process {
	tb.Helper()
	conf := write(tb, folder, "rsyslog.conf", strings.NewReplacer("FOLDER", folder, "PORT", strconv.Itoa(port)).Replace(rsyslogConf))
	return start(tb, at(port), exec.Command(program, "-n", "-f", conf, "-i", filepath.Join(folder, "rsyslogd.pid")))
}

// findIn returns a function that searches a program in PATH and in folders.
func findIn(name string, folders ...string) func() (string, error) {
	return func() (string, error) {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, folder := range folders {
			path := filepath.Join(folder, name)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
		return "", errors.New(name + " is not installed")
	}
}
