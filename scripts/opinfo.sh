#!/bin/sh
# Runs PyTorch's op database against Kiln: scripts/opinfo.sh [options of tests/opinfo/run_opinfo.py]
# PyTorch lives in the folder venv of the build root, several GB of it; --setup only installs it and fails where that cannot
# be done.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
venv=$root/venv
if ! [ -f "$venv/ready" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet 'torch>=2,<3' numpy expecttest
    "$venv/bin/python" -c 'import torch.testing._internal.common_methods_invocations'
    touch "$venv/ready"
fi
if [ "${1:-}" = "--setup" ]; then exit 0; fi
exec "$venv/bin/python" -B tests/opinfo/run_opinfo.py --library "$root/release/libkiln.so" "$@"
