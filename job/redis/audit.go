package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/job"
)

// Audit appends entries to the audit log.
func (s *Store) Audit(ctx context.Context, entries ...job.AuditEntry) error {
	return s.call(ctx, "write to the audit log", func(ctx context.Context) error {
		args := []string{strconv.Itoa(job.MostAudited)}
		for _, e := range entries {
			encoded, err := json.Marshal(e)
			if err != nil {
				return err
			}
			args = append(args, micros(e.Time), string(encoded))
		}
		_, err := s.runStaged(ctx, auditScript, args)
		return err
	})
}

// Audited returns the newest entries below the number before.
func (s *Store) Audited(ctx context.Context, before int64, limit int) ([]job.AuditEntry, error) {
	var found []job.AuditEntry
	err := s.call(ctx, "read the audit log", func(ctx context.Context) error {
		if limit <= 0 {
			return nil
		}
		c, err := s.connected(ctx)
		if err != nil {
			return err
		}
		below := "+inf"
		if before != 0 {
			below = "(" + strconv.FormatInt(before, 10)
		}
		rows, err := c.Do(ctx, c.B().Zrevrangebyscore().Key(s.prefix+"audit").Max(below).Min("-inf").Limit(0, int64(min(limit, job.MostAudited))).Build()).AsStrSlice()
		if err != nil {
			return err
		}
		for _, row := range rows {
			parts := strings.SplitN(row, "\n", 3)
			if len(parts) < 3 {
				return fmt.Errorf("entry %.40q: it has no number and time", row)
			}
			var e job.AuditEntry
			if err := json.Unmarshal([]byte(parts[2]), &e); err != nil {
				return fmt.Errorf("entry %s: %w", parts[0], err)
			}
			e.N, err = strconv.ParseInt(parts[0], 10, 64)
			if err != nil {
				return fmt.Errorf("entry %.40q: %w", row, err)
			}
			e.Time = timeOf(parts[1])
			found = append(found, e)
		}
		return nil
	})
	return found, err
}
