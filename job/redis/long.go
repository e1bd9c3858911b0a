package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostShort is how many jobs or outcomes one script may write, so that it runs a few milliseconds at most: the server does nothing else while it
// runs a script.
const mostShort = 250

// isShort reports whether n jobs and outcomes with these arguments fit one script.
func isShort(n int, lists ...[]string) bool {
	bytes := 0
	for _, list := range lists {
		for _, arg := range list {
			bytes += len(arg)
		}
	}
	return n <= 1 || n <= mostShort && bytes <= mostBytes
}

// longArg encodes a new job for a long call. number is the outcome that it follows, or 0.
func longArg(number int, j *job.Job, arg string) string {
	return strconv.Itoa(number) + ":" + idText(j.ID) + arg
}

// runLong writes outcomes and new jobs, all or none, in parts that each take the server a short time. Other calls wait until all parts are written,
// see lua/long.lua. If a program crashes on the way, either nothing is written or other programs finish the call.
func (s *Store) runLong(ctx context.Context, session string, outcomes, new []string) ([]rueidis.RedisMessage, error) {
	token, full := rand.Text(), ""
	if len(outcomes) > 0 {
		full = "1" // outcomes may be written to a full memory, new jobs alone may not
	}
	if err := s.beginLong(ctx, token, full, session, outcomes, new); err != nil {
		return nil, err
	}
	for {
		left, err := s.runOne(ctx, longScript)
		if err != nil {
			return nil, err
		}
		if text(left) != token {
			return s.answer(ctx, token)
		}
	}
}

// beginLong sends all parts of a long call, and then starts it.
func (s *Store) beginLong(ctx context.Context, token, full, session string, outcomes, new []string) error {
	for _, list := range [][]string{outcomes, new} {
		for len(list) > 0 {
			n := fitting(list)
			if err := s.sendPart(ctx, token, full, list[:n]); err != nil {
				return err
			}
			list = list[n:]
		}
	}
	_, err := s.runOne(ctx, longScript, token, session, strconv.Itoa(len(outcomes)), strconv.Itoa(len(new)), full, strconv.Itoa(stageKept))
	return err
}

// answer fetches the answer of a finished long call.
func (s *Store) answer(ctx context.Context, token string) ([]rueidis.RedisMessage, error) {
	c, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	key := s.prefix + "answer:" + token
	got, err := c.Do(ctx, c.B().Lrange().Key(key).Start(0).Stop(-1).Build()).ToArray()
	if err != nil {
		return nil, err
	}
	if len(got) == 0 {
		return nil, errors.New("a large call was written, but its answer is gone after a minute: look whether its jobs are there")
	}
	if err := c.Do(ctx, c.B().Del().Key(key).Build()).Error(); err != nil {
		return nil, err
	}
	return unlessThere(got, nil)
}

// unlessThere returns the answer of a script that inserts jobs without its first word, which reports whether an ID existed
// already.
func unlessThere(got []rueidis.RedisMessage, err error) ([]rueidis.RedisMessage, error) {
	if err != nil {
		return nil, err
	}
	if text(got[0]) == "there" {
		return nil, thereError(idOf(text(got[1])))
	}
	return got[1:], nil
}
