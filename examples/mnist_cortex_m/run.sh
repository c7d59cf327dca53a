#!/bin/sh
# Builds the digit classifier as an image for a bare Cortex-M4F (qemu's board mps2-an386), checks how much code it has beside its
# weights, and runs it. Usage, after scripts/build.sh release: examples/mnist_cortex_m/run.sh [WEIGHTS]
set -eu
cd "$(dirname "$0")/../.."
. scripts/environment.sh
limit=32768 # bytes of code, the weights aside: everything in flash but them
out=$root/mnist_cortex_m
own_folder "$out"
board=examples/mnist_cortex_m/board
cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
"$root/release/examples/mnist_cortex_m" --weights "${1:-examples/mnist/cnn.safetensors}" --folder "$out"
arm-none-eabi-gcc -std=c99 -Os -ffreestanding -Wall -Wextra -Werror -pedantic $cpu -ffunction-sections -fdata-sections \
    -c "$out/digits.c" -o "$out/digits.o"
arm-none-eabi-gcc -std=c11 -Os -ffreestanding -nostdlib -Wall -Wextra -Werror $cpu -ffunction-sections -fdata-sections \
    -I"$out" -I"$board" -Itests/smoke -T tests/smoke/cortex_m/image.ld -Wl,--gc-sections \
    "$out/digits.o" "$board/board_main.c" tests/smoke/cortex_m/startup.c tests/smoke/cortex_m/semihosting.c -lgcc -o "$out/digits.elf"
flash=$(arm-none-eabi-size "$out/digits.elf" | awk 'NR == 2 { print $1 + $2 }')
ram=$(arm-none-eabi-size "$out/digits.elf" | awk 'NR == 2 { print $2 + $3 }')
weights=$(arm-none-eabi-nm -S -t d "$out/digits.elf" | awk '$4 ~ /^w[0-9]+$/ { sum += $2 } END { print sum + 0 }')
scripts/run_limited.py 30 qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel "$out/digits.elf" </dev/null
echo "$((flash - weights)) bytes of code, at most $limit; $weights bytes of weights; $ram bytes of memory"
[ "$weights" -gt 0 ] && [ $((flash - weights)) -le "$limit" ]
