#!/bin/sh
# Compares the casts of stored dtypes, and DLPack, with ml_dtypes and PyTorch: scripts/stored.sh [options of
# tests/opinfo/stored_agreement.py]
# It uses the folder venv of scripts/opinfo.sh, with ml_dtypes. Where that cannot be installed the script fails and says why.
set -eu
cd "$(dirname "$0")/.."
. scripts/environment.sh
scripts/opinfo.sh --setup
venv=$root/venv
if ! "$venv/bin/python" -c 'import ml_dtypes' 2>/dev/null; then
    log=$root/stored-setup.log
    if ! "$venv/bin/pip" install --quiet ml_dtypes >"$log" 2>&1; then
        echo "stored: ml_dtypes cannot be installed into $venv from PyPI (see $log): $(tail -n 1 "$log")" >&2
        exit 1
    fi
fi
exec "$venv/bin/python" -W ignore -B tests/opinfo/stored_agreement.py --library "$root/release/libkiln.so" "$@"
