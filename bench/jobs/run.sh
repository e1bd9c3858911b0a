#!/usr/bin/env bash
# Compares libraries for background jobs, and prints their tables for docs/benchmarks-method.md. It takes about half an hour on two
# cores and, temporarily, some 20 GB of disk. It needs a PostgreSQL server, see doc.go.
#
#   bench/jobs/run.sh                  measure
#   bench/jobs/run.sh -w               measure, and put the tables into docs/benchmarks-method.md
#   ROUNDS=1 LARGE= bench/jobs/run.sh  a first impression
#
# The benchmarks in LARGE run in the first round only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

rounds=${ROUNDS:-3}
read -ra large <<<"${LARGE-Crowded Snapshot Pages FullKeys NewKey}"
results=jobs/results.out
export MEANWHILE_BENCH_JOBS=full MEANWHILE_CI=1

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go test -c -o "$scratch/jobs" ./jobs
# The benchmarks of River's driver for SQLite need a separate program.
go test -c -modfile=riversqlite.mod -tags riversqlite -o "$scratch/riversqlite" ./jobs

# measure BENCHMARK measures all libraries.
measure() {
	local program
	for program in jobs riversqlite; do
		"$scratch/$program" -test.run '^$' -test.timeout 1h -test.benchtime 1x -test.bench "^Benchmark$1\$" | tee -a "$results"
	done
}

: >"$results"
for ((round = 1; round <= rounds; round++)); do
	printf '== round %d of %d\n' "$round" "$rounds"
	for subject in Drain Enqueue Bulk Latency Wait100ms Three Memory Scripts QueuedMemory Keys Limits BullMQ; do measure "$subject"; done
	if ((round == 1)); then
		for subject in "${large[@]}"; do measure "$subject"; done
	fi
done

if [ "${1:-}" = -w ]; then go run ./tables -w ../docs/benchmarks-method.md "$results"; fi
go run ./tables "$results"
printf 'raw results: bench/%s\n' "$results"
