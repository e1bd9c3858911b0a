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

//go:embed testdata/syslog-ng.conf
var syslogNGConf string

var syslogNG = server{lib: "syslog-ng", formats: syslogFormats, find: findSyslogNG, start: startSyslogNG}

// syslogNGFolder is the variable that names the folder into which the packages of syslog-ng were unpacked.
const syslogNGFolder = "MEANWHILE_SYSLOG_NG"

func findSyslogNG() (string, error) {
	path, err := findIn("syslog-ng", "/usr/sbin", filepath.Join(os.Getenv(syslogNGFolder), "usr/sbin"))()
	if err != nil {
		return "", errors.New("syslog-ng is neither installed nor unpacked in the folder of " + syslogNGFolder)
	}
	return path, nil
}

func startSyslogNG(tb testing.TB, program, folder string, f load.Format, port int) *process {
	tb.Helper()
	source := map[load.Format]string{
		load.Octets: `syslog(transport("tcp") COMMON);`,
		load.Lines:  `network(transport("tcp") flags(syslog-protocol) COMMON);`,
		load.BSD:    `network(transport("tcp") COMMON);`,
	}[f]
	text := strings.ReplaceAll(syslogNGConf, "SOURCE", source)
	text = strings.ReplaceAll(text, "COMMON", `ip("127.0.0.1") port(PORT) max-connections(300) log-fetch-limit(1000) log-iw-size(300000)`)
	text = strings.NewReplacer("FOLDER", folder, "PORT", strconv.Itoa(port)).Replace(text)
	conf := write(tb, folder, "syslog-ng.conf", text)
	cmd := exec.Command(program, "--foreground", "--stderr", "--no-caps", "-f", conf, "-R", filepath.Join(folder, "persist"),
		"-c", filepath.Join(folder, "ctl"), "-p", filepath.Join(folder, "pid"))
	if root, ok := strings.CutSuffix(program, "/usr/sbin/syslog-ng"); ok && root != "" {
		var libraries, modules []string
		for _, pattern := range []string{"usr/lib/syslog-ng", "usr/lib/*-linux-gnu", "lib/*-linux-gnu"} {
			found, _ := filepath.Glob(filepath.Join(root, pattern))
			libraries = append(libraries, found...)
		}
		modules, _ = filepath.Glob(filepath.Join(root, "usr/lib/syslog-ng/[0-9]*"))
		cmd.Args = append(cmd.Args, "--module-path="+strings.Join(modules, ":"))
		cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
	}
	return start(tb, at(port), cmd)
}
