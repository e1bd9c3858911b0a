package redis

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/redis/rueidis"
)

// The bounds of what is sent at once.
const (
	mostArgs  = 500 // jobs or outcomes
	mostBytes = 4 << 20
	stageKept = 60_000 // ms, for which parts wait for the call that they are of
)

// runStaged runs a script that writes all of its arguments or none. Where they are many, all but the last part are sent to a list before.
func (s *Store) runStaged(ctx context.Context, sc *script, args []string) ([]rueidis.RedisMessage, error) {
	token := ""
	for {
		n, bytes := 0, 0
		for n < len(args) && n < mostArgs && bytes < mostBytes {
			bytes += len(args[n])
			n++
		}
		if n == len(args) {
			break
		}
		if token == "" {
			token = rand.Text()
		}
		if err := s.stage(ctx, token, args[:n]); err != nil {
			return nil, err
		}
		args = args[n:]
	}
	got, err := s.run(ctx, sc, append([]string{token}, args...)...)
	if err != nil {
		return nil, err
	}
	if text(got[0]) == "there" {
		return nil, thereError(idOf(text(got[1])))
	}
	return got[1:], nil
}

// pack makes one argument of many, an array of MessagePack: one costs the server much less than many.
func pack(fields ...string) string {
	size := 3
	for _, f := range fields {
		size += 5 + len(f)
	}
	b := make([]byte, 0, size)
	b = append(b, 0xdc, byte(len(fields)>>8), byte(len(fields)))
	for _, f := range fields {
		if len(f) < 32 {
			b = append(b, 0xa0|byte(len(f)))
		} else {
			b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(len(f)))
		}
		b = append(b, f...)
	}
	return string(b)
}

func (s *Store) stage(ctx context.Context, token string, args []string) error {
	c, err := s.connected(ctx)
	if err != nil {
		return err
	}
	key := s.prefix + "stage:" + token
	for _, r := range c.DoMulti(ctx,
		c.B().Rpush().Key(key).Element(args...).Build(),
		c.B().Pexpire().Key(key).Milliseconds(stageKept).Build(),
	) {
		if err := r.Error(); err != nil {
			return err
		}
	}
	return nil
}
