/* How a smoke program prints: the same calls on a hosted target and on bare metal, so that the text of two
   runs can be compared byte for byte. */
#ifndef KN_SMOKE_OUTPUT_H
#define KN_SMOKE_OUTPUT_H

#include <stdint.h>
#include <string.h>

/* Writes a text that ends in 0 to the standard output (or to the semihosting host). */
void smoke_write(const char *text);

/* Writes a number as 16 hexadecimal digits. */
static inline void smoke_write_hex(uint64_t bits)
{
    char text[17];
    for (int i = 0; i < 16; i++) text[i] = "0123456789abcdef"[(bits >> (60 - 4 * i)) & 15];
    text[16] = 0;
    smoke_write(text);
}

/* Writes one line with a name and the bits of some floats. */
static inline void smoke_write_floats(const char *name, const float *values, int count)
{
    smoke_write(name);
    for (int i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        smoke_write(" ");
        smoke_write_hex(bits);
    }
    smoke_write("\n");
}

#endif
