#!/bin/sh
# Runs PyTorch's op database against Kiln: scripts/opinfo.sh [options of tests/opinfo/run_opinfo.py]
# PyTorch lives in the folder venv of the build root, several GB of it; --setup only installs it. Where that cannot be done the
# script fails and says why in one line.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
venv=$root/venv
if ! [ -f "$venv/ready" ]; then
    log=$root/opinfo-setup.log
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet 'torch>=2,<3' numpy expecttest &&
        "$venv/bin/python" -c 'import torch.testing._internal.common_methods_invocations'; } >"$log" 2>&1; then
        echo "opinfo: PyTorch cannot be installed into $venv from PyPI (see $log): $(tail -n 1 "$log")" >&2
        exit 1
    fi
    touch "$venv/ready"
fi
if [ "${1:-}" = "--setup" ]; then exit 0; fi
exec "$venv/bin/python" -B tests/opinfo/run_opinfo.py --library "$root/release/libkiln.so" "$@"
