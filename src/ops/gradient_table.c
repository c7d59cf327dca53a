/* The gradient column, and those of bodies, of pieces and of what tapes record instead. Only autodiff links this, so a program that infers links no gradient. */
#include "ops/pieces.h"
#include "ops/slopes.h"

#define COLUMN_G(name) kni_gradient_##name
#define COLUMN_P(name) kni_gradient_##name
#define COLUMN_T(name) kni_gradient_##name
#define COLUMN_B(name) kni_gradient_by_body
#define COLUMN_N(name) NULL

static const kni_gradient_fn gradients[] = {
#define KN_OP(number, name, g) [number] = COLUMN_##g(name),
#include "ops/ops.def"
#undef KN_OP
};

#define PIECE_G(name) NULL
#define PIECE_P(name) kni_piece_##name
#define PIECE_T(name) NULL
#define PIECE_B(name) NULL
#define PIECE_N(name) NULL

static bool (*const pieces[])(const kni_type *, const kni_type *, const void *, kni_piece *) = {
#define KN_OP(number, name, g) [number] = PIECE_##g(name),
#include "ops/ops.def"
#undef KN_OP
};

#define TAPED_G(name) NULL
#define TAPED_P(name) NULL
#define TAPED_T(name) kni_taped_##name
#define TAPED_B(name) NULL
#define TAPED_N(name) NULL

static const kni_lower_fn taped[] = {
#define KN_OP(number, name, g) [number] = TAPED_##g(name),
#include "ops/ops.def"
#undef KN_OP
};

/* Bodies are of elementwise rows. */
#define KN_OP(number, name, ...) extern const kni_slopes kni_slopes_##name;
#include "ops/elementwise.def"
#undef KN_OP

#define SLOPES_G(name) NULL
#define SLOPES_B(name) &kni_slopes_##name
#define SLOPES_N(name) NULL

static const kni_slopes *const slopes[] = {
#define KN_OP(number, name, g) [number] = SLOPES_##g(name),
#include "ops/elementwise.def"
#undef KN_OP
};

bool kni_piece_of(const kn_op *row, const kni_type *whole, const kni_type *part, const void *attributes,
                  kni_piece *piece)
{
    bool has = !row->custom_gradient && row->number < KNI_COUNT(pieces) && pieces[row->number];
    return has && pieces[row->number](whole, part, attributes, piece);
}

const kni_slopes *kni_slopes_of(const kn_op *row)
{
    if (row->custom_gradient == kni_gradient_by_body) return ((const kni_slope *)row)->next;
    return row->number < KNI_COUNT(slopes) ? slopes[row->number] : NULL;
}

kni_gradient_fn kni_gradient_of(const kn_op *row)
{
    if (row->custom_gradient) return row->custom_gradient;
    return row->number < KNI_COUNT(gradients) ? gradients[row->number] : NULL;
}

kni_lower_fn kni_taped_of(const kn_op *row)
{
    return !row->custom_gradient && row->number < KNI_COUNT(taped) ? taped[row->number] : NULL;
}
