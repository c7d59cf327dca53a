#!/bin/sh
# Regenerates the committed generated files. kiln-gen and every tools/gen/*.py run in the repository's root
# and write the files they are responsible for. --build DIR names the build that holds kiln-gen.
# With --check they run on a copy, and a file that regenerating would change is named and fails.
set -eu
cd "$(dirname "$0")/.."
build=$(realpath -m "${KN_BUILD_ROOT:-build}/release")
check=0
while [ $# -gt 0 ]; do
    case "$1" in
    --check) check=1 ;;
    --build) build=$(realpath "$2") && shift ;;
    *) echo "generated: unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done

if ! [ -x "$build/kiln-gen" ]; then
    echo "generated: $build/kiln-gen is missing; build first" >&2
    exit 1
fi

# The pages and the example that kiln itself writes are made by the same build.
KN_BUILD_ROOT=$(dirname "$build")
export KN_BUILD_ROOT

generate() {
    "$build/kiln-gen"
    for script in tools/gen/*.py; do python3 -B "$script"; done
}

if [ "$check" = 0 ]; then
    generate
    exit 0
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy" "$copy".*' EXIT
python3 -B tests/structure/tree.py >"$copy.list"
tar --null -cf "$copy.tar" -T "$copy.list"
tar -xf "$copy.tar" -C "$copy"
cp -a "$copy" "$copy.before"
(cd "$copy" && generate) >/dev/null
if ! diff -rq "$copy.before" "$copy"; then
    echo "generated: the files above differ from what the generators write; run 'make generated'" >&2
    exit 1
fi
