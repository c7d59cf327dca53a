#!/bin/sh
# Builds onnx_finetune around another ONNX model and runs it: any_model.sh MODEL.onnx "IMPORT OPTIONS" [OPTIONS OF THE PROGRAM]
# The model takes one tensor of images [batch, channels, height, width] and gives one of classes.
#   any_model.sh classifier.onnx "--dim x.2=48 --dim x.3=192" --channels 3 --height 48 --width 192 --probabilities
# KN_BUILD_ROOT is the folder of builds (default build).
set -eu
cd "$(dirname "$0")/../.."
if [ $# -lt 1 ]; then
    sed -n '2,3p' "$0" >&2
    exit 2
fi
build=${KN_BUILD_ROOT:-build}/release
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
model=$1
options=${2:-}
[ $# -lt 2 ] || shift
shift
# shellcheck disable=SC2086
"$build/kiln" import "$model" -o "$out" --name net $options
"${CC:-cc}" -O2 -Iexamples -I"$out" -Iinclude examples/onnx_finetune/onnx_finetune.c "$out/net.c" -L"$build" -lkiln -lm \
    -Wl,-rpath,"$(realpath "$build")" -o "$out/onnx_finetune"
"$out/onnx_finetune" --weights "$out/net.safetensors" --folder "$out" "$@"
