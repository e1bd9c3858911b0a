//go:build unix

package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/meanwhile-go/meanwhile"
)

func init() { programs["makes 1,000 calls that hold a thread"] = holdThreads }

// holdThreads makes 1,000 calls that hold a thread until as many of them do as there are places, and prints the most threads
// that the process had.
func holdThreads() {
	const calls = 1000
	most := 0
	err := Run(context.Background(), func(ctx context.Context) error {
		var fds [2]int
		if err := syscall.Pipe(fds[:]); err != nil {
			return err
		}
		for range calls {
			Go(ctx, func(ctx context.Context) error {
				_, err := Blocking(ctx, func() (Void, error) { return Void{}, holdThread(fds[0]) })
				return err
			})
		}
		for range calls / mostBlocking {
			for sample("/sched/goroutines/not-in-go:goroutines") < mostBlocking {
				time.Sleep(time.Millisecond)
			}
			most = max(most, sample("/sched/threads/total:threads"))
			if _, err := syscall.Write(fds[1], make([]byte, mostBlocking)); err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Println(most, err)
}

func sample(name string) int {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// holdThread waits in the kernel, where the runtime does not see it coming.
func holdThread(fd int) error {
	for {
		if _, err := syscall.Read(fd, make([]byte, 1)); !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("read", err)
		}
	}
}

func TestBlockingNeedsAThreadForEachOfItsPlaces(t *testing.T) {
	t.Setenv("GOMAXPROCS", "4") // there are as many other threads as processors, and some
	c := startChild(t, "makes 1,000 calls that hold a thread", nil)
	line, err := c.stdout.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var most int
	var rest string
	if _, err := fmt.Sscan(line, &most, &rest); err != nil || rest != "<nil>" {
		t.Fatalf("got %q", strings.TrimSpace(line))
	}
	if most < mostBlocking || most > mostBlocking+20 {
		t.Errorf("%d threads for %d places", most, mostBlocking)
	}
}
