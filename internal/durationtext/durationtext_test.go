package durationtext_test

import (
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/durationtext"
)

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                   "0s",
		1499 * time.Microsecond:             "1ms",
		12449 * time.Millisecond:            "12.4s",
		59960 * time.Millisecond:            "1m",
		2 * time.Minute:                     "2m",
		2*time.Minute + 7*time.Second:       "2m7s",
		time.Hour:                           "1h",
		10 * time.Minute:                    "10m",
		19*time.Hour + 52*time.Minute:       "19h52m",
		30*time.Hour + 29*time.Second:       "30h",
		time.Hour + 59*time.Minute + 31*1e9: "2h",
		99 * time.Hour:                      "99h",
		100 * time.Hour:                     "4d4h",
		720*time.Hour + 20*time.Minute:      "30d",
	} {
		if got := durationtext.Short(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}
