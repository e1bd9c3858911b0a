package redis_test

import (
	"crypto/rand"
	"testing"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/internal/lanes/lanelaw"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestLaneLaw: the lanes that the server stores match their jobs, whatever two processes do, and no job that may start is left.
func TestLaneLaw(t *testing.T) {
	address := sharedServer(t)
	lanelaw.Check(t, func(rt *rapid.T) lanelaw.Database {
		url := "redis://" + address + "?name=" + rand.Text()
		return lanelaw.Database{
			Open:   func() (job.Store, error) { return redis.Open(rt.Context(), url) },
			Fail:   func(bool) error { return nil }, // a claim is one script, which runs completely or not at all
			Forget: func() error { return nil },     // processes cache no lanes
		}
	})
}

// TestTurnsOfTwoProcesses: no key gets another turn before all have had theirs, whichever process claims.
func TestTurnsOfTwoProcesses(t *testing.T) {
	url := "redis://" + sharedServer(t) + "?name=" + rand.Text()
	lanelaw.CheckTurns(t, open(t, url), open(t, url))
}
