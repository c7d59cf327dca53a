/* A result as one line of text: its name, and its bytes in 64 bits. */
#ifndef KN_SMOKE_TENSOR_H
#define KN_SMOKE_TENSOR_H

#include "smoke_output.h"
#include <kn.h>

/* False, with the error in place of the bits, where there is none or it has more than `room` bytes. */
static inline bool smoke_write_tensor(const char *name, kn_tensor y, unsigned char *bytes, int64_t room)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    y = kn_keep(y);
    int64_t n = kn_ok(y) ? kn_dtype_bytes(kn_dtype_of(y), kn_count(y)) : 0;
    bool good = n <= room && kn_read(y, bytes, (size_t)n) == KN_OK;
    smoke_write(name);
    smoke_write(" ");
    for (int64_t i = 0; i < n && good; i++) hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    if (good)
        smoke_write_hex(hash);
    else
        smoke_write(kn_last_error());
    smoke_write("\n");
    return good;
}

#endif
