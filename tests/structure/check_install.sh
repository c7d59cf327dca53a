#!/bin/sh
# Installs a build into a temporary prefix and builds a tiny program against it in every way a user may:
# find_package with the shared and the static library, pkg-config with both.
set -eu
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }; }
quietly cmake --install "$build" --prefix "$prefix"

mkdir "$work/consumer"
cat >"$work/consumer/consumer.c" <<'SOURCE'
#include <kn.h>
#include <stdio.h>

int main(void)
{
    return puts(kn_version()) < 0;
}
SOURCE
cat >"$work/consumer/CMakeLists.txt" <<'SOURCE'
cmake_minimum_required(VERSION 3.20)
project(consumer C)
find_package(kiln 0.1 REQUIRED)
add_executable(with_shared consumer.c)
target_link_libraries(with_shared PRIVATE kiln::kiln)
add_executable(with_static consumer.c)
target_link_libraries(with_static PRIVATE kiln::static)
SOURCE
quietly cmake -S "$work/consumer" -B "$work/built" -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build "$work/built"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name kiln.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir kiln)
# shellcheck disable=SC2046
quietly gcc "$work/consumer/consumer.c" $(pkg-config --cflags --libs kiln) -Wl,-rpath,"$libdir" -o "$work/pc_shared"
# shellcheck disable=SC2046
quietly gcc "$work/consumer/consumer.c" $(pkg-config --cflags kiln) "$libdir/libkiln.a" \
    $(pkg-config --static --libs-only-other kiln) -o "$work/pc_static"

wanted=$(pkg-config --modversion kiln)
for program in "$work/built/with_shared" "$work/built/with_static" "$work/pc_shared" "$work/pc_static"; do
    found=$("$program")
    if [ "$found" != "$wanted" ]; then
        echo "$(basename "$program"): kn_version() says '$found', the package '$wanted'"
        exit 1
    fi
done
if [ -x "$build/kiln" ] && [ ! -x "$prefix/bin/kiln" ]; then
    echo "the kiln command was not installed"
    exit 1
fi
