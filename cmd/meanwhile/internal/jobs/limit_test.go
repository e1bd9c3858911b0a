package jobs

import (
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestDescribeThrottled: the time until jobs start again has the same wording as in job.Why.
func TestDescribeThrottled(t *testing.T) {
	for of, text := range map[string]string{
		"queue": describeLimits("mail", job.LimitUse{QueueHeld: 2 * time.Minute}),
		"key":   describeKeyLimits("mail", "tenant-7", job.LimitUse{KeyHeld: 2 * time.Minute}),
	} {
		if want := "throttled starts again in 2m\n"; !strings.HasSuffix(text, want) {
			t.Errorf("of a %s: %q does not end in %q", of, text, want)
		}
	}
}
