#!/usr/bin/env bash
# Runs the benchmarks of the hot paths and compares them with the baseline in docs/benchmarks: benchmarks.sh [--save]. With
# --save what is measured becomes the baseline. Times of another machine say little: take a baseline of your own first, or
# look at the allocations and sizes, which are the same everywhere.
set -euo pipefail
source "$(dirname "$0")/modules.sh"

baseline=docs/benchmarks/hotpaths.txt
now=.build/hotpaths.txt
mkdir -p .build
: >"$now"
# measure PACKAGE PATTERN runs benchmarks on one processor, so that the collector's share is in the figure.
measure() { run go test -run '^$' -bench "$2" -benchmem -benchtime 300ms -count 6 -cpu 1 "$1" | tee -a "$now"; }
measure ./wire 'Pod'
measure ./wire/decode '_Pod'
measure ./store/internal/delta '.'
measure ./store 'Prepare|Write/same|Stage|Snapshot_(Get|By|Labels)|Ref'
measure . 'Informer_Heap/encoded|Informer_Burst'
if [ "${1:-}" = --save ]; then
	grep -v '^+' "$now" >"$baseline"
	echo "the baseline is now $baseline"
	exit
fi
run env GOWORK=off go -C tools tool benchstat "../$baseline" "../$now"
