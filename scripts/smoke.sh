#!/bin/sh
# Builds the library and every program in tests/smoke for three other places (aarch64 Linux, wasm32, bare-metal
# Cortex-M4F), runs them under an emulator and compares what they print, byte for byte, with the run on this
# machine under KN_ISA=scalar. Usage: scripts/smoke.sh [arm64] [wasm] [cortex-m]
set -u
cd "$(dirname "$0")/.." || exit 1

# Flash limits of Cortex-M images in bytes, and what must not be linked into them. That of mlp_inference is what it took when the
# formulas of ops were C: bodies must not cost a program that only infers anything.
flash_limit() {
    case "$1" in
    mlp_inference) echo 77464 ;;
    *) echo 0 ;;
    esac
}
unwanted_symbols='grad|backward|autodiff|parse'

. scripts/environment.sh
out=$root/smoke
base_flags="-std=c11 -Wall -Wextra -Werror -ffp-contract=off -fwrapv -Iinclude -Itests/smoke -ffunction-sections -fdata-sections"
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

library() { # the library of a preset, or nothing where it did not build
    if [ -f "$root/$1/libkiln.a" ]; then echo "$root/$1/libkiln.a"; fi
}

# Where building fails, there is no library: one of an earlier build is never taken.
build_library() { # build_library PRESET
    status=0
    scripts/build.sh "$1" || status=$?
    [ "$status" -eq 0 ] || rm -f "$root/$1/libkiln.a"
    result "$1 library builds" "$status"
}

extra= # sources and options of the program beside its own file
link_host() { gcc $base_flags -O2 $extra "$1" tests/smoke/hosted/smoke_hosted.c $(library release) -pthread -o "$2"; }
link_arm64() {
    aarch64-linux-gnu-gcc $base_flags -O2 -static "$1" tests/smoke/hosted/smoke_hosted.c $(library arm64) \
        -pthread -o "$2"
}
link_wasm() {
    clang --target=wasm32-wasi $base_flags -O2 -Wl,-z,stack-size=1048576 "$1" tests/smoke/hosted/smoke_hosted.c $(library wasm) -o "$2"
}
# Every way to malloc is wrapped by a name that nobody defines: an image that needs one does not link.
link_cortex_m() {
    arm-none-eabi-gcc $base_flags -Os -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 \
        -DKN_FREESTANDING=1 -nostartfiles -T tests/smoke/cortex_m/image.ld -Wl,--gc-sections,-Map="$2.map" \
        -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=_malloc_r,--wrap=_free_r,--wrap=_sbrk \
        $extra "$1" tests/smoke/cortex_m/startup.c tests/smoke/cortex_m/semihosting.c $(library cortex-m) -o "$2"
}

run_arm64() { scripts/run_limited.py 6 qemu-aarch64 "$1"; }
run_wasm() {
    scripts/run_limited.py 6 node --no-warnings --experimental-wasi-unstable-preview1 tests/smoke/run_wasm.mjs "$1"
}
run_cortex_m() {
    scripts/run_limited.py 6 qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$1" </dev/null 2>&1
}

# compare TARGET ISA PROGRAM: runs the image of a program and compares its text with the host's.
compare() {
    what="$1${2:+ $2} $3"
    if KN_ISA=$2 "run_$(echo "$1" | tr - _)" "$out/$3.$1" >"$out/$3.$1.txt" &&
        cmp "$out/$3.host.txt" "$out/$3.$1.txt"; then
        result "$what equals the host" 0
    else
        head -n 20 "$out/$3.$1.txt"
        result "$what equals the host" 1
    fi
}

check_flash() { # check_flash PROGRAM
    limit=$(flash_limit "$1")
    if [ "$limit" -eq 0 ]; then return; fi
    bytes=$(arm-none-eabi-size "$out/$1.cortex-m" | awk 'NR == 2 { print $1 + $2 }')
    [ "$bytes" -le "$limit" ]
    result "cortex-m $1: $bytes of $limit bytes of flash" $?
    if arm-none-eabi-nm "$out/$1.cortex-m" | grep -iE "$unwanted_symbols"; then
        result "cortex-m $1: links no gradient and no parser" 1
    else
        result "cortex-m $1: links no gradient and no parser" 0
    fi
    python3 -B tests/smoke/linked_kernels.py "$out/$1.cortex-m.map" "tests/smoke/$1_kernels.txt"
    result "cortex-m $1: links the kernels it calls and no others" $?
}

isas_of() {
    case "$1" in
    arm64) echo "scalar neon" ;;
    wasm) echo "scalar simd128" ;;
    *) echo "scalar" ;;
    esac
}

# A program that starts with "smoke: cortex-m only" or the like in its first lines runs just there.
wanted_on() { # wanted_on SOURCE TARGET
    only=$(sed -n '1,5s/.*smoke: \([a-z0-9-]*\) only.*/\1/p' "$1")
    [ -z "$only" ] || [ "$only" = "$2" ]
}

# The guard against malloc is worth something only if it bites.
check_malloc_guard() {
    echo '#include <stdlib.h>
int main(void) { return malloc(4) != 0; }' >"$out/uses_malloc.c"
    if link_cortex_m "$out/uses_malloc.c" "$out/uses_malloc" 2>/dev/null; then
        result "cortex-m image that calls malloc is refused" 1
    else
        result "cortex-m image that calls malloc is refused" 0
    fi
}

# Programs that kn_program_to_c has written, without the library: each compares its results with those of this machine itself.
check_exported() {
    cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
    own_folder "$out/exported"
    "$root/release/tests/test_program_to_c" "$out/exported"
    result "programs are written as C" $?
    for main in "$out"/exported/*_main.c; do
        program=$(basename "$main" _main.c)
        image=$out/exported/$program
        arm-none-eabi-gcc -std=c99 -Os -ffreestanding -nostdlib -Wall -Wextra -Werror -pedantic $cpu -c "$image.c" -o "$image.o" &&
            arm-none-eabi-gcc -std=c99 -Os -ffreestanding -nostdlib $cpu -c "$main" -o "${image}_main.o" &&
            arm-none-eabi-gcc -std=c11 -Os -ffreestanding -nostdlib $cpu -Itests/smoke -T tests/smoke/cortex_m/image.ld \
                "$image.o" "${image}_main.o" tests/smoke/cortex_m/startup.c tests/smoke/cortex_m/semihosting.c -lgcc \
                -o "$image.elf" && run_cortex_m "$image.elf"
        result "cortex-m $program, written as C, agrees" $?
    done
}

# An imported model as C against the library, with its weights in the image.
check_imported() {
    own_folder "$out/imported"
    "$root/release/kiln" import examples/onnx_finetune/digits.onnx -o "$out/imported" --name net --embed
    result "a model is imported" $?
    extra="-I$out/imported $out/imported/net.c $out/imported/net_weights.c"
    source=tests/smoke/imported/imported.c
    link_host $source "$out/imported.host" && KN_ISA=scalar "$out/imported.host" >"$out/imported.host.txt"
    result "host imported runs" $?
    if link_cortex_m $source "$out/imported.cortex-m"; then
        compare cortex-m scalar imported
    else
        result "cortex-m imported links" 1
    fi
    extra=
}

# The product of examples/mnist_cortex_m: reads ten digits, with at most 32 KB of code beside the weights.
check_digits() {
    digits=0
    examples/mnist_cortex_m/run.sh >"$out/digits.txt" 2>&1 || digits=$?
    result "cortex-m digits: $(tail -n 1 "$out/digits.txt")" "$digits"
}

own_folder "$out"
targets=${*:-"arm64 wasm cortex-m"}
for target in release $targets; do build_library "$target"; done

case " $targets " in
*" cortex-m "*)
    check_malloc_guard
    check_exported
    check_imported
    check_digits
    ;;
esac
for source in tests/smoke/*.c; do
    program=$(basename "$source" .c)
    link_host "$source" "$out/$program.host" && KN_ISA=scalar "$out/$program.host" >"$out/$program.host.txt"
    result "host $program runs" $?
    for target in $targets; do
        wanted_on "$source" "$target" || continue
        if "link_$(echo "$target" | tr - _)" "$source" "$out/$program.$target"; then
            for isa in $(isas_of "$target"); do compare "$target" "$isa" "$program"; done
            if [ "$target" = "cortex-m" ]; then check_flash "$program"; fi
        else
            result "$target $program links" 1
        fi
    done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
