#!/bin/sh
# Runs every test program of a build, as many at once as there are jobs, and adds up their lines 'N passed, N failed'.
# Usage: scripts/run_units.sh BUILD_FOLDER [name pattern]
set -u
cd "$(dirname "$0")/.." || exit 1

# idle_seconds NAME: what a test takes on an idle machine, 15 where the list has no line for it.
idle_seconds() {
    awk -v name="$1" '$1 == name { found = $2 } END { print found ? found : 15 }' tests/support/idle_seconds.txt
}

# unlisted_skips OUTPUT: the skips of a test that tests/support/skips.txt gives no reason for.
unlisted_skips() {
    sed -n 's/^skipped: //p' "$1" | while read -r skip; do
        grep -v '^#' tests/support/skips.txt | sed 's/ *|.*//' | {
            while read -r known; do
                case "$skip" in "$known"*) exit 0 ;; esac
            done
            echo "$skip"
        }
    done
}

# run_units.sh --one FOLDER PROGRAM: runs one program; its report goes to FOLDER/NAME, in one piece.
if [ "$1" = "--one" ]; then
    name=$(basename "$3")
    output=$2/$name.output
    status=0
    start=$(date +%s)
    # LeakSanitizer itself crashes now and then after a good run, over thread-local memory of libraries loaded at run time such as
    # PoCL's, even with the option below, in up to a third of the runs: it gets six tries.
    for try in 1 2 3 4 5 6; do
        status=0
        scripts/run_limited.py "$(idle_seconds "$name")" "$3" >"$output" 2>&1 </dev/null || status=$?
        grep -q 'LeakSanitizer has encountered a fatal error' "$output" || break
    done
    seconds=$(($(date +%s) - start))
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$output" | tail -n 1)
    good=0
    bad=1
    if [ -n "$line" ]; then
        good=${line%% passed*}
        bad=${line#*passed, }
        bad=${bad%% failed*}
        if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
    elif [ "$status" -ne 124 ]; then
        echo "FAIL $name: ended with status $status and reported no result" >>"$output"
    fi
    skips=$(unlisted_skips "$output")
    if [ -n "$skips" ]; then
        bad=$((bad + 1))
        echo "FAIL $name: skipped without a reason in tests/support/skips.txt: $skips" >>"$output"
    fi
    skipped=$(grep -c '^skipped: ' "$output")
    if [ "$bad" -eq 0 ]; then : >"$output"; fi
    echo "$name: $good passed, $bad failed, $skipped skipped (status $status, $seconds s)" >>"$output"
    mv "$output" "$2/$name"
    exit 0
fi

. scripts/environment.sh
list=$1/tests.txt
pattern=${2:-}
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$PWD/tests/support/leaks.txt:print_suppressions=0}"
# With it LeakSanitizer reads wrong addresses for thread-local memory of libraries loaded at run time, and crashes more often.
export ASAN_OPTIONS="${ASAN_OPTIONS:-intercept_tls_get_addr=0}"
if [ ! -f "$list" ]; then
    echo "run_units: $list is missing; build first" >&2
    exit 1
fi
reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
wanted=$(while read -r program; do
    case "$(basename "$program")" in *"$pattern"*) echo "$program" ;; esac
done <"$list")
echo "$wanted" | xargs -r -d '\n' -n 1 -P "$jobs" "$0" --one "$reports"
for program in $wanted; do
    name=$(basename "$program")
    cat "$reports/$name" 2>/dev/null || echo "$name: 0 passed, 1 failed (it never ended)"
done >"$reports/all"
cat "$reports/all"
sums=$(sed -n 's/^[A-Za-z_0-9]*: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped (.*/\1 \2 \3/p' "$reports/all" |
    awk '{ p += $1; f += $2; s += $3 } END { printf "%d %d %d", p, f, s }')
# shellcheck disable=SC2086
set -- $sums
if [ "$3" -gt 0 ]; then echo "$3 skips, each listed in tests/support/skips.txt"; fi
echo "$1 passed, $2 failed"
[ "$2" -eq 0 ]
