#!/bin/sh
# Tests the npm package in node, its types, and the pages in Chromium, over what scripts/web.sh has built.
# Usage: tests/web/run_web.sh [--build | --build-all] [--train] [--pictures FOLDER]
#   --build builds what it tests first, without the module for one thread; --build-all with it
set -u
cd "$(dirname "$0")/../.." || exit 1
. scripts/environment.sh
tools=$root/web-tests
own_folder "$tools"
passed=0
failed=0

result() { # result NAME STATUS
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "  ok    $1"
    else
        failed=$((failed + 1))
        echo "  FAIL  $1"
    fi
}

# Types that nobody checks are no types: the sample uses what the package declares, and wrong uses must be refused.
check_types() {
    mkdir -p "$tools/types"
    sed "s|'kiln'|'../../web/kiln/src/kiln.js'|" tests/web/types.mts >"$tools/types/types.mts"
    status=0
    tsc --noEmit --strict --target es2022 --module nodenext --moduleResolution nodenext --lib es2022,dom "$tools/types/types.mts" || status=$?
    result "the types fit a program that uses them" "$status"
}

# A build must not carry what it does not use: limits of the compressed modules, in bytes.
check_size() { # check_size FILE LIMIT
    [ -f "$root/web/kiln/wasm/$1" ] || return 0
    bytes=$(gzip -9 -c "$root/web/kiln/wasm/$1" | wc -c)
    [ "$bytes" -le "$2" ]
    result "$1 has $bytes bytes compressed, at most $2" $?
}

case "${1:-}" in
--build) modules="threads small conform" && shift ;;
--build-all) modules="threads single small conform" && shift ;;
*) modules="" ;;
esac
if [ -n "$modules" ]; then
    # shellcheck disable=SC2086
    scripts/web.sh $modules
    result "the modules are built" $?
fi
check_types
check_size kiln-small.wasm 156000
check_size kiln-threads.wasm 1460000
check_size kiln.wasm 1460000
node tests/web/test_package.mjs "$root/web/kiln"
package=$?
python3 -B tests/web/get_playwright.py "$tools"
result "playwright-core is there" $?
node tests/web/test_pages.mjs "$root/web" "$tools" "$@"
pages=$?
# Conformance in Chromium itself, where its module was built: a thousandth, 150 cases, on each device, for as long as CI can wait: the
# browser's compiler takes seconds for a kernel on a processor.
export KN_CONFORM_SECONDS="${KN_CONFORM_SECONDS:-25}" KN_CONFORM_LEAST="${KN_CONFORM_LEAST:-15}"
for device in webgpu:0 cpu; do
    [ -f "$root/web/conform.wasm" ] || continue
    node tests/web/test_conform.mjs "$root/web" "$tools" "$device" --sample "${KN_WEB_SAMPLE:-0.1}" --seed "${KN_SEED:-1}"
    result "conformance of $device in Chromium" $?
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$package" -eq 0 ] && [ "$pages" -eq 0 ]
