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
sources=""
for file in src/backend/cuda/*.c src/backend/cuda/generated/*.c src/backend/runtime/*.c \
    src/core/*.c src/support/*.c; do
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
