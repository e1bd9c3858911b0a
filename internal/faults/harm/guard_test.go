//go:build unix

package harm

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

func TestGuardCleansUp(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.MkdirAll(filepath.Join(folder, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := StartGuard()
	if err != nil {
		t.Fatal(err)
	}
	left, ended := exec.Command("sleep", "60"), exec.Command("sleep", "60")
	for _, cmd := range []*exec.Cmd{left, ended} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := g.Report(HasProcess, strconv.Itoa(cmd.Process.Pid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(g.Report(HasEnded, strconv.Itoa(ended.Process.Pid)), g.Report(HasFolder, folder)); err != nil {
		t.Fatal(err)
	}
	if err := g.End(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was not removed: %v", err)
	}
	if _ = left.Wait(); left.ProcessState.String() != "signal: killed" {
		t.Errorf("the process that was not reported as ended: got %v, want signal: killed", left.ProcessState)
	}
	if err := ended.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("the guard killed a process that was reported as ended: %v", err)
	}
	_ = ended.Wait()
}

func TestGuardSaysWhatItCannot(t *testing.T) {
	t.Parallel()
	err := GuardUntil(strings.NewReader("process none\nmoon full\nended 7\n"))
	if err == nil || !strings.Contains(err.Error(), "process none") || !strings.Contains(err.Error(), "moon full") {
		t.Errorf("got %v", err)
	}
}

// TestGuardEndsAServer: a server that has ended counts as gone even before its parent has waited for it.
func TestGuardEndsAServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "postmaster.pid")
	server := exec.Command("sh", "-c", `trap 'rm "$0"; exit 0' QUIT; echo $$ >"$0.new"; mv "$0.new" "$0"; while :; do sleep 0.01; done`, file)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
		if err := meanwhile.Sleep(t.Context(), 5*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	if err := GuardUntil(strings.NewReader("server " + folder + "\n")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the server has not ended: %v", err)
	}
}
