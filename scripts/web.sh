#!/bin/sh
# Builds Kiln for pages and node: three wasm modules and the npm package around them, in the folder web/kiln of the build root.
#   kiln.wasm          everything, one thread
#   kiln-threads.wasm  the same over shared memory, for node and for pages that are isolated (COOP, COEP)
#   kiln-small.wasm    what infers a small network: few ops, no gradients, no parsers
#   conform (only when asked for): the conformance of kiln for pages, build/web/conform.wasm
# Usage: scripts/web.sh [threads] [single] [small] [conform], the first three by default.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
package=$root/web/kiln
own_folder "$root/web"
mkdir -p "$package/wasm"

# The rows of the small module, in the order of use: a network of convolutions and linear layers, and what its input goes through.
small_ops="full add sub mul div relu cast reshape conv max_pool linear matmul softmax argmax"

flags="--target=wasm32-wasi -mexec-model=reactor -std=c11 -DKN_NO_SITES -Iinclude -msimd128 -Wall -Wextra -Werror"
link="-Wl,--gc-sections,--strip-all,-z,stack-size=1048576,--max-memory=2147483648"
native=bindings/js/native

# What the package's sources call, and so what a module must export.
exports_of() { # exports_of PATTERN FILE...
    pattern=$1
    shift
    grep -ohE "exports\.$pattern" "$@" | sed 's/exports\./-Wl,--export=/' | sort -u | tr '\n' ' '
}

link_single() {
    # shellcheck disable=SC2046
    clang $flags -O2 $native/*.c "$root/web-single/libkiln.a" $link $(exports_of 'kn_[a-z0-9_]+' bindings/js/src/*.js) -o "$package/wasm/kiln.wasm"
}

link_threads() {
    # wasi-libc is built without threads: only the library's own thread calls it, and the library's allocator has a lock.
    # shellcheck disable=SC2046
    clang $flags -O2 -mbulk-memory -matomics -ftls-model=local-exec -include cmake/wasm_errno.h $native/*.c "$root/web-threads/libkiln.a" $link \
        -Wl,--shared-memory,--import-memory,--initial-memory=33554432,--no-check-features \
        -Wl,--export=__wasm_init_tls,--export=__tls_size,--export=__tls_align,--export=__stack_pointer \
        -Wl,--export=kni_team_member,--export=kni_team_members,--export=kni_allow_sleep \
        $(exports_of 'kn_[a-z0-9_]+' bindings/js/src/*.js) -o "$package/wasm/kiln-threads.wasm"
}

# The small module has a table of its own with few rows, before the library's.
link_small() {
    table=$root/web/small
    mkdir -p "$table/ops"
    for op in $small_ops; do
        grep -hE "^KN_OP\([0-9]+, $op[,)]" src/ops/*.def || {
            echo "web: no op is called $op" >&2
            return 1
        }
    done >"$table/ops/ops.def"
    # shellcheck disable=SC2046
    clang $flags -Os -I"$table" -Isrc -DKN_COMPACT=1 $native/kiln_js.c src/ops/op_table.c "$root/web-small/libkiln.a" $link \
        $(for name in $(sed -n 's/.*small: //p' $native/kiln_js.c); do echo "-Wl,--export=$name"; done) \
        -o "$package/wasm/kiln-small.wasm"
}

# The conformance of tools/kiln for pages, over the module's library for one thread: tests/web/test_conform.mjs runs it.
link_conform() {
    sources=$(ls tools/kiln/conform_*.c tools/kiln/command_conform.c | grep -v -e conform_c.c -e conform_jobs.c)
    # shellcheck disable=SC2046,SC2086
    clang --target=wasm32-wasi -std=c11 -O1 -msimd128 -DKN_NO_SITES -Iinclude -Isrc -Itools/kiln $sources tests/web/conform_main.c \
        "$root/web-single/libkiln.a" -Wl,--gc-sections,--strip-all,-z,stack-size=4194304,--max-memory=2147483648 \
        -o "$root/web/conform.wasm"
}

build() { # build NAME PRESET
    scripts/build.sh "$2"
    "link_$1"
    echo "web: $1 module, $(wc -c <"$package/wasm/$3") bytes, $(gzip -9 -c "$package/wasm/$3" | wc -c) compressed"
}

rm -rf "$package/src"
cp -r bindings/js/package.json bindings/js/README.md bindings/js/src "$package/"
for module in ${*:-threads single small}; do
    case "$module" in
    single) build single web-single kiln.wasm ;;
    threads) build threads web-threads kiln-threads.wasm ;;
    small) build small web-small kiln-small.wasm ;;
    conform) scripts/build.sh web-single && link_conform ;;
    *) echo "web: there is no module '$module'; there are single, threads, small and conform" >&2 && exit 2 ;;
    esac
done
