#!/bin/sh
# Installs a build into a temporary prefix, builds examples/backend_out_of_tree against that alone, and runs the conformance of its
# device: whole by itself, since no other device lowers so many ops, and in part under decorators.
# Usage: tests/examples/run_backend.sh BUILD [percent of the cases under decorators]
set -eu
build=$(realpath "$1")
percent=${2:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly() { "$@" >"$work/log" 2>&1 || { tail -40 "$work/log" && exit 1; }; }
quietly cmake --install "$build" --prefix "$work/prefix"
cp -r examples/backend_out_of_tree "$work/source"
quietly cmake -S "$work/source" -B "$work/built" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_C_FLAGS=-Werror
quietly cmake --build "$work/built"
kiln="$work/prefix/bin/kiln"
plugin="$work/built/file_leaf.so"

refused=$("$kiln" --plugin "$work/none.so" ops 2>&1) && echo "a plugin that is none was loaded" && exit 1
echo "$refused" | grep -q 'none.so' || { echo "no text names the plugin: $refused" && exit 1; }

unset KN_FALLBACK # the leaf has few kernels
quietly "$kiln" --plugin "$plugin" conform --device file
for device in 'fusion(file)' 'autodiff(fusion(file))'; do
    quietly "$kiln" --plugin "$plugin" conform --device "$device" --sample "$percent" --seed 3
done
quietly "$kiln" --plugin "$plugin" conform --device 'fusion(file)' --filter mul
"$kiln" --plugin "$plugin" ops --matrix --device file >"$work/matrix"
grep -q 'tanh' "$work/matrix"
