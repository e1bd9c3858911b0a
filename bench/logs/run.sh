#!/usr/bin/env bash
# Compares log servers by their inputs, and prints their tables for docs/benchmarks-method.md. It takes some minutes on two cores
# and, temporarily, 1 GB of disk.
#
#   bench/logs/run.sh           measure
#   bench/logs/run.sh -w        measure, and put the tables into docs/benchmarks-method.md
#   ROUNDS=1 bench/logs/run.sh  a first impression
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

results=logs/results.out
export MEANWHILE_BENCH_LOGS=full
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go test -c -o "$scratch/logs" ./logs

: >"$results"
for ((round = 1; round <= ${ROUNDS:-3}; round++)); do
	printf '== round %d of %d\n' "$round" "${ROUNDS:-3}"
	(cd logs && "$scratch/logs" -test.run '^$' -test.timeout 1h -test.benchtime 1x -test.bench '^Benchmark(In|Own)$') | tee -a "$results"
	(cd logs && "$scratch/logs" -test.run '^$' -test.benchtime 1s -test.bench '^BenchmarkHandler$') | tee -a "$results"
done

if [ "${1:-}" = -w ]; then go run ./tables -w ../docs/benchmarks-method.md "$results"; fi
go run ./tables "$results"
printf 'raw results: bench/%s\n' "$results"
