#!/bin/sh
# What 'make test-all' runs: both compilers, every sanitizer, every tier, the whole conformance each time.
# Stages are added as in scripts/test.sh.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/stages.sh
describe_machine

for preset in release clang; do
    step "build $preset" scripts/build.sh "$preset"
    runner "$preset: unit tests" scripts/run_units.sh "$root/$preset"
    conformance "$preset"
done
runner "structure" python3 tests/structure/run_structure.py --build "$root/release"

step "build debug" scripts/build.sh debug
runner "debug: unit tests" scripts/run_units.sh "$root/debug"

step "build asan" scripts/build.sh asan
runner "asan: unit tests" scripts/run_units.sh "$root/asan"
conformance asan

step "build tsan" scripts/build.sh tsan
runner "tsan: unit tests" env KN_THREADS=8 scripts/run_units.sh "$root/tsan"
runner "tsan: cpu, 8 threads" env KN_THREADS=8 "$root/tsan/kiln" conform --device cpu --sample 10 --seed 1

step "build msan" scripts/build.sh msan
runner "msan: unit tests" scripts/run_units.sh "$root/msan"
runner "msan: cpu" "$root/msan/kiln" conform --device cpu --sample 10 --seed 1

runner "fuzzers" scripts/fuzz.sh 120
runner "smoke targets" scripts/smoke.sh
finish
