#!/bin/sh
# Removes what the scripts made in the folder of all builds, and nothing else: a folder is ours when it has our mark.
set -eu
cd "$(dirname "$0")/.."
root=${KN_BUILD_ROOT:-build}
[ -d "$root" ] || exit 0
for mark in "$root"/*/made-by-kiln-build; do
    [ -e "$mark" ] || continue
    folder=$(dirname "$mark")
    rm -rf "$folder"
    rm -f "$folder-configure.log"
done
rmdir "$root" 2>/dev/null || echo "clean: $root holds folders that the scripts did not make; they stay"
