#!/bin/sh
# Conformance of metal:0 over the stand-in for Metal (tests/gpu/fake_metal.c), on any machine: kernels run on the processor, and the texts
# of all are compiled once more by clang against our own declarations of Metal's library.
# Usage: scripts/metal.sh BUILD_FOLDER [--texts] [options of kiln conform]
#   --texts: nothing is run, so that cases fail and do not count; the kernels that they make are compiled all the same.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/environment.sh
build=$1
shift
texts=
if [ "${1:-}" = --texts ]; then
    texts=1
    shift
fi
if ! command -v clang >/dev/null 2>&1; then
    echo "skipped: clang is not installed; no kernel was compiled"
    echo "0 passed, 0 failed"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/libraries" "$work/kernels" "$work/compiled"
cc -shared -fPIC -O1 -w tests/gpu/fake_metal.c tests/gpu/fake_metal_kernel.c -o "$work/libraries/Metal" || exit 1
ln -s Metal "$work/libraries/libobjc.A.dylib"
export KN_METAL_LIBRARIES="$work/libraries" FAKE_METAL_FOLDER="$work/compiled" KN_KERNEL_FOLDER="$work/kernels"
export KN_CACHE=off KN_FALLBACK=off
status=0
if [ "$texts" ]; then
    FAKE_METAL_RUN=off "$build/kiln" conform --device metal:0 "$@" >"$work/told" 2>&1
    # What a device computes that does nothing is wrong; that it came to the end is not.
    grep -q 'passed, .* failed$' "$work/told" || {
        tail -n 5 "$work/told"
        exit 1
    }
else
    "$build/kiln" conform --device metal:0 "$@" || status=1
fi
flags=$(cat tests/gpu/metal/flags)

# Many kernels at once, each in a namespace and under a name of its own; where they do not compile, one by one.
batch() {
    n=0
    : >"$work/batch.cc"
    for kernel; do
        name=$(basename "$kernel")
        n=$((n + 1))
        printf '#define %s kernel_%d\nnamespace n%d {\n#include "%s"\n}\n#undef %s\n' "${name%%-*}" $n $n "$kernel" "${name%%-*}" \
            >>"$work/batch.cc"
    done
    # shellcheck disable=SC2086
    clang $flags -include metal_stdlib -fsyntax-only "$work/batch.cc" 2>/dev/null
}
# A pointer says where it points to.
pointers='(^|[(,;{])[[:space:]]*(const |volatile )*(float|half|void|int|uint|long|ulong|u?int(8|16|32|64)_t|kni_[a-z0-9_]+) \*'
good=0
bad=0
check() {
    if batch "$@" && ! grep -qE "$pointers" "$@"; then
        good=$((good + $#))
        return
    fi
    for kernel; do
        # shellcheck disable=SC2086
        if clang $flags -fsyntax-only "$kernel" 2>"$work/told" && ! grep -nE "$pointers" "$kernel" >"$work/told"; then
            good=$((good + 1))
        else
            bad=$((bad + 1))
            echo "FAIL $(basename "$kernel"): $(head -n 1 "$work/told")"
        fi
    done
}
set --
for kernel in "$work/kernels"/*.msl; do
    [ -f "$kernel" ] || continue
    set -- "$@" "$kernel"
    if [ $# -eq 64 ]; then
        check "$@"
        set --
    fi
done
[ $# -eq 0 ] || check "$@"
echo "kernels that clang compiles:"
echo "$good passed, $bad failed"
[ "$status" -eq 0 ] && [ "$bad" -eq 0 ] && [ "$good" -gt 0 ]
