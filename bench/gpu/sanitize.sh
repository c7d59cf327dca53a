#!/bin/sh
# compute-sanitizer over a sample of the conformance suite, one or two ops of each family of the op table (src/ops/*.def):
# memcheck for all of them, racecheck where work items share memory. One line for each family; any error fails.
# Usage: bench/gpu/sanitize.sh [DEVICE]   KN_BUILD_ROOT, KN_JOBS (8), COMPUTE_SANITIZER
set -u
cd "$(dirname "$0")/../.." || exit 1
device=${1:-cuda:0}
kiln=${KN_BUILD_ROOT:-build}/release/kiln
sanitizer=${COMPUTE_SANITIZER:-$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)}
if [ -z "$sanitizer" ]; then
    echo "sanitize: compute-sanitizer is not there; it comes with the CUDA toolkit, or set COMPUTE_SANITIZER" >&2
    exit 2
fi
[ -n "${KN_CUDA_LIBRARIES:-}" ] || KN_CUDA_LIBRARIES=$(python3 bench/gpu/libraries.py 2>/dev/null)
# Blocks of the size asked for: in the pool's classes an access past the end would stay inside the block.
export KN_CUDA_LIBRARIES KN_DEVICE_POOL=off KN_FALLBACK=off
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# family, tool, percent of the cases, filters of `kiln conform`
jobs="linalg memcheck 20 cholesky: triangular_solve:
spatial memcheck 30 resize: sample_grid:
window memcheck 20 max_pool2d: unfold4d:
loss memcheck 20 binary_cross_entropy: ctc_loss:
loss memcheck 4 cross_entropy:
normalise memcheck 30 embedding: rope:
elementwise memcheck 5 gelu: exp:
normalise memcheck 10 layer_norm: softmax:
contraction memcheck 5 matmul: conv2d:
contraction memcheck 10 attention:
creation memcheck 20 linspace: random:
indexing memcheck 5 gather: scatter:
movement memcheck 10 concat: pad:
reduce memcheck 5 mean: argmax:
scan memcheck 5 cumsum: cummax:
signal memcheck 2 fft:
sorting memcheck 2 sort: topk:
update memcheck 2 adam_update: sgd_update:
normalise racecheck 5 softmax:
reduce racecheck 2 sum:
scan racecheck 5 cumsum:
sorting racecheck 2 sort:
contraction racecheck 3 matmul:"

one() {
    family=$1 tool=$2 sample=$3
    shift 3
    log=$logs/$$ errors=0 passed=0 begun=$(date +%s)
    for filter; do
        "$sanitizer" --tool "$tool" --error-exitcode 99 "$kiln" conform --device "$device" --filter "$filter" \
            --sample "$sample" >"$log" 2>&1
        status=$?
        found=$(sed -n 's/.*ERROR SUMMARY: \([0-9]*\) error.*/\1/p; s/.*RACECHECK SUMMARY: \([0-9]*\) hazard.*/\1/p' "$log")
        count=$(sed -n 's/^\([0-9]*\) passed, [0-9]* failed.*/\1/p' "$log")
        passed=$((passed + ${count:-0}))
        # A run that checks nothing, or that the tool could not watch, shows nothing.
        if [ "$status" -ne 0 ] || [ "${found:-none}" != 0 ] || [ "${count:-0}" -eq 0 ]; then
            errors=$((errors + 1))
            grep -E '^=========|^FAIL|^kiln' "$log" | head -n 12
            echo "sanitize: $family $filter: status $status, errors of $tool: ${found:-not told}, ${count:-0} passed"
        fi
    done
    word=clean
    [ "$errors" -eq 0 ] || word="FAILED in $errors of $# filters"
    echo "$family $tool $*: $passed passed, $word, $(($(date +%s) - begun)) s"
    [ "$errors" -eq 0 ]
}

if [ "${SANITIZE_ONE:-}" ]; then
    # shellcheck disable=SC2086
    logs=$SANITIZE_LOGS && trap - EXIT && one $SANITIZE_ONE
    exit
fi
export SANITIZE_LOGS="$logs"
printf '%s\n' "$jobs" | xargs -P "${KN_JOBS:-8}" -I '{}' env "SANITIZE_ONE={}" sh bench/gpu/sanitize.sh "$device"
status=$?
[ "$status" -eq 0 ] && echo "sanitize: every family is clean"
exit "$status"
