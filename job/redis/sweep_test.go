package redis_test

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
)

func TestSweep(t *testing.T) {
	jobtest.TestSweep(t, func(t *testing.T) (job.Store, []jobtest.Damage) {
		s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
		harm := func(script string) func(t *testing.T) {
			return func(t *testing.T) {
				t.Helper()
				if err := s.Harm(t.Context(), script); err != nil {
					t.Fatal(err)
				}
			}
		}
		const close = `local l = openLane(q, 'a')
			l.priority = 0
			saveLane(q, l)
			writeLanes()
			for p = 1, 9 do call('ZREM', P .. 'i:' .. p .. ':default', 'a') end `
		return s, []jobtest.Damage{
			{Name: "closed", Do: harm(close)},
			{Name: "closed until later", Do: harm(close + `call('ZADD', P .. 'w:default', 9e15, 'a')`)},
			{Name: "missing", Do: harm(close + `call('HDEL', P .. 'l:default', 'a')`)},
			{Name: "out of line", Do: harm(`for p = 1, 9 do call('ZREM', P .. 'i:' .. p .. ':default', 'a') end`)},
			{Name: "without its job", Do: harm(`for p = 1, 9 do call('DEL', readyKey('default', 'a', p)) end
				call('DEL', orderKey('default', 'a'))`)},
			{Name: "held by nothing", Do: harm(`call('ZADD', holdKey(q.holdEpoch, 'default', 'a'), 1, string.rep('x', 16))`)},
			{Name: "too many of the key run", Do: harm(`call('HINCRBY', P .. 'n:default', 'a', 3)` + close)},
			{Name: "too many run", Queue: true, Do: harm(`call('HINCRBY', P .. 'n:default', '', 3)`)},
		}
	})
}

// TestManyQueues: no script reads all queues, since the server would do nothing else for that time.
func TestManyQueues(t *testing.T) {
	const queues = 3000
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	jobs := make([]*job.Job, queues)
	for i := range jobs {
		jobs[i] = newJob(t, "kind", job.Queue(fmt.Sprint("q", i)))
	}
	if _, err := s.Insert(t.Context(), jobs...); err != nil {
		t.Fatal(err)
	}
	calls := func(command string) int {
		found := regexp.MustCompile("cmdstat_" + command + `:calls=(\d+)`).FindStringSubmatch(server.do(t, "INFO", "commandstats"))
		if found == nil {
			return 0
		}
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for name, call := range map[string]func() error{
		"Prune": func() error { _, err := s.Prune(t.Context(), nil, 100); return err },
		"Queues": func() error {
			found, err := s.Queues(t.Context())
			if len(found) != queues || found[0].Wait == 0 || found[queues-1].Wait == 0 {
				t.Errorf("%d queues, the first of which is %+v", len(found), found[0])
			}
			return err
		},
	} {
		server.do(t, "CONFIG", "RESETSTAT")
		if err := call(); err != nil {
			t.Fatal(err)
		}
		scripts, reads := calls("evalsha")+calls("eval"), calls("lrange")
		if reads < queues {
			t.Errorf("%s: %d lists were read, want those of %d queues", name, reads, queues)
		}
		if most := 9 * 400; reads > scripts*most {
			t.Errorf("%s: %d scripts read %d lists, want at most %d each", name, scripts, reads, most)
		}
	}
}
