#!/bin/sh
# Formats every C file but the generated ones with clang-format; with --check it only says which files differ and
# fails.
set -eu
cd "$(dirname "$0")/.."
# Versions of clang-format disagree in details; the tree is formatted with that of Debian 12.
if ! command -v clang-format-14 >/dev/null 2>&1; then
    echo "format: clang-format-14 is not installed; scripts/setup.sh installs it" >&2
    exit 1
fi
list() {
    for folder in include src tools tests examples bench; do
        if [ -d "$folder" ]; then find "$folder" -type f -not -path '*/generated/*' \( -name '*.c' -o -name '*.h' \) -print0; fi
    done
}
if [ "${1:-}" = "--check" ]; then
    differing=$(list | xargs -0 -r clang-format-14 --dry-run 2>&1 | sed -n 's/^\([^ :]*\):[0-9]*:.*warning:.*/\1/p' | sort -u)
    if [ -n "$differing" ]; then
        echo "$differing"
        echo "format: the files above are not formatted; run 'make format'" >&2
        exit 1
    fi
else
    list | xargs -0 -r clang-format-14 -i
fi
