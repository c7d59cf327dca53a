#!/bin/sh
# What a machine with an NVIDIA GPU must show, part by part:
#   scripts/cuda.sh [build] [conform] [fused] [capped] [programs] [stored] [random] [onnx]
# Without arguments all of them, in this order. Logs go to OUT, or to the folder logs of the build root; each part ends with its counts.
# KN_CONFORM has further options of kiln conform, such as "--slice 1/2" where the machine is there for a short time only.
# KN_CUDA_LIBRARIES is filled from python3's packages where it is not set, and KN_ONNX_DATA names the archives of ONNX's cases.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/environment.sh
build=$root/release
logs=${OUT:-$root/logs}
mkdir -p "$logs"
if [ -z "${KN_CUDA_LIBRARIES:-}" ]; then
    KN_CUDA_LIBRARIES=$(python3 bench/gpu/libraries.py 2>/dev/null || true)
    export KN_CUDA_LIBRARIES
fi
export KN_FALLBACK=off
KN_CONFORM=${KN_CONFORM:-}
failed=""

# part NAME COMMAND...: runs it into a log of its own, shows the end and the seconds.
part() {
    name=$1
    shift
    began=$(date +%s)
    "$@" >"$logs/$name.log" 2>&1 || failed="$failed $name"
    tail -n "${KN_TAIL:-6}" "$logs/$name.log"
    grep -c '^FAIL' "$logs/$name.log" | sed "s/^/lines that begin with FAIL: /"
    echo "== $name: $(($(date +%s) - began)) s"
}

build() {
    scripts/build.sh release -DKN_TIERS=host -- kiln kiln_tool bench_models test_programs_end_to_end test_stored fusion_programs
}

# shellcheck disable=SC2086
conform() { "$build/kiln" conform --device "$1" --jobs "$jobs" $KN_CONFORM; }

# What fails on this machine's processor too (libraries of images may be absent) is not the GPU's doing.
onnx() {
    mkdir -p "$root/onnx" && tar -C "$root/onnx" -xf "${KN_ONNX_DATA:-../shared/onnx}/node.tar.xz" || return 1
    for device in cpu "fusion(cuda:0)"; do
        "$build/kiln" run --test "$root/onnx/node" --device "$device" --jobs "$jobs" >"$logs/onnx.$device.log"
        tail -n 1 "$logs/onnx.$device.log"
        sed -n 's/^FAIL \([^:]*\):.*/\1/p' "$logs/onnx.$device.log" | sort >"$logs/onnx.$device.lost"
    done
    only=$(comm -13 "$logs/onnx.cpu.lost" "$logs/onnx.fusion(cuda:0).lost")
    for case in $only; do grep "^FAIL $case:" "$logs/onnx.fusion(cuda:0).log"; done
    [ -z "$only" ]
}

[ $# -gt 0 ] || set -- build conform fused capped programs stored random onnx
for wanted; do
    case $wanted in
    build) part build build ;;
    conform) part conform conform cuda:0 ;;
    fused) part fused conform "autodiff(fusion(cuda:0))" ;;
    capped) part capped env KN_CAPS=no-i64,no-f64,no-f16,buffers=8 "$build/kiln" conform --device cuda:0 --jobs "$jobs" $KN_CONFORM ;;
    programs) part programs "$build/tests/test_programs_end_to_end" "fusion(cuda:0)" cuda:0 ;;
    stored) part stored "$build/tests/test_stored" cuda:0 "fusion(cuda:0)" ;;
    random) part random "$build/tests/fusion_programs" --device "fusion(cuda:0)" --count "${KN_COUNT:-1000}" --jobs "$jobs" ;;
    onnx) part onnx onnx ;;
    *) echo "cuda.sh: there is no part '$wanted'" >&2 && exit 2 ;;
    esac
done
[ -z "$failed" ] || { echo "failed:$failed" && exit 1; }
