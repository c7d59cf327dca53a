/* The gradient column. Only autodiff links this, so a program that infers links no gradient. */
#include "ops/op.h"

#define COLUMN_G(name) kni_gradient_##name
#define COLUMN_N(name) NULL

static const kni_gradient_fn gradients[] = {
#define KN_OP(number, name, g) [number] = COLUMN_##g(name),
#include "ops/ops.def"
#undef KN_OP
};

kni_gradient_fn kni_gradient_of(const kn_op *row)
{
    if (row->custom_gradient) return row->custom_gradient;
    return row->number < KNI_COUNT(gradients) ? gradients[row->number] : NULL;
}
