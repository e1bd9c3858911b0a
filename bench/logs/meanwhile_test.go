package logs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/meanwhile-go/meanwhile/bench/logs/load"
)

// ours is the command, as its users run it; it syncs once a second, which is at least as often as the others with their defaults.
var ours = server{
	lib: "meanwhile", own: true, formats: load.Formats, find: buildMeanwhile,
	start: func(tb testing.TB, program, folder string, f load.Format, port int) *process {
		tb.Helper()
		flag := "--syslog-tcp"
		if f == load.Analogger {
			flag = "--analogger"
		}
		args := []string{"logs", "serve", "--listen=", "--http=", "--analogger=", "--to", "file:" + filepath.Join(folder, outcome), "--sync", "interval"}
		cmd := exec.Command(program, append(args, flag, at(port))...)
		cmd.Dir = folder
		return start(tb, at(port), cmd)
	},
}

// built is the folder that buildMeanwhile makes and TestMain removes.
var built string

// programVariable names a server that was built before, so that two builds can be measured in turns.
const programVariable = "MEANWHILE_BENCH_LOGS_PROGRAM"

var buildMeanwhile = sync.OnceValues(func() (string, error) {
	if program := os.Getenv(programVariable); program != "" {
		return filepath.Abs(program)
	}
	var err error
	if built, err = os.MkdirTemp("", "bench-logs-*"); err != nil {
		return "", err
	}
	program := filepath.Join(built, "meanwhile")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "./cmd/meanwhile")
	build.Dir = "../.." // a separate module, with more dependencies
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w: %s", err, text)
	}
	return program, nil
})

// A runningServer is a server of ours with the addresses of several receivers, and a folder for its records.
type runningServer struct {
	process *process
	own     string // the address for its own protocol
	store   string // the folder
}

// startMeanwhile starts the server with a store that syncs before it acknowledges.
func startMeanwhile(tb testing.TB, program, folder string) *runningServer {
	tb.Helper()
	s := &runningServer{own: at(freePort(tb)), store: filepath.Join(folder, "store")}
	cmd := exec.Command(program, "logs", "serve", "--listen", s.own, "--http=", "--analogger=", "--dir", s.store)
	cmd.Dir = folder
	s.process = start(tb, s.own, cmd)
	return s
}
