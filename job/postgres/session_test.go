package postgres_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestRenewWritesFewRows: the cost of holding ten thousand jobs does not grow with their number.
func TestRenewWritesFewRows(t *testing.T) {
	ctx, url := t.Context(), database(t, server())
	s, pool := open(t, url), connect(t, url)
	var held [][16]byte
	for range 10 {
		jobs := make([]*job.Job, 1000)
		for i := range jobs {
			jobs[i] = newJob(t)
		}
		if _, err := s.Insert(ctx, jobs...); err != nil {
			t.Fatal(err)
		}
		for _, j := range claim(t, s, len(jobs)) {
			held = append(held, j.ID)
		}
	}
	for name, asked := range map[string][][16]byte{"a beat": {}, "a beat that asks about all": held} {
		var text []byte
		err := pool.QueryRow(ctx, "explain (analyze, wal, format json) "+s.SQL("renew"), pgx.QueryExecModeDescribeExec, "w", asked, 30*time.Second, "{}",
			[]time.Time{}, time.Time{}, []string{}, []string{}, []int64{}, []string{}, [][16]byte{}, []int32{}, []string{}, int64(1), [][16]byte{}, job.MostWatched, job.CommandKept).Scan(&text)
		if err != nil {
			t.Fatal(err)
		}
		var plans []struct{ Plan planNode }
		if err := json.Unmarshal(text, &plans); err != nil {
			t.Fatal(err)
		}
		records, bytes := plans[0].Plan.written()
		t.Logf("%s, of %d jobs: %d records of WAL, %d bytes", name, len(held), records, bytes)
		if records == 0 || records > 20 {
			t.Errorf("%s writes %d records of WAL for %d jobs, want a few", name, records, len(held))
		}
	}
}

type planNode struct {
	Type    string `json:"Node Type"`
	Records int    `json:"WAL Records"`
	Bytes   int    `json:"WAL Bytes"`
	Plans   []planNode
}

// written returns how much the writing parts of a statement have written.
func (n planNode) written() (records, bytes int) {
	if n.Type == "ModifyTable" {
		return n.Records, n.Bytes
	}
	for _, below := range n.Plans {
		r, b := below.written()
		records, bytes = records+r, bytes+b
	}
	return records, bytes
}
