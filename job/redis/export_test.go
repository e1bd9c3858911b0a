package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// CheckInfo returns the error for a server whose INFO is the given text.
func CheckInfo(text string) error {
	return (&Store{place: &place{durable: true}}).checkServer(info(text))
}

var rate = inline("rate", `
local rate = { n = tonumber(ARGV[1]), per = tonumber(ARGV[2]), burst = tonumber(ARGV[3]) }
local full, n = tonumber(ARGV[4]), tonumber(ARGV[6])
now = tonumber(ARGV[5])
return { int(math.min(left(rate, full), 1e9)), int(take(rate, full, n)), int(nextStart(rate, full)) }`)

var charged = inline("charge", `
local rate = { n = tonumber(ARGV[1]), per = tonumber(ARGV[2]), burst = tonumber(ARGV[3]) }
local full, n = tonumber(ARGV[4]), tonumber(ARGV[6])
now = tonumber(ARGV[5])
full = charge(rate, full, n)
return { int(full), int(nextStart(rate, full)) }`)

// Charge runs the arithmetic of units of the scripts; times are in microseconds.
func (s *Store) Charge(ctx context.Context, r job.Rate, full, now int64, n int) (charge, next int64, err error) {
	got, err := s.run(ctx, charged, rateArgs(r, full, now, n)...)
	if err != nil {
		return 0, 0, err
	}
	return number(got[0]), number(got[1]), nil
}

func rateArgs(r job.Rate, full, now int64, n int) []string {
	return []string{
		strconv.Itoa(r.N), strconv.FormatInt(r.Per.Microseconds(), 10), strconv.Itoa(max(r.Burst, 1)),
		strconv.FormatInt(full, 10), strconv.FormatInt(now, 10), strconv.Itoa(n),
	}
}

// Rate runs the arithmetic of job.Rate of the scripts; times are in microseconds.
func (s *Store) Rate(ctx context.Context, r job.Rate, full, now int64, n int) (left, taken, next int64, err error) {
	got, err := s.run(ctx, rate, rateArgs(r, full, now, n)...)
	if err != nil {
		return 0, 0, 0, err
	}
	return number(got[0]), number(got[1]), number(got[2]), nil
}

// MoveBack moves the times of watches and commands for workers back.
func (s *Store) MoveBack(ctx context.Context, by time.Duration) error {
	_, err := s.runOne(ctx, moveBack, span(by))
	return err
}

// Minutes counts watches and commands for workers.
func (s *Store) Minutes(ctx context.Context) (int, error) {
	m, err := s.runOne(ctx, minutes)
	return int(number(m)), err
}

// ClaimRun runs the script of a claim once, with the steps todo, and returns how many jobs it took.
func (s *Store) ClaimRun(ctx context.Context, c job.Claim, todo string) (int, error) {
	g := &claiming{Store: s, c: c, left: c.Limit}
	got, err := s.run(ctx, claimScript, g.args(todo, c.Limit, "0", "", c.Queues)...)
	if err != nil || number(got[0]) == 0 {
		return 0, err
	}
	_, all, err := g.addRun(got, c.Queues)
	return all, err
}

// BeginLong sends the parts of a long insert, and starts it if begin is set, as a program does that then crashes.
func (s *Store) BeginLong(ctx context.Context, begin bool, jobs ...*job.Job) error {
	args := make([]string, len(jobs))
	for i, j := range jobs {
		args[i] = longArg(0, j, newArg(j))
	}
	if !begin {
		return s.sendPart(ctx, "sent", "", args)
	}
	return s.beginLong(ctx, "begun", "", "", nil, args)
}

// FillOverrides gives n keys of a queue limits of their own.
func (s *Store) FillOverrides(ctx context.Context, queue string, n int) error {
	_, err := s.runOne(ctx, fillOverrides, queue, strconv.Itoa(n))
	return err
}

func inline(name, body string) *script {
	return makeScript(name, func() string {
		lib, _ := newScript("lane").load()
		return lib + body
	})
}

var (
	moveBack = inline("move back", `
for _, id in ipairs(call('ZRANGE', P .. 'watches', 0, -1)) do call('ZINCRBY', P .. 'watches', '-' .. ARGV[1], id) end
for _, key in ipairs(call('KEYS', P .. 'orders:*')) do
  for i, order in ipairs(call('LRANGE', key, 0, -1)) do
    local at, text = string.match(order, '^(%d+)(.*)$')
    call('LSET', key, i - 1, int(at - ARGV[1]) .. text)
  end
end
return 1`)
	fillOverrides = inline("fill overrides", `
for i = 1, tonumber(ARGV[2]) do
  call('HSET', P .. 'v:' .. ARGV[1], 'k' .. i, '1 0 0 1 0 0 1 0\n{"running":1}')
  call('ZADD', P .. 'vk:' .. ARGV[1], 0, 'k' .. i)
end
call('HSET', P .. 'q:' .. ARGV[1], 'ov', ARGV[2])
return 1`)
	minutes = inline("minutes", `
local n = call('ZCARD', P .. 'watches') + call('HLEN', P .. 'trees')
for _, key in ipairs(call('KEYS', P .. 'orders:*')) do n = n + call('LLEN', key) end
return n`)
)

// LookAtMost limits how many lanes and jobs that it cannot take a claim reads in one run, until the returned function is called.
func LookAtMost(n int) (restore func()) {
	was := claimScript
	before, _ := was.load()
	text := strings.Replace(before, "local mostLooked = 1000\n", "local mostLooked = "+strconv.Itoa(n)+"\n", 1)
	if text == before {
		panic("lua/turns.lua has no such bound")
	}
	claimScript = makeScript(was.name, func() string { return text })
	return func() { claimScript = was }
}

// Harm runs a script in which q is the default queue.
func (s *Store) Harm(ctx context.Context, body string) error {
	_, err := s.runOne(ctx, inline("harm", "local q = openQueue('default')\n"+body+"\nreturn 1"))
	return err
}

// GroupInserts returns a function that inserts a job as concurrent callers of one store do; flush is called instead of a script.
func GroupInserts(flush func(jobs int)) func(ctx context.Context, j *job.Job) error {
	g := groupInserts(func(_ context.Context, jobs []*job.Job) ([]inserted, error) {
		flush(len(jobs))
		return make([]inserted, len(jobs)), nil
	})
	return func(ctx context.Context, j *job.Job) error {
		_, err := g.Do(ctx, j)
		return err
	}
}
