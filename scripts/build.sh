#!/bin/sh
# Configures and builds one CMake preset: scripts/build.sh PRESET [cmake options]
# KN_BUILD_ROOT is the folder of all builds (default build), KN_JOBS the number of jobs (default: all cores).
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
root=${KN_BUILD_ROOT:-build}
log="$root/$preset-configure.log"
mkdir -p "$root"
if ! cmake --preset "$preset" -B "$root/$preset" "$@" >"$log" 2>&1; then
    cat "$log"
    echo "build: configuring preset $preset failed" >&2
    exit 1
fi
quiet=--quiet
if [ -t 1 ]; then quiet=""; fi
# shellcheck disable=SC2086
cmake --build "$root/$preset" -j "${KN_JOBS:-$(nproc)}" -- $quiet
