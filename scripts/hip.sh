#!/bin/sh
# The kernels of hip:0 without such a GPU: conformance runs over a stand-in for AMD's driver that launches nothing, every text it would
# compile is kept, and AMD's compilers compile them: hiprtc of Debian's libamdhip64-5, and clang for what that one does not know yet.
# Usage: scripts/hip.sh BUILD_FOLDER [options of kiln conform]
#   KN_HIP_ARCHS    the architectures, "gfx90a gfx1030 gfx1100"
#   KN_HIP_MOST     of so many texts, drawn by KN_SEED; all
#   KN_HIP_NUMBERS  options of a second conformance run, whose launches run on the host: "--filter softmax"; none
#   KN_HIP_REPLAYS  models of bench_models, "mlp lenet": losses of replayed steps must not depend on the order in which recordings
#                   run what their edges leave free; none
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/environment.sh
build=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
good=0
bad=0

# What the last line of a file counts.
add_counts() {
    counted=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/\1 \2/p' "$1" | tail -n 1)
    good=$((good + ${counted% *}))
    bad=$((bad + ${counted#* }))
}

build_stand_in() {
    mkdir -p "$work/$1"
    cc -shared -fPIC -O2 -w "tests/gpu/$1.c" -lm -ldl -o "$work/$1/libamdhip64.so.5" || exit 1
}

# Keeps the texts of a conformance run for waves of $1 lanes in the folder $2. What it says of values means nothing.
write_texts() {
    waves=$1
    mkdir -p "$2"
    KN_KERNEL_FOLDER=$2
    shift 2
    KN_KERNEL_FOLDER=$KN_KERNEL_FOLDER FAKE_HIP_WAVE=$waves FAKE_CUDA_ZERO=1 KN_HIP_LIBRARIES=$work/fake_hip \
        KN_CACHE=off KN_HIP_GRAPHS=off KN_FALLBACK=off "$build/kiln" conform --device hip:0 "$@" >"$work/told" 2>&1
    grep -qE '^[0-9]+ passed, [0-9]+ failed$' "$work/told" && return
    echo "hip.sh: the run that writes the texts did not come to its end"
    tail -n 5 "$work/told"
    exit 1
}

# Compiles the files of the list $2 for the architecture $1.
compile_texts() {
    if [ "$1" != gfx1100 ]; then
        "$work/hip_compile" "$library" "$1" <"$2" >"$work/compiled" 2>&1
    else
        while read -r file; do
            if clang-15 -x hip --offload-arch="$1" --cuda-device-only -nogpulib -nogpuinc -O3 -ffp-contract=off -w -S \
                -o "$work/assembly" "$file" >"$work/log" 2>&1; then
                echo passed
            else
                echo "FAIL $file: $(head -n 2 "$work/log")"
            fi
        done <"$2" >"$work/each"
        grep -v '^passed$' "$work/each" >"$work/compiled"
        passed=$(grep -c '^passed$' "$work/each")
        echo "$passed passed, $(($(wc -l <"$2") - passed)) failed" >>"$work/compiled"
    fi
    grep -v ' passed, ' "$work/compiled"
    add_counts "$work/compiled"
    echo "$1: $(tail -n 1 "$work/compiled") of $(wc -l <"$work/all") kernels of the run"
}

library=$(ldconfig -p | sed -n 's/.*libamdhip64\.so\.[0-9]* .*=> //p' | head -n 1)
build_stand_in fake_hip
cc -O1 -w -o "$work/hip_compile" tests/gpu/hip_compile.c -ldl || exit 1
for arch in ${KN_HIP_ARCHS:-gfx90a gfx1030 gfx1100}; do
    if [ "$arch" = gfx1100 ] && ! command -v clang-15 >/dev/null 2>&1; then
        echo "skipped: $arch needs clang-15, which is not installed"
        continue
    elif [ "$arch" != gfx1100 ] && [ -z "$library" ]; then
        echo "skipped: $arch needs libamdhip64-5, which is not installed"
        continue
    fi
    case $arch in gfx9*) wave=64 ;; *) wave=32 ;; esac
    [ -d "$work/texts$wave" ] || write_texts "$wave" "$work/texts$wave" "$@"
    find "$work/texts$wave" -name '*.hip' | sort >"$work/all"
    # Drawn by their names, which are hashes of their texts.
    awk -v seed="${KN_SEED:-1}" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' "$work/all" | sort | cut -f 2 |
        head -n "${KN_HIP_MOST:-1000000000}" >"$work/list"
    compile_texts "$arch" "$work/list"
done

if [ -n "${KN_HIP_NUMBERS:-}" ]; then
    build_stand_in fake_hip_run
    mkdir "$work/run"
    for wave in 64 32; do
        # shellcheck disable=SC2086
        FAKE_HIP_FOLDER=$work/run FAKE_HIP_WAVE=$wave KN_HIP_LIBRARIES=$work/fake_hip_run KN_CACHE=off KN_HIP_GRAPHS=off \
            KN_FALLBACK=off "$build/kiln" conform --device hip:0 $KN_HIP_NUMBERS >"$work/told" 2>&1
        grep -v ' passed, ' "$work/told"
        add_counts "$work/told"
        echo "on the host, waves of $wave: $(tail -n 1 "$work/told")"
    done
fi
# The stand-in runs the latest work of a recording first, as far as its edges allow.
losses() {
    FAKE_HIP_FOLDER=$work/run FAKE_HIP_WAVE=64 KN_HIP_LIBRARIES=$work/fake_hip_run KN_HIP_GRAPHS=$2 KN_CACHE=off KN_FALLBACK=off \
        "$build/bench_models" "$1" --device "autodiff(fusion(hip:0))" --batch "${KN_HIP_BATCH:-16}" --losses 8 2>&1
}
for model in ${KN_HIP_REPLAYS:-}; do
    [ -d "$work/fake_hip_run" ] || build_stand_in fake_hip_run
    mkdir -p "$work/run"
    losses "$model" line >"$work/line"
    losses "$model" on >"$work/spread"
    if [ "$(wc -l <"$work/line")" -eq 8 ] && cmp "$work/line" "$work/spread"; then
        good=$((good + 1))
    else
        bad=$((bad + 1))
        echo "FAIL $model: its losses are others where recordings run in another order"
        diff "$work/line" "$work/spread" | head -n 4
    fi
done
echo "$good passed, $bad failed"
[ "$bad" -eq 0 ] && [ "$good" -gt 0 ]
