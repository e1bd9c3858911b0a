// Package jobs compares package job with River, on PostgreSQL and on SQLite, and with asynq on Redis. It contains only tests; see the
// README of bench for how to run them.
//
// Without MEANWHILE_BENCH_JOBS=full the sizes are small, to test that everything works. The PostgreSQL server is the one at
// 127.0.0.1:5432, or the one in MEANWHILE_BENCH_POSTGRES; each measurement creates a database of its own there and drops it. On
// Redis, each measurement starts a redis-server.
//
// River's driver for SQLite requires another version of River than its driver for PostgreSQL. Both cannot be in one program, so
// the former has a go.mod of its own, ../riversqlite.mod, and the build tag riversqlite.
package jobs
