#!/bin/sh
# Builds and runs the fuzzers of tests/fuzz, each for some seconds: scripts/fuzz.sh [SECONDS [NAME]]
# A NAME runs only the fuzzer of that parser. What a fuzzer learns is kept in the build folder and used by the next run; an
# input that fails is left there too, and shown.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/environment.sh
seconds=${1:-120}
only=${2:-}
scripts/build.sh fuzz || exit 1
corpus=$root/fuzz/corpus
findings=$root/fuzz/findings
mkdir -p "$corpus" "$findings"

fuzz_one() { # fuzz_one PROGRAM
    parser=$(basename "$1")
    parser=${parser#fuzz_}
    seeds=tests/fuzz/seeds/$parser
    mkdir -p "$corpus/$parser"
    rm -f "$findings/$parser"-*
    if [ ! -d "$seeds" ]; then
        echo "no seeds in $seeds"
        return 1
    fi
    ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
        "$1" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -max_len=16384 -print_final_stats=1 \
        -artifact_prefix="$findings/$parser-" "$corpus/$parser" "$seeds"
}

# As many at once as there are jobs.
names=""
running=0
for program in "$root"/fuzz/tests/fuzz/fuzz_*; do
    if [ ! -x "$program" ] || [ -d "$program" ]; then continue; fi
    name=$(basename "$program")
    if [ -n "$only" ] && [ "$name" != "fuzz_$only" ]; then continue; fi
    names="$names $name"
    (
        fuzz_one "$program" >"$root/fuzz/$name.log" 2>&1
        echo $? >"$root/fuzz/$name.status"
    ) &
    running=$((running + 1))
    if [ "$running" -ge "$jobs" ]; then
        wait
        running=0
    fi
done
wait

passed=0
failed=0
for name in $names; do
    log=$root/fuzz/$name.log
    if [ "$(cat "$root/fuzz/$name.status")" = 0 ]; then
        passed=$((passed + 1))
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        covered=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
        echo "$name: ${runs:-0} inputs, ${covered:-0} edges"
    else
        failed=$((failed + 1))
        echo "$name failed:"
        tail -n 40 "$log"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
