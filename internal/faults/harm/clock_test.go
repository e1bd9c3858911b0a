//go:build unix

package harm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestClockJumps builds a program with the local toolchain, and makes its clock jump while it runs and before it starts.
func TestClockJumps(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	folder := t.TempDir()
	program := filepath.Join(folder, "clock")
	if err := Go(t.Context(), folder, nil, []string{"build", "-o", program}, "./testdata/clock"); err != nil {
		t.Fatal(err)
	}
	c, err := NewClock(filepath.Join(folder, "jump"))
	if err != nil {
		t.Fatal(err)
	}
	running := startProgram(t, program, c)
	running.check(0)
	for _, by := range []time.Duration{time.Hour, -366 * 24 * time.Hour, -60 * 366 * 24 * time.Hour} {
		c.until = time.Time{} // the previous jump ends now
		if err := c.Jump(by, time.Hour); err != nil {
			t.Fatal(err)
		}
		running.check(by)
		startProgram(t, program, c).check(by)
		if err := c.Jump(by, time.Hour); !errors.Is(err, ErrNothing) {
			t.Errorf("Jump of a wrong clock = %v, want ErrNothing", err)
		}
	}
	c.until = time.Time{}
	if err := c.Jump(time.Hour, 0); err != nil {
		t.Fatal(err)
	}
	running.check(0)
	startProgram(t, program, c).check(0)
}

type clockProgram struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func startProgram(t *testing.T, program string, c *Clock) *clockProgram {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(cmd.Environ(), c.Env())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	return &clockProgram{t, in, bufio.NewReader(out)}
}

// check asks the program for its time, which must be wrong by so much. The durations that it has measured must be correct nevertheless.
func (p *clockProgram) check(by time.Duration) {
	p.t.Helper()
	before := time.Now()
	fmt.Fprintln(p.in)
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatal(err)
	}
	var wall int64
	var passed [2]time.Duration
	var left time.Duration
	if _, err := fmt.Sscan(line, &wall, &passed[0], &passed[1], &left); err != nil {
		p.t.Fatal(err)
	}
	if got := time.Unix(0, wall).Add(-by); got.Before(before.Round(0)) || got.After(time.Now()) {
		p.t.Errorf("the clock is wrong by %v, want %v", time.Unix(0, wall).Sub(before), by)
	}
	for _, d := range append(passed[:], time.Hour-left) {
		if d < 0 || d > time.Minute {
			p.t.Errorf("with a clock that is wrong by %v, the program measured %v, want between zero and a minute", by, d)
		}
	}
}

func TestDrawJump(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	ahead, back, before1970 := 0, 0, 0
	for range 100 {
		switch by := DrawJump(r); {
		case by >= time.Hour:
			ahead++
		case time.Now().Add(by).Year() < 1970:
			before1970++
		case by <= -time.Hour:
			back++
		default:
			t.Errorf("got %v, want an hour or more in either direction", by)
		}
	}
	if ahead == 0 || back == 0 || before1970 == 0 {
		t.Errorf("%d ahead, %d back, %d to before 1970", ahead, back, before1970)
	}
}

func TestNow(t *testing.T) {
	before := time.Now().Truncate(time.Microsecond)
	if now := Now(); now.Before(before) || now.After(time.Now()) {
		t.Errorf("got %v, after %v", now, before)
	}
}

// TestChanges applies two changes to one file and checks what the program prints.
func TestChanges(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	folder := t.TempDir()
	program := filepath.Join(folder, "clock")
	main := func(before, after string) Change {
		return Change{"./testdata/clock", "main.go", before, after}
	}
	changes := []Change{main("now.UnixNano()", "1"), main("fmt.Println(1, ", "fmt.Println(2, ")}
	if err := Go(t.Context(), folder, changes, []string{"build", "-o", program}, "./testdata/clock"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stdin = strings.NewReader("\n")
	if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), "2 ") {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestBuildsGoOneAfterTheOther(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	unlock, err := lock(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lock(ctx, cache); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lock while it is held = %v, want a timeout", err)
	}
	unlock()
	if unlock, err = lock(t.Context(), cache); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestChangesThatDoNotFit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Change{
		"not there":  {"time", "time.go", "func Yesterday() Time {", ""},
		"often":      {"time", "time.go", "\n", ""},
		"no file":    {"time", "no.go", "func", ""},
		"no package": {"no/such/package", "time.go", "func", ""},
	} {
		err := Go(t.Context(), t.TempDir(), []Change{c}, []string{"build"}, "./testdata/clock")
		if err == nil || !strings.Contains(err.Error(), c.File+" of package "+c.Package) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
