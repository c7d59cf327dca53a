#!/bin/sh
# Runs every test program of a build, as many at once as there are jobs, and adds up their lines 'N passed, N failed'.
# Usage: scripts/run_units.sh BUILD_FOLDER [name pattern]
set -u
cd "$(dirname "$0")/.." || exit 1

# run_units.sh --one FOLDER PROGRAM: runs one program; its report goes to FOLDER/NAME, in one piece.
if [ "$1" = "--one" ]; then
    name=$(basename "$3")
    output=$2/$name.output
    status=0
    start=$(date +%s)
    timeout "${KN_TEST_TIMEOUT:-600}" "$3" >"$output" 2>&1 </dev/null || status=$?
    seconds=$(($(date +%s) - start))
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$output" | tail -n 1)
    good=0
    bad=1
    if [ -n "$line" ]; then
        good=${line%% passed*}
        bad=${line#*passed, }
        bad=${bad%% failed*}
        if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
    else
        echo "FAIL $name: ended with status $status and reported no result" >>"$output"
    fi
    if [ "$bad" -eq 0 ]; then : >"$output"; fi
    echo "$name: $good passed, $bad failed (status $status, $seconds s)" >>"$output"
    mv "$output" "$2/$name"
    exit 0
fi

. scripts/environment.sh
list=$1/tests.txt
pattern=${2:-}
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$PWD/tests/support/leaks.txt:print_suppressions=0}"
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
sums=$(sed -n 's/^[A-Za-z_0-9]*: \([0-9]*\) passed, \([0-9]*\) failed (.*/\1 \2/p' "$reports/all" |
    awk '{ p += $1; f += $2 } END { printf "%d %d", p, f }')
echo "${sums% *} passed, ${sums#* } failed"
[ "${sums#* }" -eq 0 ]
