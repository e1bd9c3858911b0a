package redis

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/rueidis"
)

//go:embed lua/*.lua
var files embed.FS

// A script is run by the server atomically. Its text is built when it is first run: some programs run no scripts.
type script struct {
	name string
	load func() (text, sha string)
}

func makeScript(name string, text func() string) *script {
	return &script{name: name, load: sync.OnceValues(func() (string, string) {
		t := text()
		sum := sha1.Sum([]byte(t))
		return t, hex.EncodeToString(sum[:])
	})}
}

// common are the files of scripts that read and write jobs. Each file may use what those before it define.
var common = []string{"keys", "gather", "value", "jobs", "queue_limits", "batch", "due_list", "ended", "unique", "done", "place"}

// newScript makes a script of the common files and others; the last one gives it its name. It waits for a long call to end.
func newScript(names ...string) *script { return withCommon(append([]string{"alone"}, names...)...) }

// withCommon makes a script that does not wait for a long call to end.
func withCommon(names ...string) *script { return join(slices.Concat(common, names)) }

func join(names []string) *script {
	return makeScript(names[len(names)-1], func() string {
		var text strings.Builder
		for _, name := range names {
			part, err := files.ReadFile("lua/" + name + ".lua")
			if err != nil {
				panic("job/redis: " + err.Error()) // the file is embedded
			}
			text.Write(part)
		}
		return text.String()
	})
}

var (
	checkScript     = withCommon("check")
	foreignScript   = withCommon("foreign")
	plainScript     = join([]string{"keys", "alone", "plain"})
	insertScript    = newScript("new", "insert")
	settleScript    = newScript("lane", "outcome", "new", "settle")
	partScript      = withCommon("part")
	longScript      = withCommon("lane", "outcome", "new", "long")
	claimScript     = newScript("lane", "turns", "session", "claim")
	renewScript     = newScript("session", "renew")
	leaveScript     = newScript("leave")
	orderScript     = newScript("orders", "order")
	watchScript     = newScript("watch")
	tickScript      = newScript("new", "tick")
	cronsScript     = newScript("crons")
	cronPauseScript = newScript("cron_pause")
	queuesScript    = newScript("queues")
	waitsScript     = newScript("waits")
	countsScript    = newScript("counts")
	pauseScript     = newScript("pause")
	limitsSetScript = newScript("limits_set")
	limitsScript    = newScript("lane", "limits")
	overrideScript  = newScript("lane", "override_set")
	overridesScript = newScript("overrides")
	listScript      = newScript("scan", "list")
	applyScript     = newScript("scan", "apply")
	statsScript     = newScript("stats")
	pastScript      = newScript("past")
	statsOldScript  = newScript("stats_old")
	statsAddScript  = newScript("stats_add")
	auditScript     = newScript("stage", "audit")
	pruneScript     = newScript("prune")
	sweepScript     = newScript("lane", "orders", "sweep")

	lanedScript          = newScript("laned")
	compareRunningScript = newScript("compare_running")
	compareLanesScript   = newScript("lane", "compare_lanes")
	compareJobsScript    = newScript("lane", "compare_jobs")
)

// run runs a script that returns an array.
func (s *Store) run(ctx context.Context, sc *script, args ...string) ([]rueidis.RedisMessage, error) {
	c, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	return s.runOn(ctx, c, sc, args...)
}

// runOn is run for a given client.
func (s *Store) runOn(ctx context.Context, c *client, sc *script, args ...string) ([]rueidis.RedisMessage, error) {
	m, err := s.message(ctx, c, sc, args)
	if err != nil {
		return nil, err
	}
	values, err := m.ToArray()
	if err != nil {
		return nil, fmt.Errorf("script %s: %w", sc.name, err)
	}
	return values, nil
}

// runOne is run for a script that returns one value.
func (s *Store) runOne(ctx context.Context, sc *script, args ...string) (rueidis.RedisMessage, error) {
	c, err := s.connected(ctx)
	if err != nil {
		return rueidis.RedisMessage{}, err
	}
	return s.message(ctx, c, sc, args)
}

// message runs a script. While a long call is being written, it writes parts of that first. If the server has lost the store, it checks the server again
// and creates the store: otherwise there would be keys without meta, which every later check takes for those of another program.
func (s *Store) message(ctx context.Context, c *client, sc *script, args []string) (rueidis.RedisMessage, error) {
	for {
		m, err := s.send(ctx, c, sc, args)
		r, ok := rueidis.IsRedisErr(err)
		switch {
		case ok && strings.HasPrefix(r.Error(), "LONG "):
			if _, err := s.send(ctx, c, longScript, nil); err != nil {
				return m, fmt.Errorf("write a part of a long call: %w", err)
			}
		case ok && strings.HasPrefix(r.Error(), "META "):
			if err := s.check(ctx, c); err != nil {
				return m, err
			}
		default:
			return m, err
		}
	}
}

// send runs a script by its hash. If the server does not know it, as after a failover or SCRIPT FLUSH, it sends the text.
func (s *Store) send(ctx context.Context, c *client, sc *script, args []string) (rueidis.RedisMessage, error) {
	text, sha := sc.load()
	m, err := c.Do(ctx, c.B().Evalsha().Sha1(sha).Numkeys(1).Key(s.prefix).Arg(args...).Build()).ToMessage()
	if r, ok := rueidis.IsRedisErr(err); ok && r.IsNoScript() {
		m, err = c.Do(ctx, c.B().Eval().Script(text).Numkeys(1).Key(s.prefix).Arg(args...).Build()).ToMessage()
	}
	if r, ok := rueidis.IsRedisErr(err); ok && strings.HasPrefix(r.Error(), "READONLY") {
		s.reconnect(c)
	}
	return m, err
}

// texts returns the strings of an array.
func texts(m rueidis.RedisMessage) []string {
	values, _ := m.ToArray()
	all := make([]string, len(values))
	for i := range values {
		all[i], _ = values[i].ToString()
	}
	return all
}

func text(m rueidis.RedisMessage) string {
	if m.IsInt64() {
		n, _ := m.ToInt64()
		return fmt.Sprint(n)
	}
	s, _ := m.ToString()
	return s
}

func number(m rueidis.RedisMessage) int64 {
	n, _ := m.AsInt64()
	return n
}
