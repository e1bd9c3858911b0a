package redis

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// Bounds of one run of the script.
const (
	claimJobs   = 250
	claimQueues = 100
	mostRounds  = 100_000 // of one call
)

// A claiming is a claim that may need several runs of the script.
type claiming struct {
	*Store
	c       job.Claim
	kinds   string
	queues  []job.QueueLimit // each once, with the rest of its limit
	left    int
	claimed job.Claimed
	dead    bool // the claim came too late to count, or the lease of its session is over
}

// Claim claims due jobs for a worker.
func (s *Store) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	g := &claiming{Store: s, c: c, left: c.Limit}
	if err := s.call(ctx, "claim jobs", g.run); err != nil {
		return job.Claimed{}, err
	}
	return g.claimed, nil
}

func (g *claiming) run(ctx context.Context) error {
	if g.c.Kinds != nil {
		kinds, err := json.Marshal(g.c.Kinds)
		if err != nil {
			return err
		}
		g.kinds = string(kinds)
	}
	seen := map[string]bool{}
	for _, q := range g.c.Queues {
		if q.Limit > 0 && !seen[q.Queue] {
			seen[q.Queue] = true
			g.queues = append(g.queues, q)
		}
	}
	// Usually one run does everything: the session, expired jobs, and due ones.
	if len(g.queues) <= claimQueues {
		todo := "bd"
		if g.c.Expired {
			todo = "bed"
		}
		return g.claimFrom(ctx, todo, g.queues)
	}
	if err := g.claimFrom(ctx, "b", nil); err != nil {
		return err
	}
	for _, todo := range []string{"e", "d"} {
		if todo == "e" && !g.c.Expired {
			continue
		}
		for from := 0; from < len(g.queues) && !g.dead; from += claimQueues {
			if err := g.claimFrom(ctx, todo, g.queues[from:min(from+claimQueues, len(g.queues))]); err != nil {
				return err
			}
		}
	}
	return nil
}

// claimFrom runs the steps todo ("b", "e" and "d", see lua/claim.lua) for some queues, in as many runs as needed.
func (g *claiming) claimFrom(ctx context.Context, todo string, queues []job.QueueLimit) error {
	priority, member := "0", ""
	all, then := queues, "" // the steps for all queues after the others
	for range mostRounds {
		limit := min(max(g.left, 0), claimJobs)
		got, err := g.Store.run(ctx, claimScript, g.args(todo, limit, priority, member, queues)...)
		if err != nil {
			return err
		}
		if g.dead = number(got[0]) == 0; g.dead {
			return nil
		}
		expired, took, err := g.addRun(got, queues)
		if err != nil {
			return err
		}
		if us := number(got[7]); us >= 0 {
			g.soonest(time.Duration(us) * time.Microsecond)
		}
		stop, remain := int(number(got[8])), number(got[11]) == 1
		began := strings.HasPrefix(todo, "b")
		todo, priority, member = strings.TrimPrefix(todo, "b"), "0", ""
		switch {
		case g.left <= 0:
			g.claimed.Next = 0
			return nil
		case remain || took >= limit && (expired > 0 || began): // repeat the same steps
		case stop > 0:
			if in := text(got[12]); in == "e" && strings.HasSuffix(todo, "d") {
				todo, then = "e", "d"
			} else {
				todo = in
			}
			queues, priority, member = queues[stop-1:], text(got[9]), text(got[10])
		case then != "":
			todo, queues, then = then, all, ""
		case took >= limit && todo != "":
			todo = "d"
		default:
			return nil
		}
	}
	return nil
}

// args returns the arguments of a run.
func (g *claiming) args(todo string, limit int, priority, member string, queues []job.QueueLimit) []string {
	args := []string{
		todo, g.c.Worker, strconv.FormatInt(int64(g.c.Session), 10), strconv.FormatInt(g.c.Call, 10), strconv.FormatInt(g.c.Since, 10),
		span(g.c.Lease), g.kinds, strconv.Itoa(limit), priority, member,
	}
	for _, q := range queues {
		args = append(args, q.Queue, strconv.Itoa(q.Limit))
	}
	return args
}

// addRun adds the jobs of a run. It returns how many of them had expired, and how many count for its limit.
func (g *claiming) addRun(got []rueidis.RedisMessage, queues []job.QueueLimit) (expired, all int, err error) {
	var taken [3][]*job.Job // again, expired, due
	for i, at := range []int{1, 2, 4} {
		if taken[i], err = jobsOf(got[at]); err != nil {
			return 0, 0, err
		}
		g.claimed.Jobs = append(g.claimed.Jobs, taken[i]...)
		all += len(taken[i])
	}
	for i, worker := range texts(got[3]) {
		if g.claimed.Expired == nil {
			g.claimed.Expired = map[job.ID]string{}
		}
		g.claimed.Expired[taken[1][i].ID] = worker
	}
	for _, of := range []rueidis.RedisMessage{got[5], got[6]} {
		numbers, _ := of.ToArray()
		for i := range numbers {
			queues[number(numbers[i])-1].Limit--
		}
	}
	g.left -= all
	return len(taken[1]), all, nil
}

// soonest notes that a job may start in d.
func (g *claiming) soonest(d time.Duration) {
	if d > 0 && (g.claimed.Next == 0 || d < g.claimed.Next) {
		g.claimed.Next = d
	}
}
