package jobs

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

func openRedis(ctx context.Context, where string) (job.Store, error) { return redis.Open(ctx, where) }

// newRedis starts a server that syncs its log every second, and returns its URL.
func newRedis(tb testing.TB) string {
	tb.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("MEANWHILE_CI") != "1" {
			tb.Skip("no redis-server: ", err)
		}
		tb.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	address := listener.Addr().(*net.TCPAddr)
	_ = listener.Close()
	cmd := exec.Command(program, "--port", fmt.Sprint(address.Port), "--bind", "127.0.0.1", "--dir", tb.TempDir(), "--save", "",
		"--appendonly", "yes", "--appendfsync", "everysec", "--slowlog-log-slower-than", "5000", "--slowlog-max-len", "1000000")
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", address.String())
		if err == nil {
			_ = conn.Close()
			return "redis://" + address.String()
		}
		if time.Since(begun) > 10*time.Second {
			tb.Fatal(err)
		}
	}
}
