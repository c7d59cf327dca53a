#!/bin/sh
# Installs what building and testing Kiln needs on Debian 12, and only what is missing.
# It uses no network when nothing is missing. KN_SETUP=off leaves the machine alone.
set -eu

# Each row: a command to look for (or - to ask dpkg for the package itself), then the package.
needed() {
    cat <<'ROWS'
gcc gcc
g++ g++
make make
git git
cmake cmake
ninja ninja-build
pkg-config pkg-config
python3 python3
clang clang
clang-format clang-format
wasm-ld lld
llvm-ar llvm
- libc6-dev
- libclang-rt-14-dev
- libclang-rt-14-dev-wasm32
- wasi-libc
node nodejs
arm-none-eabi-gcc gcc-arm-none-eabi
- libnewlib-arm-none-eabi
qemu-system-arm qemu-system-arm
qemu-aarch64 qemu-user
aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
- libc6-dev-arm64-cross
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

if [ "${KN_SETUP:-on}" = "off" ]; then exit 0; fi
if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "setup: not a Debian system; please install by hand what the list in scripts/setup.sh names"
    exit 0
fi

missing=$(needed | while read -r command package; do
    if ! installed "$command" "$package"; then printf '%s ' "$package"; fi
done)
if [ -z "$missing" ]; then exit 0; fi

root=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || fail "run this as root, or install sudo; missing packages: $missing"
    root="sudo"
fi
echo "setup: installing $missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086
if ! { $root apt-get update -q &&
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail "apt-get could not install: $missing"
fi
