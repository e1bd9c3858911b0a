//go:build !windows

package jobs

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
)

// TestAskOfOne: a question about one job is in the singular.
func TestAskOfOne(t *testing.T) {
	for n, want := range map[int]string{1: "1 job matches: add --yes to delete it", 2: "2 jobs match: add --yes to delete them"} {
		c := &Command{Target: Target{Store: filepath.Join(t.TempDir(), "jobs.db")}}
		err := c.use(true, func(ctx context.Context, s job.Store) error {
			for range n {
				j, err := job.New("mail", []byte("1"))
				if err != nil {
					return err
				}
				if _, err := s.Insert(ctx, j); err != nil {
					return err
				}
			}
			_, err := confirm(ctx, s, probe.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, job.Filter{}, "delete")
			return err
		})
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestAsk deletes matching jobs after a question at a terminal.
func TestAsk(t *testing.T) {
	c := &Command{Target: Target{Store: filepath.Join(t.TempDir(), "jobs.db")}}
	for range 2 {
		if err := (&Enqueue{Kind: "mail"}).Run(c, probe.Streams{Out: io.Discard, Err: io.Discard}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		answer, out, said string
		left              int
	}{
		{"\n", "", "2 jobs match. Delete them? [y/N] ", 2},
		{"no\n", "", "Nothing was done.", 2},
		{"Y\n", "2 jobs deleted\n", "2 jobs match. Delete them? [y/N] ", 0},
	} {
		master, terminal, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(master, test.answer); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := (&Delete{Action{All: true}}).Run(c, probe.Streams{In: terminal, Out: &out, Err: terminal}); err != nil {
			t.Errorf("%q: %v", test.answer, err)
		}
		_ = terminal.Close()
		said, _ := io.ReadAll(master) // ends with an error, as is normal for terminals
		_ = master.Close()
		if out.String() != test.out || !strings.Contains(string(said), test.said) {
			t.Errorf("%q: got %q and %q, want %q and %q", test.answer, &out, said, test.out, test.said)
		}
		if got := count(t, c); got != test.left {
			t.Errorf("%q: %d jobs are left, want %d", test.answer, got, test.left)
		}
	}
}

func count(t *testing.T, c *Command) int {
	t.Helper()
	s, err := c.Open(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	n := 0
	for _, err := range job.List(t.Context(), s, job.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
