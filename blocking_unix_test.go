//go:build unix

package meanwhile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/meanwhile-go/meanwhile"
)

// holdThreads makes 1,000 calls that each block a thread, lets each batch of mostBlocking of them return when all of it
// blocks, and prints the highest number of threads that the process had.
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
				_, err := Blocking(ctx, func() (struct{}, error) { return struct{}{}, holdThread(fds[0]) })
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

// holdThread blocks in a system call that the runtime does not know about in advance.
func holdThread(fd int) error {
	for {
		if _, err := syscall.Read(fd, make([]byte, 1)); !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("read", err)
		}
	}
}

func TestBlockingNeedsAThreadForEachOfItsPlaces(t *testing.T) {
	if os.Getenv("MEANWHILE_TEST_THREADS") != "" {
		holdThreads()
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	// Beside the blocked threads there are as many threads as processors, and a few more.
	child.Env = append(os.Environ(), "MEANWHILE_TEST_THREADS=1", "GOMAXPROCS=4")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	var most int
	var rest string
	if _, err := fmt.Sscan(line, &most, &rest); err != nil || rest != "<nil>" {
		t.Fatalf("got %q", line)
	}
	if most < mostBlocking || most > mostBlocking+20 {
		t.Errorf("%d threads for %d places", most, mostBlocking)
	}
}
