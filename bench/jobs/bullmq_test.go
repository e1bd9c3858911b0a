package jobs

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// bullmqVariable names the folder of npm install --prefix FOLDER bullmq@5.
const bullmqVariable = "MEANWHILE_BULLMQ"

// BenchmarkBullMQ runs Bulk and Drain for BullMQ in a Node program: 50,000 jobs, with a worker that runs 1,000 at once.
func BenchmarkBullMQ(b *testing.B) {
	folder := os.Getenv(bullmqVariable)
	if folder == "" {
		b.Skip("BullMQ is measured where " + bullmqVariable + " names the folder of: npm install --prefix FOLDER bullmq@5")
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "bullmq")); err != nil {
		b.Fatalf("%s: there is no BullMQ in it: %v", bullmqVariable, err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		b.Fatal(err)
	}
	var bulk, drain float64
	for b.Loop() {
		at, err := url.Parse(newRedis(b))
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
		cmd := exec.CommandContext(ctx, node, "testdata/bullmq.js", at.Port(), fmt.Sprint(size(50_000, 500)), "1000")
		cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(folder, "node_modules"))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		cancel()
		if err != nil {
			b.Fatal(err)
		}
		var inBulk, drained float64
		if _, err := fmt.Sscan(string(out), &inBulk, &drained); err != nil {
			b.Fatalf("read %q: %v", out, err)
		}
		bulk, drain = bulk+inBulk, drain+drained
	}
	b.ReportMetric(bulk/float64(b.N), "bulk-jobs/s")
	b.ReportMetric(drain/float64(b.N), "drain-jobs/s")
	b.ReportMetric(0, "ns/op")
}
