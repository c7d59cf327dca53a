#!/bin/sh
# Trains the CNN of the demo with five seeds and checks each: at least 98.8 % of the test images after less than 90 s of training.
# tests/examples/mnist_seeds.sh BUILD
set -u
cd "$(dirname "$0")/../.." || exit 1
program=$1/examples/mnist
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
passed=0 failed=0
for seed in 1 2 3 4 5; do
    line=$(KN_RENDERER=none "$program" --seed $seed --folder "$out/$seed" | grep '^test accuracy')
    echo "seed $seed: $line"
    if echo "$line" | awk '{ exit !($3 >= 98.8 && $6 == 10000 && $9 < 90) }'; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
