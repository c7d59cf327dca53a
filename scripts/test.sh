#!/bin/sh
# What 'make test' runs: the gcc build with the whole conformance, a seeded tenth of it under clang with
# AddressSanitizer and UBSan, the structure tests and the smoke targets. To add a stage, add a line:
# 'step NAME COMMAND' must succeed, 'runner NAME COMMAND' must also print 'N passed, N failed'.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/stages.sh
describe_machine
seed=${KN_SEED:-1}

step "build gcc release" scripts/build.sh release
runner "unit tests" scripts/run_units.sh "$root/release"
runner "structure" python3 tests/structure/run_structure.py --build "$root/release"
runner "examples" python3 tests/examples/run_examples.py "$root/release"
# PoCL takes a good part of a second for each kernel, so it gets a small seeded part; without optimisation it is as right.
# The longest come first.
together "opencl:0, a part" env KN_OPENCL_OPTIONS=-cl-opt-disable "$root/release/kiln" conform --device opencl:0 \
    --sample "${KN_OPENCL_SAMPLE:-1}" --seed "$seed"
together "spoilt results are noticed" "$root/release/kiln" conform --device "autodiff(cpu)" --self-test --sample 10
for device in "autodiff(fusion(cpu))" "fusion(cpu)"; do
    together "release: $device" "$root/release/kiln" conform --device "$device"
done
conformance release

step "build clang asan" scripts/build.sh asan
runner "unit tests, asan" scripts/run_units.sh "$root/asan"
for device in cpu "autodiff(cpu)"; do
    together "asan tenth: $device" "$root/asan/kiln" conform --device "$device" --sample 10 --seed "$seed"
done
join

runner "small program" scripts/small.sh
runner "smoke targets" scripts/smoke.sh
finish
