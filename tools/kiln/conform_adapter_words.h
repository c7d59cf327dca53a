/* The words that adapters are written with. */
#ifndef KILN_CONFORM_ADAPTER_WORDS_H
#define KILN_CONFORM_ADAPTER_WORDS_H

#include "conform_adapter.h"

#define ADAPTER(name)                                                                                        \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
/* One that gives the value of an expression over in, n and a. */
#define SIMPLE(name, call)                                                                                   \
    ADAPTER(name)                                                                                            \
    {                                                                                                        \
        (void)in, (void)n, (void)a, (void)room;                                                              \
        out[0] = call;                                                                                       \
        return 1;                                                                                            \
    }
/* One that gives two fields of a struct. */
#define PAIR(name, type, first, second, call)                                                                \
    ADAPTER(name)                                                                                            \
    {                                                                                                        \
        (void)in, (void)n, (void)a, (void)room;                                                              \
        type y = call;                                                                                       \
        out[0] = y.first;                                                                                    \
        out[1] = y.second;                                                                                   \
        return 2;                                                                                            \
    }
/* A line of a family's table. */
#define ENTRY(name)                                                                                          \
    {                                                                                                        \
#name, run_##name                                                                                    \
    }

/* Attributes of the case by name, 0 where it has none. */
#define FLAG(name) (kiln_int(a, name, 0) != 0)
#define I32(name) ((int32_t)kiln_int(a, name, 0))
#define I64(name) kiln_int(a, name, 0)
#define REAL(name) kiln_real(a, name, 0)
#define LIST(name) kiln_ints(a, name)

#endif
