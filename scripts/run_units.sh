#!/bin/sh
# Runs every test program of a build and adds up their lines 'N passed, N failed'.
# Usage: scripts/run_units.sh BUILD_FOLDER [name pattern]
set -u
cd "$(dirname "$0")/.." || exit 1
list=$1/tests.txt
pattern=${2:-}
passed=0
failed=0
output=$(mktemp)
export LSAN_OPTIONS="${LSAN_OPTIONS:-suppressions=$PWD/tests/support/leaks.txt:print_suppressions=0}"
trap 'rm -f "$output"' EXIT
if [ ! -f "$list" ]; then
    echo "run_units: $list is missing; build first" >&2
    exit 1
fi
while read -r program; do
    name=$(basename "$program")
    case "$name" in *"$pattern"*) ;; *) continue ;; esac
    status=0
    timeout "${KN_TEST_TIMEOUT:-600}" "$program" >"$output" 2>&1 </dev/null || status=$?
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$output" | tail -n 1)
    if [ -z "$line" ]; then
        cat "$output"
        echo "FAIL $name: ended with status $status and reported no result"
        failed=$((failed + 1))
        continue
    fi
    good=${line%% passed*}
    bad=${line#*passed, }
    bad=${bad%% failed*}
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
    if [ "$bad" -ne 0 ]; then cat "$output"; fi
    echo "$name: $good passed, $bad failed (status $status)"
    passed=$((passed + good))
    failed=$((failed + bad))
done <"$list"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
