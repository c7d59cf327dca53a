#!/bin/sh
# Regenerates the committed generated files. kiln-gen and every tools/gen/*.py run in the repository's root
# (or, with --root DIR, on a copy of it) and write the files they are responsible for.
# With --check it works on a copy and fails, naming the files, if regenerating would change anything.
set -eu
cd "$(dirname "$0")/.."
repository=$PWD
build="$repository/build/release"
check=0
while [ $# -gt 0 ]; do
    case "$1" in
    --check) check=1 ;;
    --build) build=$2 && shift ;;
    *) echo "generated: unknown option $1" >&2 && exit 2 ;;
    esac
    shift
done

generate() {
    if [ -x "$build/kiln-gen" ]; then "$build/kiln-gen"; fi
    for script in tools/gen/*.py; do
        if [ -f "$script" ]; then python3 "$script"; fi
    done
}

if [ "$check" = 0 ]; then
    generate
    exit 0
fi
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -cf - -T - 2>/dev/null |
    tar -xf - -C "$copy"
cp -a "$copy" "$copy.before"
trap 'rm -rf "$copy" "$copy.before"' EXIT
(cd "$copy" && generate) >/dev/null
if ! diff -rq "$copy.before" "$copy"; then
    echo "generated: the files above differ from what the generators write; run 'make generated'" >&2
    exit 1
fi
