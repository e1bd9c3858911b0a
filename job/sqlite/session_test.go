package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
)

// TestReadsPrepareWhatRunsAgain: a statement that runs several times in a read-only transaction, such as for each part of the archive, is parsed
// at most twice.
func TestReadsPrepareWhatRunsAgain(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.read(t.Context(), "read", func(tx *txn) error {
		f := tx.session.(foreign)
		prepared := []*sql.Stmt{}
		for n := range int64(4) {
			row, err := one(tx, "select ?1", n)
			if err != nil || integer(row[0]) != n {
				t.Errorf("got %v, %v; want %d", row, err, n)
			}
			prepared = append(prepared, f.prepared["select ?1"])
		}
		if prepared[0] != nil || prepared[1] == nil || prepared[2] != prepared[1] || prepared[3] != prepared[1] {
			t.Errorf("prepared: %v, want one from the second time on", prepared)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.DB().BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	user := foreign{ctx: t.Context(), tx: tx} // statements are not kept: they would last as long as the caller's transaction
	for n := range int64(3) {
		if row, err := one(user, "select ?1", n); err != nil || integer(row[0]) != n {
			t.Errorf("in a transaction of the caller's: got %v, %v; want %d", row, err, n)
		}
	}
}
