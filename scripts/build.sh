#!/bin/sh
# Configures and builds one CMake preset: scripts/build.sh PRESET [cmake options] [-- targets]
# Without targets it builds everything. KN_BUILD_ROOT is the folder of all builds (default build), KN_JOBS the number of jobs
# (default: the processors, less where memory is short).
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
preset=$1
shift
folder="$root/$preset"
log="$root/$preset-configure.log"
mark="$folder/made-by-kiln-build"

options=""
while [ $# -gt 0 ] && [ "$1" != "--" ]; do
    options="$options $1"
    shift
done
[ $# -eq 0 ] || shift

# Ninja configures for ever when a CMake file claims to come from the future, as copies between machines do. Such a build
# does without looking whether it must be configured again: this script has just done so.
now=$(mktemp)
newer=$(find CMakeLists.txt CMakePresets.json cmake tests/CMakeLists.txt tests/fuzz/CMakeLists.txt -newer "$now")
rm -f "$now"
suppress=OFF
[ -z "$newer" ] || suppress=ON

# A folder that something else made is not touched.
own_folder "$folder"
if [ ! -e "$mark" ] && ! grep -qs "^CMAKE_HOME_DIRECTORY:INTERNAL=$PWD\$" "$folder/CMakeCache.txt" &&
    [ -n "$(ls -A "$folder")" ]; then
    echo "build: $folder was not made by this script; remove it, or set KN_BUILD_ROOT to another folder" >&2
    exit 1
fi
# shellcheck disable=SC2086
configure() {
    cmake --preset "$preset" -B "$folder" -DCMAKE_SUPPRESS_REGENERATION=$suppress $options >"$log" 2>&1
}
# A folder that was built elsewhere or by another generator cannot be used again.
if ! configure && { [ ! -e "$mark" ] || ! { rm -rf "${folder:?}" && own_folder "$folder" && configure; }; }; then
    cat "$log"
    echo "build: configuring preset $preset failed" >&2
    exit 1
fi
quiet=--quiet
if [ -t 1 ]; then quiet=""; fi
# shellcheck disable=SC2086
cmake --build "$folder" -j "$jobs" ${1:+--target "$@"} -- $quiet
