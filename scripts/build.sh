#!/bin/sh
# Configures and builds one CMake preset: scripts/build.sh PRESET [cmake options]
# KN_BUILD_ROOT is the folder of all builds (default build), KN_JOBS the number of jobs (default: the processors, less
# where memory is short).
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
preset=$1
shift
log="$root/$preset-configure.log"

# A file that claims to come from the future, as copies between machines do, would make Ninja configure forever.
now=$(mktemp)
find . \( -name .git -o -path "./$root" \) -prune -o -type f -newer "$now" -exec touch {} +
rm -f "$now"

configure() { cmake --preset "$preset" -B "$root/$preset" "$@" >"$log" 2>&1; }
if ! configure "$@"; then
    # A folder that was built elsewhere or by another generator cannot be used again.
    rm -rf "${root:?}/$preset"
    if ! configure "$@"; then
        cat "$log"
        echo "build: configuring preset $preset failed" >&2
        exit 1
    fi
fi
quiet=--quiet
if [ -t 1 ]; then quiet=""; fi
# shellcheck disable=SC2086
cmake --build "$root/$preset" -j "$jobs" -- $quiet
