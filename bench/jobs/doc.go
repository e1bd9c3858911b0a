// Package jobs compares package job with River, on PostgreSQL and on SQLite, and with asynq on Redis. It has nothing but tests; the README
// of bench says how to run them.
//
// Without MEANWHILE_BENCH_JOBS=full the sizes are small, to see that everything runs. The PostgreSQL server is the one at
// 127.0.0.1:5432, or that of MEANWHILE_BENCH_POSTGRES; each measurement makes a database of its own there and drops it. On Redis
// each starts a redis-server.
//
// River's driver for SQLite belongs to another version of River than its driver for PostgreSQL. Both cannot be in one
// program, so the former has a go.mod of its own, ../riversqlite.mod, and the build tag riversqlite.
package jobs
