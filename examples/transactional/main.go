// Transactional shows transactional enqueueing and exactly-once effects. It is a shop with its orders and its jobs in one SQLite
// file. It kills its processes at the worst moments and inspects the file after each. A job exists if and only if its order does,
// and its effect on the stock happens once, unless the job is completed outside the transaction of its effects:
//
//	                                          orders  stock  job
//	an order, killed before the commit             0     10  none
//	an order                                       1     10  queued, attempt 0
//	shipped, killed before the commit              1     10  running, attempt 1
//	shipped again, killed after the commit         1      9  completed, attempt 2
//	a worker that looks for more                   1      9  completed, attempt 2
//	without job.Complete:
//	an order                                       1     10  queued, attempt 0
//	shipped, killed after the commit               1      9  running, attempt 1
//	a worker that looks for more                   1      8  completed, attempt 2
//
// Each line except those with a colon is a separate process: the same program with other arguments.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/process"
)

func main() {
	file := flag.String("file", "", "be a process of the shop in this `file`")
	step := flag.String("step", "", "what to do: order or ship")
	var k kill
	flag.StringVar((*string)(&k), "kill", "", "where to be killed: before or after the commit")
	apart := flag.Bool("apart", false, "complete the job apart from its effects")
	flag.Parse()
	process.Main(func(ctx context.Context) error {
		switch *step {
		case "order":
			return withShop(ctx, *file, func(s *shop) error { return s.order(ctx, Order{Number: 1}, k) })
		case "ship":
			return withShop(ctx, *file, func(s *shop) error { return s.work(ctx, k, *apart) })
		}
		return show(ctx)
	})
}

// A line is a process, and the expected contents of the file after it.
type line struct {
	what string
	args string
	want string
}

func show(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "transactional")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	fmt.Println("                                          orders  stock  job")
	err = play(ctx, filepath.Join(folder, "shop.db"),
		line{"an order, killed before the commit", "-step order -kill before", "     0     10  none"},
		line{"an order", "-step order", "     1     10  queued, attempt 0"},
		line{"shipped, killed before the commit", "-step ship -kill before", "     1     10  running, attempt 1"},
		line{"shipped again, killed after the commit", "-step ship -kill after", "     1      9  completed, attempt 2"},
		line{"a worker that looks for more", "-step ship", "     1      9  completed, attempt 2"})
	if err != nil {
		return err
	}
	fmt.Println("without job.Complete:")
	return play(ctx, filepath.Join(folder, "apart.db"),
		line{"an order", "-step order", "     1     10  queued, attempt 0"},
		line{"shipped, killed after the commit", "-step ship -apart -kill after", "     1      9  running, attempt 1"},
		line{"a worker that looks for more", "-step ship -apart", "     1      8  completed, attempt 2"})
}

// play runs the processes one after the other, and prints the contents of the file after each of them.
func play(ctx context.Context, file string, lines ...line) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, l := range lines {
		cmd := exec.CommandContext(ctx, self, append(strings.Fields(l.args), "-file", file)...)
		cmd.Stderr = os.Stderr
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || !strings.Contains(l.args, "-kill")) {
			return fmt.Errorf("%s: %w", l.what, err)
		}
		err := withShop(ctx, file, func(s *shop) error {
			got, err := s.state(ctx)
			if err != nil {
				return err
			}
			fmt.Printf("%-42s%s\n", l.what, got)
			if got != l.want {
				return fmt.Errorf("%s: got %q, want %q", l.what, got, l.want)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// state returns the contents of the file as text.
func (s *shop) state(ctx context.Context) (string, error) {
	var orders, stock int
	const query = "SELECT (SELECT count(*) FROM orders), (SELECT parts FROM stock)"
	if err := s.db.QueryRowContext(ctx, query).Scan(&orders, &stock); err != nil {
		return "", err
	}
	state := "none"
	for j, err := range job.List(ctx, s.store, job.Filter{Kinds: []string{Ship.Name()}}) {
		if err != nil {
			return "", err
		}
		state = fmt.Sprintf("%s, attempt %d", j.State, j.Attempt)
	}
	return fmt.Sprintf("%6d %6d  %s", orders, stock, state), nil
}
