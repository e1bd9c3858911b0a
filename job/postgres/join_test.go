package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// TestJoinedStores holds three databases behind one store to the contract, but for what holds in each of them only.
func TestJoinedStores(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	urls := []string{database(t, server()), database(t, server()), database(t, server())}
	var pools []*pgxpool.Pool
	for _, url := range urls {
		open(t, url)
		pools = append(pools, connect(t, url))
	}
	jobtest.TestStore(t, func(t *testing.T) job.Store {
		var stores []job.Store
		for i, url := range urls {
			execSQL(t, pools[i], emptyTables)
			s, err := postgres.Open(t.Context(), url+"?pool_max_conns=4")
			if err != nil {
				t.Fatal(err)
			}
			stores = append(stores, s)
		}
		joined := job.Join(stores...)
		t.Cleanup(func() {
			if err := joined.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return joined
	}, jobtest.OrderInParts, jobtest.CallsInParts, jobtest.UniqueInParts, jobtest.LimitsFirst, jobtest.ThrottleInParts, jobtest.SessionsInParts)
}

// emptyTables deletes all rows but that of the schema's version. It truncates large tables alone: a truncated one gets new files, and so do
// its indexes, which for all of them takes longer than most clauses of the contract.
const emptyTables = `do $$
	declare
		t regclass;
	begin
		set local session_replication_role = replica; -- no trigger is to count what is deleted
		for t in select format('meanwhile.%I', tablename) from pg_tables where schemaname = 'meanwhile' and tablename <> 'version' loop
			case
			when pg_relation_size(t) = 0 then
			when pg_relation_size(t) > 1000000 then execute format('truncate %s', t);
			else execute format('delete from %s', t);
			end case;
		end loop;
	end $$`

// TestAJoinedStoreIsNamedWithoutItsPassword by the server, the database and the schema.
func TestAJoinedStoreIsNamedWithoutItsPassword(t *testing.T) {
	var stores []job.Store
	for _, url := range []string{"postgres://me:secret@127.0.0.1:1/app?schema=jobs", "host=127.0.0.1 port=1 user=me password=secret dbname=other"} {
		s, err := postgres.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, s)
	}
	joined := job.Join(stores...)
	defer joined.Close()
	err := joined.Ping(t.Context())
	for _, want := range []string{"store 1 of 2 (PostgreSQL at 127.0.0.1:1, database app, schema jobs)", "store 2 of 2 (PostgreSQL at 127.0.0.1:1, database other, schema meanwhile)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ping: %v, want %q", err, want)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "user=me password")) {
		t.Errorf("the error shows the password: %v", err)
	}
}
