package redis

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/redis/rueidis"
)

// Bounds of what is sent at once.
const (
	mostArgs  = 500 // per part of a call
	mostBytes = 1 << 20
	stageKept = 60_000 // in ms: how long parts wait for their call, and an answer for its caller
)

// runStaged runs a script that uses all of its arguments at once. If they are many, all but the last part are first sent to a list.
func (s *Store) runStaged(ctx context.Context, sc *script, args []string) ([]rueidis.RedisMessage, error) {
	token := ""
	if n := fitting(args); n < len(args) {
		token = rand.Text()
		for ; n < len(args); n = fitting(args) {
			if err := s.sendPart(ctx, token, "", args[:n]); err != nil {
				return nil, err
			}
			args = args[n:]
		}
	}
	return s.run(ctx, sc, append([]string{token}, args...)...)
}

// fitting returns how many of the arguments are sent at once.
func fitting(args []string) int {
	n, bytes := 0, 0
	for n < len(args) && n < mostArgs && bytes < mostBytes {
		bytes += len(args[n])
		n++
	}
	return n
}

// sendPart sends a part of a call; full is "1" if it may be sent while the memory is full.
func (s *Store) sendPart(ctx context.Context, token, full string, args []string) error {
	_, err := s.runOne(ctx, partScript, append([]string{token, strconv.Itoa(stageKept), full}, args...)...)
	return err
}
