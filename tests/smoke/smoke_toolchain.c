/* Proves a toolchain and its runner before the library is involved: float and double arithmetic whose bits
   must be the same on every target. */
#include "smoke_output.h"

int main(void)
{
    volatile float step = 0.1f;
    volatile double wide_step = 0.1;
    float values[4] = {0};
    double sum = 0;
    for (int i = 0; i < 1000; i++) {
        values[i & 3] += step * (float)i / 3.0f;
        sum += wide_step / (double)(i + 1);
    }
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    smoke_write_floats("floats", values, 4);
    smoke_write("double ");
    smoke_write_hex(bits);
    smoke_write("\n");
    return 0;
}
