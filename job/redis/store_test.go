package redis_test

import (
	"crypto/rand"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

func TestStore(t *testing.T) {
	address := sharedServer(t)
	jobtest.TestStore(t, func(t *testing.T) job.Store {
		t.Parallel()
		return open(t, "redis://"+address+"/0?name="+rand.Text())
	})
}
