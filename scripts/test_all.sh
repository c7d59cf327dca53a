#!/bin/sh
# What 'make test-all' runs: both compilers, every sanitizer, every tier, the whole conformance where that is fast.
# KN_FILTER restricts the conformance to ops whose name contains it and KN_STAGES the stages to some of
# "gcc clang debug asan ubsan tsan msan structure kill fuzz api opinfo smoke as-c web". Stages are added as in scripts/test.sh.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/stages.sh
# Builds with sanitizers take every case of the unit tests, not a part.
export KN_TEST_WHOLE=1
export KN_STAGE_IDLE="${KN_STAGE_IDLE:-1800}"
describe_machine
set -- ${KN_FILTER:+--filter "$KN_FILTER"}

wanted() { case " ${KN_STAGES:-gcc clang debug asan ubsan tsan msan structure kill fuzz api opinfo smoke as-c web} " in *" $1 "*) ;; *) return 1 ;; esac }

# suite PRESET [conformance options]: everything about one build.
suite() {
    suite_preset=$1
    shift
    step "build $suite_preset" scripts/build.sh "$suite_preset" -DKN_TIERS=all
    runner "$suite_preset: unit tests" scripts/run_units.sh "$root/$suite_preset"
    conformance "$suite_preset" "$@"
}

if wanted gcc; then suite release "$@"; fi
if wanted structure; then
    step "build release" scripts/build.sh release
    runner "structure" python3 tests/structure/run_structure.py --build "$root/release"
fi
if wanted clang; then suite clang "$@"; fi
# shellcheck disable=SC2086
# The slow ones take a seeded part of the conformance, KN_SAMPLE per cent; 100 is all of it.
sample="--sample ${KN_SAMPLE:-10} --seed ${KN_SEED:-1}"

if wanted tsan; then
    # Eight threads that share devices, parameters and kernels, inside the unit tests and inside every kernel.
    KN_THREADS=8
    suite tsan $sample "$@"
    KN_THREADS=$(processors)
fi
for preset in asan debug ubsan msan; do
    if wanted "$preset"; then suite "$preset" $sample "$@"; fi
done
if wanted kill; then
    step "build release" scripts/build.sh release
    runner "200 kills of a training run" tests/train/kill_resume.sh "$root/release" 200
fi
if wanted fuzz; then runner "fuzzers" scripts/fuzz.sh "${KN_FUZZ_SECONDS:-120}"; fi
if wanted api; then
    step "build asan" scripts/build.sh asan
    runner "random programs over the API" env LSAN_OPTIONS="suppressions=$PWD/tests/support/leaks.txt:print_suppressions=0" \
        "$root/asan/tests/api_fuzz" --seed "${KN_SEED:-1}" --seconds "${KN_API_FUZZ_SECONDS:-1200}"
fi
if wanted opinfo; then
    step "build release" scripts/build.sh release
    step "install PyTorch" scripts/opinfo.sh --setup
    runner "PyTorch's op database" scripts/opinfo.sh
    runner "stored dtypes against ml_dtypes and PyTorch" scripts/stored.sh
fi
if wanted web; then runner "package and pages" tests/web/run_web.sh --build-all --train; fi
if wanted smoke; then
    runner "small program" scripts/small.sh
    runner "smoke targets" scripts/smoke.sh
fi
if wanted as-c; then
    step "build release" scripts/build.sh release
    runner "cases as C" "$root/release/kiln" conform --device cpu --as-c --jobs "$jobs" $sample "$@"
fi
finish
