#!/bin/sh
# Builds tests/gpu/driver_check from the CUDA driver and a few files of the core, and runs it on the GPU of this machine.
# Arguments go to the program. What it prints also goes to $OUT/driver_check.txt when OUT is set.
# KN_CUDA_LIBRARIES is filled from python3's packages where it is not set.
set -eu
cd "$(dirname "$0")/../.."
build=${KN_BUILD_ROOT:-build}/gpu
mkdir -p "$build"
if [ -z "${KN_CUDA_LIBRARIES:-}" ]; then
    KN_CUDA_LIBRARIES=$(python3 bench/gpu/libraries.py 2>/dev/null || true)
    export KN_CUDA_LIBRARIES
fi
echo "KN_CUDA_LIBRARIES=$KN_CUDA_LIBRARIES"
core="error text thread_state allocator large_blocks platform dtype dim scope table static_arena storage convert thread_pool"
sources=""
for name in $core; do sources="$sources src/core/$name.c"; done
for name in disk_cache buffer file folder failure library_list; do sources="$sources src/support/$name.c"; done
for file in src/backend/cuda/*.c src/backend/cuda/generated/*.c; do
    case $file in */cuda_open.c) ;; *) sources="$sources $file" ;; esac
done
# shellcheck disable=SC2086
${CC:-gcc} -std=c11 -O2 -g -Wall -Wextra -ffunction-sections -fdata-sections -Iinclude -Isrc -Itests/gpu \
    tests/gpu/driver_check*.c $sources -Wl,--gc-sections -ldl -lpthread -lm -o "$build/driver_check"
if [ -n "${OUT:-}" ]; then
    { "$build/driver_check" "$@" 2>&1; echo "exit $?"; } | tee "$OUT/driver_check.txt"
else
    exec "$build/driver_check" "$@"
fi
