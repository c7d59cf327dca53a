#!/bin/sh
# What 'make test' runs: the gcc build with the whole conformance, a seeded part of it under clang with
# AddressSanitizer and UBSan, the structure tests and the smoke targets. To add a stage, add a line:
# 'step NAME COMMAND' must succeed, 'together NAME COMMAND' runs beside others and must also print 'N passed, N failed'.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/stages.sh
describe_machine
seed=${KN_SEED:-1}

step "build gcc release" scripts/build.sh release
# Two tiers under sanitizers, the scalar one and this machine's best: 'make test-all' takes all of them.
step "build clang asan" scripts/build.sh asan -DKN_TIERS=host

# All that follows runs side by side, each on one processor, the longest first: no processor waits for the end of a stage.
one="env KN_JOBS=1"
together "smoke targets" $one scripts/smoke.sh
# The package in node and the pages in Chromium; 'make web-test' has the module for one thread too, and trains to the end.
together "package and pages" $one tests/web/run_web.sh --build
# Tests of OpenCL spend most of their time in PoCL's compiler: as below, it does not optimise; 'make test-all' lets it.
quick="$one KN_OPENCL_OPTIONS=-cl-opt-disable"
together "unit tests, asan" $quick scripts/run_units.sh "$root/asan"
together "unit tests" $quick scripts/run_units.sh "$root/release"
together "small program" $one scripts/small.sh
# PoCL takes a good part of a second for each kernel, so it gets a small seeded part; without optimisation it is as right.
together "opencl:0, a part" env KN_OPENCL_OPTIONS=-cl-opt-disable "$root/release/kiln" conform --device opencl:0 \
    --sample "${KN_OPENCL_SAMPLE:-1}" --seed "$seed"
together "vulkan:0, a part" $one scripts/vulkan.sh "$root/release" --sample "${KN_VULKAN_SAMPLE:-0.2}" --seed "$seed"
# Over the stand-in for Metal clang compiles each kernel by itself, which takes longer than running it.
together "metal:0, a part" $one scripts/metal.sh "$root/release" --sample "${KN_METAL_SAMPLE:-0.1}" --seed "$seed"
together "hip:0, a part" $one KN_SEED="$seed" KN_HIP_MOST="${KN_HIP_MOST:-60}" KN_HIP_NUMBERS="--filter softmax --sample 2" \
    scripts/hip.sh "$root/release" --sample 1 --seed "$seed"
together "webgpu:0, a part" $one scripts/webgpu.sh "$root/release" --sample "${KN_WEBGPU_SAMPLE:-0.2}" --seed "$seed"
for device in cpu "autodiff(cpu)"; do
    together "asan, a part: $device" "$root/asan/kiln" conform --device "$device" --sample "${KN_ASAN_SAMPLE:-7}" --seed "$seed"
done
together "random programs over the API" env LSAN_OPTIONS="suppressions=$PWD/tests/support/leaks.txt:print_suppressions=0" \
    "$root/asan/tests/api_fuzz" --seed "$seed" --seconds "${KN_API_FUZZ_SECONDS:-15}"
together "spoilt results are noticed" "$root/release/kiln" conform --device "autodiff(cpu)" --self-test --sample 10
# Each case is compiled by itself.
together "cases as C, a part" "$root/release/kiln" conform --device cpu --as-c --sample "${KN_AS_C_SAMPLE:-0.5}" --seed "$seed"
for device in "autodiff(fusion(cpu))" "fusion(cpu)"; do
    together "release: $device" "$root/release/kiln" conform --device "$device"
done
together "structure" python3 tests/structure/run_structure.py --build "$root/release"
together "a new op" python3 tests/new_op/run_new_op.py --build "$root/release"
together "examples" python3 tests/examples/run_examples.py "$root/release"
together "ONNX's own cases" python3 -B tests/onnx/run_cases.py "$root/release"
together "operators of your own" python3 -B tests/onnx/run_plugin.py "$root/release"
together "command line" python3 tests/examples/run_commands.py "$root/release"
conformance release
finish
