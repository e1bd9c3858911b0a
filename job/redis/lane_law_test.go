package redis_test

import (
	"crypto/rand"
	"testing"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/internal/lanes/lanelaw"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestLaneLaw: what the server keeps of lanes is what its jobs say, whatever two processes do, and no job that may start is left.
func TestLaneLaw(t *testing.T) {
	address := sharedServer(t)
	lanelaw.Check(t, func(rt *rapid.T) lanelaw.Database {
		url := "redis://" + address + "?name=" + rand.Text()
		return lanelaw.Database{
			Open:   func() (job.Store, error) { return redis.Open(rt.Context(), url) },
			Fail:   func(bool) error { return nil }, // a claim is one script, which is run whole or not at all
			Forget: func() error { return nil },     // processes know nothing of lanes
		}
	})
}

// TestTurnsOfTwoProcesses: no key has another turn before all have had theirs, whichever process claims.
func TestTurnsOfTwoProcesses(t *testing.T) {
	url := "redis://" + sharedServer(t) + "?name=" + rand.Text()
	lanelaw.CheckTurns(t, open(t, url), open(t, url))
}
