#!/bin/sh
# Removes what the scripts made in the folder of all builds, and nothing else: a build folder is ours when it has our mark.
set -eu
cd "$(dirname "$0")/.."
root=${KN_BUILD_ROOT:-build}
[ -d "$root" ] || exit 0
for mark in "$root"/*/made-by-kiln-build; do
    [ -e "$mark" ] && rm -rf "$(dirname "$mark")"
done
for name in logs tmp smoke small-program demo; do rm -rf "${root:?}/$name"; done
rm -f "$root"/*-configure.log
rmdir "$root" 2>/dev/null || echo "clean: $root holds files that the build did not make; they stay"
