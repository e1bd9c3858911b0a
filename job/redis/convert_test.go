package redis_test

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// schema2 starts a server with a store of schema 2, see testdata/README.md, and 250 more queued jobs.
func schema2(t *testing.T) *server {
	t.Helper()
	s := ownServer(t)
	commands, err := os.ReadFile("testdata/schema2.aof")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(append(commands, "PING\r\n"...)); err != nil {
		t.Fatal(err)
	}
	for answers, buf := "", make([]byte, 4<<10); !strings.HasSuffix(answers, "+PONG\r\n"); {
		n, err := conn.Read(buf)
		if answers += string(buf[:n]); err != nil || strings.Contains(answers, "-ERR") {
			t.Fatalf("%q, %v", answers, err)
		}
	}
	s.do(t, "EVAL", `
		for i = 1, 250 do
			local id = string.format('%016d', i)
			redis.call('HSET', '{meanwhile}:j:' .. id, 's', 'queued', 'k', 'k', 'q', 'many', 'p', '5', 'm', '20', 'c', '1700000000000000', 'r', '1700000000000000', 'n', '0', 'a0', '1')
			redis.call('ZADD', '{meanwhile}:r:5:many\n', '1700000000000000', id .. 'k')
			redis.call('ZADD', '{meanwhile}:c:queued\nmany\nk', 0, id)
		end
		redis.call('SADD', '{meanwhile}:classes', 'queued\nmany\nk')
		return 1`, "0")
	s.do(t, "ZADD", "{meanwhile}:leases", "1", "7") // of the sessions 7 and 8, the first has expired
	return s
}

// TestConvert opens a store of schema 2: its jobs, limits and leases are preserved.
func TestConvert(t *testing.T) {
	server := schema2(t)
	s := open(t, "redis://"+server.address())
	jobs, err := s.List(t.Context(), job.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]int{}
	for _, j := range jobs {
		states[j.Queue+" "+string(j.State)]++
		if j.Kind != "k" || j.MaxAttempts == 0 || j.Created.IsZero() || j.RunAt.IsZero() {
			t.Errorf("listed %+v", j)
		}
	}
	for state, want := range map[string]int{
		"many queued": 250, "long queued": 3, "plain queued": 3, "plain running": 1, "limited queued": 3, "limited running": 1,
		"ended completed": 1, "ended canceled": 1, "ended discarded": 1, "ended queued": 1, "ended running": 1,
	} {
		if states[state] != want {
			t.Errorf("%s: %d, want %d", state, states[state], want)
		}
	}
	var sizes []int
	for _, j := range claimed(t, s, 1, 10, nil, "long") {
		sizes = append(sizes, len(j.Args))
	}
	if slices.Sort(sizes); !slices.Equal(sizes, []int{102, 302, 3002}) {
		t.Errorf("args are of %v bytes", sizes)
	}

	// A claim whose answer was lost returns its jobs again; those of an expired session are claimed as expired.
	again := claimed(t, s, 8, 2, func(c *job.Claim) { c.Call, c.Since = 5, 3 }, "none")
	if len(again) != 2 || again[0].Queue != "plain" || again[0].Priority != 9 || again[1].Queue != "limited" || again[1].LimitKey != "a" {
		t.Errorf("claims without an answer returned %+v", again)
	}
	var expired []*job.Job
	for range 5 {
		expired = append(expired, claimed(t, s, 9, 5, func(c *job.Claim) { c.Expired = true }, "ended")...)
	}
	if len(expired) != 2 || expired[0].Crashed+expired[1].Crashed != 1 || expired[0].Attempt != 2 || expired[1].Attempt != 2 {
		t.Errorf("of the queue claimed %+v", expired)
	}
	duplicate := newJob(t, "k", job.Queue("plain"), job.Unique("u"))
	if ids, err := s.Insert(t.Context(), duplicate); err != nil || ids[0] == duplicate.ID {
		t.Errorf("the unique key is free: %v, %v", ids, err)
	}
	if found, err := s.List(t.Context(), job.Filter{Meta: map[string]string{job.MetaID: "id 1"}, Limit: 10}); err != nil || len(found) != 1 {
		t.Errorf("by the ID of another system there are %d jobs, %v", len(found), err)
	}
	limited := claimed(t, s, 9, 10, nil, "limited")
	if len(limited) != 2 || slices.ContainsFunc(limited, func(j *job.Job) bool { return j.LimitKey == "a" }) {
		t.Errorf("while a job of key a is running, claimed %+v", limited)
	}

	held := append(append(again, expired...), limited...)
	for _, j := range held {
		j.State = job.Completed
	}
	if lost, err := s.Settle(t.Context(), 8, job.Outcomes(held[:2]...)...); err != nil || len(lost) > 0 {
		t.Errorf("lost %v, %v", lost, err)
	}
	if lost, err := s.Settle(t.Context(), 9, job.Outcomes(held[2:]...)...); err != nil || len(lost) > 0 {
		t.Errorf("lost %v, %v", lost, err)
	}
	if got := claimed(t, s, 9, 300, nil, "many"); len(got) != 250 || got[249].ID != job.ID([]byte("0000000000000250")) {
		t.Errorf("claimed %d of many", len(got))
	}
	if pruned, err := s.Prune(t.Context(), map[job.State]time.Duration{job.Completed: 0, job.Canceled: 0, job.Discarded: 0}, 100); err != nil || pruned.Deleted != 3+len(held) || len(pruned.Repaired) > 0 {
		t.Errorf("pruned %+v, %v", pruned, err)
	}
	if old := server.do(t, "EVAL", "return #redis.call('KEYS', '{meanwhile}:j:*') + #redis.call('KEYS', '{meanwhile}:a:*') + redis.call('EXISTS', '{meanwhile}:converting')", "0"); old != ":0\r\n" {
		t.Errorf("%q keys of schema 2 are left", old)
	}
}

// TestConvertIsResumed has programs crash in the middle of a conversion.
func TestConvertIsResumed(t *testing.T) {
	for steps := range 6 {
		server := schema2(t)
		if err := redis.BeginConversion(t.Context(), "redis://"+server.address(), steps); err != nil {
			t.Fatal(err)
		}
		// Programs of schema 2 ask whether a long call has started, read it, and return an error.
		if steps > 0 {
			if answer, _ := server.ask("HMGET", "{meanwhile}:long", "token"); !strings.HasPrefix(answer, "-WRONGTYPE") {
				t.Errorf("after %d steps the request of programs of schema 2 returns %q", steps, answer)
			}
		}
		jobs, err := open(t, "redis://"+server.address()).List(t.Context(), job.Filter{Limit: 1000})
		if err != nil || len(jobs) != 266 {
			t.Errorf("after %d steps it has %d jobs, %v", steps, len(jobs), err)
		}
	}
}

// TestConvertHalf tests that a store is refused in which a long call of schema 2 is half written.
func TestConvertHalf(t *testing.T) {
	server := schema2(t)
	server.do(t, "HSET", "{meanwhile}:long", "token", "t", "phase", "4")
	if _, err := redis.Open(t.Context(), "redis://"+server.address()); !errors.Is(err, job.ErrSchema) || !strings.Contains(err.Error(), "start one of that version") {
		t.Errorf("opened: %v", err)
	}
	server.do(t, "HSET", "{meanwhile}:long", "phase", "2")
	if jobs, err := open(t, "redis://"+server.address()).List(t.Context(), job.Filter{Limit: 1000}); err != nil || len(jobs) != 266 {
		t.Errorf("it has %d jobs, %v", len(jobs), err)
	}
}
