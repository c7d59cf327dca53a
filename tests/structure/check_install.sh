#!/bin/sh
# Installs a build into a temporary prefix and builds a tiny program against it in every way a user may:
# find_package with the shared and the static library, pkg-config with both. The README's recipe for a prefix is run as it is
# written there, less 'make build', with the README's own first program.
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

# Each block of the README between lines of three backticks that holds a text: readme_block TEXT
readme_block() {
    awk -v text="$1" '/^```/ { if (inside && index(block, text)) { printf "%s", block; exit } inside = !inside; block = ""; next }
        inside { block = block $0 "\n" }' README.md
}
mkdir "$work/home" "$work/first"
readme_block '#include <kn.h>' >"$work/first/first.c"
readme_block 'cmake --install' | grep -v '^make build' | sed "s|build/release|$build|" >"$work/first/recipe.sh"
grep -q pkg-config "$work/first/recipe.sh" || { echo "README.md has no recipe for a prefix" && exit 1; }
if ! (cd "$work/first" && env -u PKG_CONFIG_PATH HOME="$work/home" sh -eu recipe.sh) >"$work/log" 2>&1; then
    cat "$work/log"
    echo "the README's recipe for a prefix fails"
    exit 1
fi
grep -q 'f32\[1, 3\]' "$work/log" || { cat "$work/log" && echo "the README's first program prints something else" && exit 1; }
if nm "$work/built/with_static" | grep -q kni_cpu_conv; then
    echo "kiln::static does not collect sections: a program holds ops that it does not call"
    exit 1
fi
