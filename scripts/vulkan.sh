#!/bin/sh
# Conformance of vulkan:0 with every module it makes checked by spirv-val, where that is installed.
# Usage: scripts/vulkan.sh BUILD_FOLDER [options of kiln conform]
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/environment.sh
build=$1
shift
# Mesa's processor driver would take all processors.
export LP_NUM_THREADS="${LP_NUM_THREADS:-1}"
modules=$(mktemp -d)
trap 'rm -rf "$modules"' EXIT
KN_CACHE=off KN_KERNEL_FOLDER=$modules KN_FALLBACK=off "$build/kiln" conform --device vulkan:0 "$@"
status=$?
if ! command -v spirv-val >/dev/null 2>&1; then
    echo "skipped: spirv-val is not installed; no module was checked"
    exit $status
fi
good=0
bad=0
for module in "$modules"/*.spv; do
    if [ -f "$module" ] && spirv-val --target-env vulkan1.1 "$module" >"$modules/told" 2>&1; then
        good=$((good + 1))
    else
        bad=$((bad + 1))
        echo "FAIL $(basename "$module"): $(head -n 1 "$modules/told")"
    fi
done
echo "$good passed, $bad failed"
[ "$status" -eq 0 ] && [ "$bad" -eq 0 ]
