package server

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
)

// When the clock is set back, limits do not drop more records than before.
func TestLimitWhenTheClockIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{
			Routes: []Route{{To: []Destination{{File: &linefile.Config{Path: t.TempDir() + "/a.log"}}}}},
			Limits: []Limit{{Rate: 10, Burst: 1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		f := &batcher{s: s, counts: s.inputCounts("test")}
		service := []byte("a")
		f.Add(&logs.View{Service: service})
		f.now = 0 // as after a flush
		time.Sleep(time.Second)
		f.switchTo(service)
		f.now -= int64(time.Hour)
		f.Add(&logs.View{Service: service})
		if got := f.route.counts.limited.Load(); got != 0 {
			t.Errorf("%d of 2 records in a second are left out, 10 may come", got)
		}
		f.Add(&logs.View{Service: service})
		if got := f.route.counts.limited.Load(); got != 1 {
			t.Errorf("%d records beyond the limit are left out, want 1", got)
		}
	})
}
