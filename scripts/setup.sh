#!/bin/sh
# Installs what building and testing Kiln needs on Debian 12, and only what is missing: all of it, with the argument 'build' just
# what the library and the examples need, with 'web' that and what the WebAssembly modules need. It uses no network when nothing is missing. KN_SETUP=off leaves
# the machine alone.
set -eu
# A shell of su or of a service may lack the folders of administration, and dpkg needs them.
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH

# Each row: a command to look for (or - to ask dpkg for the package itself), then the package.
needed_to_build() {
    cat <<'ROWS'
gcc gcc
make make
cmake cmake
ninja ninja-build
pkg-config pkg-config
- libc6-dev
- zlib1g-dev
- libpng-dev
- libturbojpeg0-dev
- libsqlite3-dev
- libncurses-dev
ROWS
}

needed_for_the_web() {
    cat <<'ROWS'
clang clang
wasm-ld lld
llvm-ar llvm
- libclang-rt-14-dev-wasm32
- wasi-libc
node nodejs
ROWS
}

needed_to_test() {
    cat <<'ROWS'
g++ g++
git git
python3 python3
pip3 python3-pip
npm npm
clang-format-14 clang-format-14
- libclang-rt-14-dev
chromium chromium
tsc node-typescript
arm-none-eabi-gcc gcc-arm-none-eabi
- libnewlib-arm-none-eabi
qemu-system-arm qemu-system-arm
qemu-aarch64 qemu-user
aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
- libc6-dev-arm64-cross
- ocl-icd-libopencl1
- pocl-opencl-icd
- libvulkan1
- mesa-vulkan-drivers
spirv-val spirv-tools
- libamdhip64-5
clang-15 clang-15
ROWS
}

installed() {
    if [ "$1" = "-" ]; then
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$2" 2>/dev/null)" = "installed" ]
    else
        command -v "$1" >/dev/null 2>&1
    fi
}

fail() {
    echo "setup: $1" >&2
    exit 1
}

what=${1:-all}
if [ "${KN_SETUP:-on}" = "off" ]; then exit 0; fi
if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup: not a Debian system; please install by hand what the list in scripts/setup.sh names"
    exit 0
fi

list_missing() {
    {
        needed_to_build
        if [ "$what" != "build" ]; then needed_for_the_web; fi
        if [ "$what" = "all" ]; then needed_to_test; fi
    } | while read -r command package; do
        if ! installed "$command" "$package"; then printf '%s ' "$package"; fi
    done
}

missing=$(list_missing)
if [ -z "$missing" ]; then exit 0; fi

root=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || fail "run this as root, or install sudo; missing packages: $missing"
    root="sudo"
fi
echo "setup: installing $missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Nobody is there to answer; another apt may be at work; a mirror may fail once.
apt() {
    $root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a apt-get -q -y -o DPkg::Lock::Timeout=300 \
        -o Acquire::Retries=3 -o Dpkg::Options::=--force-confold "$@" </dev/null >>"$log" 2>&1
}
# A broken list of somebody else's packages is no reason to stop: what is needed may be in the others.
apt update || echo "setup: apt-get update failed; trying with the lists that are there"
# shellcheck disable=SC2086
if ! apt install --no-install-recommends $missing; then
    tail -n 30 "$log" >&2
    fail "apt-get could not install: $missing"
fi
missing=$(list_missing)
if [ -n "$missing" ]; then fail "apt-get succeeded, yet these are still missing: $missing"; fi
