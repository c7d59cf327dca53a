#!/bin/sh
# Configures and builds one CMake preset: scripts/build.sh PRESET [cmake options]
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
log="build/$preset-configure.log"
mkdir -p build
if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log"
    echo "build: configuring preset $preset failed" >&2
    exit 1
fi
jobs=${KN_JOBS:-$(nproc)}
if [ -f "build/$preset/build.ninja" ]; then
    cmake --build "build/$preset" -j "$jobs" -- --quiet
else
    cmake --build "build/$preset" -j "$jobs"
fi
