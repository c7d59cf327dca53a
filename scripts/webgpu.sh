#!/bin/sh
# Conformance of webgpu:0, every text of which wgpu-native must accept, and the driver's own test. The library is the one that
# KN_WEBGPU_LIBRARY names, else the wheel of PyPI that tests/gpu/get_wgpu.py fetches.
# Usage: scripts/webgpu.sh BUILD_FOLDER [options of kiln conform]
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/environment.sh
build=$1
shift
if [ -z "${KN_WEBGPU_LIBRARY:-}" ]; then
    own_folder "$root/wgpu"
    KN_WEBGPU_LIBRARY=$(python3 -B tests/gpu/get_wgpu.py "$root/wgpu") || exit 1
    export KN_WEBGPU_LIBRARY
fi
# Mesa looks for a screen to choose a device by, and says that there is none.
export NODEVICE_SELECT=1 LP_NUM_THREADS="${LP_NUM_THREADS:-1}"
status=0
"$build/tests/test_gpu_webgpu" || status=1
KN_CACHE=off KN_FALLBACK=off "$build/kiln" conform --device webgpu:0 "$@" || status=1
exit $status
