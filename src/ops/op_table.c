/* The array of all rows and lookup in it. Only who looks ops up by number or name links this. */
#include "ops/op.h"
#include <stdatomic.h>
#include <string.h>

static const kn_op *const rows[] = {
#define KN_OP(number, name, ...) [number] = &kni_op_##name,
#include "ops/ops.def"
#undef KN_OP
};

int kni_op_count(void) { return KNI_COUNT(rows); }

const kn_op *kni_op_by_number(int number)
{
    return number >= 0 && number < KNI_COUNT(rows) ? rows[number] : NULL;
}

/* Numbers of rows by the hash of their names, noted as they are asked for, in the first free place from there on; 0: none yet. */
enum { SLOTS = 1024, TRIES = 8 };
static _Atomic uint16_t found[SLOTS];

static uint32_t slot_of(const char *name)
{
    uint32_t h = 2166136261U;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 16777619U;
    return (h ^ h >> 15) % SLOTS;
}

/* Its number; 0: there is none. */
static int number_of(const char *name)
{
    for (int i = 0; i < KNI_COUNT(rows); i++)
        if (rows[i] && !strcmp(rows[i]->name, name)) return i;
    return 0;
}

const kn_op *kni_op_by_name(const char *name)
{
    if (!name) return NULL;
    const uint32_t first = slot_of(name);
    for (uint32_t i = 0; i < TRIES; i++) {
        _Atomic uint16_t *slot = &found[(first + i) % SLOTS];
        int number = atomic_load_explicit(slot, memory_order_relaxed);
        if (number && strcmp(rows[number]->name, name) != 0) continue;
        if (number) return rows[number];
        number = number_of(name);
        atomic_store_explicit(slot, (uint16_t)number, memory_order_relaxed);
        return rows[number];
    }
    return rows[number_of(name)];
}
