/* The array of all rows and lookup in it. Only who looks ops up by number or name links this. */
#include "ops/op.h"
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

const kn_op *kni_op_by_name(const char *name)
{
    for (int i = 0; name && i < KNI_COUNT(rows); i++)
        if (rows[i] && !strcmp(rows[i]->name, name)) return rows[i];
    return NULL;
}
