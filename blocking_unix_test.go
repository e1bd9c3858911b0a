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

// holdThreads makes 1,000 calls that hold a thread for 500 ms each, and prints the most threads that the process had.
func holdThreads() {
	most := 0
	err := Run(context.Background(), func(ctx context.Context) error {
		Every(ctx, 10*time.Millisecond, func(context.Context) error {
			most = max(most, threads())
			return nil
		})
		for range 1000 {
			Go(ctx, func(ctx context.Context) error {
				_, err := Blocking(ctx, func() (Void, error) { return Void{}, holdThread(500 * time.Millisecond) })
				return err
			})
		}
		return nil
	})
	fmt.Println(most, err)
}

func threads() int {
	sample := []metrics.Sample{{Name: "/sched/threads/total:threads"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64())
}

// holdThread waits in the kernel, where the runtime does not see it coming.
func holdThread(d time.Duration) error {
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		return err
	}
	defer func() { _, _ = syscall.Close(fds[0]), syscall.Close(fds[1]) }()
	timer := time.AfterFunc(d, func() { _, _ = syscall.Write(fds[1], []byte{1}) })
	defer timer.Stop()
	_, err := syscall.Read(fds[0], make([]byte, 1))
	if errors.Is(err, syscall.EINTR) {
		return nil
	}
	return os.NewSyscallError("read", err)
}

func TestBlockingNeedsAThreadForEachOfItsPlaces(t *testing.T) {
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
