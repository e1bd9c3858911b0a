package jobs

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

func TestNextTick(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		cron job.CronInfo
		want string
	}{
		{job.CronInfo{Next: now.Add(90 * time.Second)}, "in 1m30s"},
		{job.CronInfo{Next: now.Add(-3 * time.Hour)}, "due 3h ago"},
		{job.CronInfo{Next: now.Add(-3 * time.Hour), Paused: true}, ""},
		{job.CronInfo{}, ""},
	} {
		if got := nextTick(&test.cron, now); got != test.want {
			t.Errorf("of %+v: %q, want %q", test.cron, got, test.want)
		}
	}
}
