#!/bin/sh
# Builds the library small (preset small), links the classifier of examples/mnist_inference to it statically, and checks how
# many bytes it has without symbols, what it links, and that it still reads digits. Usage: scripts/small.sh
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
limit=202000
out="$root/small-program"
passed=0 failed=0

result() { # result TEXT STATUS
    if [ "$2" = 0 ]; then
        passed=$((passed + 1)) && echo "  ok    $1"
    else
        failed=$((failed + 1)) && echo "  FAIL  $1"
    fi
}

link() { # link LIBRARY PROGRAM
    gcc -std=c11 -Wall -Wextra -Werror -Os -ffunction-sections -fdata-sections -DKN_NO_SITES -Iinclude \
        examples/mnist_inference/mnist_inference.c "$1" -Wl,--gc-sections,-z,noseparate-code,-z,pack-relative-relocs -o "$2" &&
        strip -o "$2.stripped" "$2"
}

own_folder "$out"
scripts/build.sh small
status=0
link "$root/small/libkiln.a" "$out/mnist_inference" || status=$?
result "the classifier links to the small library" "$status"
bytes=$(wc -c <"$out/mnist_inference.stripped")
[ "$bytes" -le "$limit" ] && status=0 || status=1
result "it has $bytes bytes, at most $limit" "$status"
nm --defined-only "$out/mnist_inference" |
    grep -E 'kni_gradient_|kni_tape_walk|kn_optim|kn_backward|kn_device_open|kni_body_parse|kni_body_derive' && status=1 || status=0
result "it links nothing that trains and no parser of device strings or bodies" "$status"
libraries=$(ldd "$out/mnist_inference.stripped" | grep -cvE 'linux-vdso|libc\.so|ld-linux') || true
result "it needs the C library alone" "$libraries"
right=$("$out/mnist_inference.stripped" | sed -n 's/ of 10000 right//p')
[ "${right:-0}" -ge 9600 ] && status=0 || status=1
result "it reads $right of 10000 digits" "$status"
if [ -f "$root/release/libkiln.a" ]; then
    link "$root/release/libkiln.a" "$out/mnist_inference.release"
    echo "  (linked to the release build, with all tiers: $(wc -c <"$out/mnist_inference.release.stripped") bytes)"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
