/* Gradients that are bodies: rows that kiln-gen makes of GRADIENT_BODY and DERIVED (generated/slopes.c). Only autodiff links them. */
#ifndef KNI_SLOPES_H
#define KNI_SLOPES_H

#include "ops/defined.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"

enum { KNI_SLOPE_OPERANDS = 4, KNI_FIRST_SLOPE = 2000 };

/* The gradient of one operand as a row. Its operand k is operand from[k] of the row that it belongs to; from n_in on it is the
   cotangent, and then the result. */
typedef struct kni_slope {
    kn_op row;                     /* comes first, so that a row's address is its slope's */
    const struct kni_slopes *next; /* its own gradients; NULL: by its lowering */
    uint8_t from[KNI_SLOPE_OPERANDS];
} kni_slope;

/* The gradients of a row by operand, NULL where one is zero. */
typedef struct kni_slopes {
    const kni_slope *of[KNI_SLOPE_OPERANDS];
    /* Operands, a bit each: */
    uint8_t same;    /* get the cotangent itself */
    uint8_t missing; /* have no gradient: asking for it is an error */
} kni_slopes;

/* NULL where the gradient of the row is none of these. */
const kni_slopes *kni_slopes_of(const kn_op *row);
/* The entry of the gradient column of all such rows. */
kn_status kni_gradient_by_body(kni_vjp *v);

/* A gradient's row in the generated files; body and operands are lists in parentheses and braces. */
#define KNI_BARE(...) __VA_ARGS__
#define GRADIENT_ROW(row_name, row_number, operands, row_native, gradient, next_slopes, code_list,           \
                     constant_list, from_list, row_schema, bytes)                                            \
    static const uint8_t code_##row_name[] = KNI_BARE code_list;                                             \
    static const double constants_##row_name[] = KNI_BARE constant_list;                                     \
    static const kni_body body_##row_name = {.code = code_##row_name,                                        \
                                             .constants = constants_##row_name,                              \
                                             .n = sizeof code_##row_name,                                    \
                                             .n_in = operands,                                               \
                                             .n_out = 1};                                                    \
    static const kni_slope slope_##row_name = {.row = {.number = KNI_FIRST_SLOPE + (row_number),             \
                                                       .name = #row_name,                                    \
                                                       .doc = "a gradient",                                  \
                                                       .min_in = operands,                                   \
                                                       .max_in = operands,                                   \
                                                       .n_out = 1,                                           \
                                                       .kind = KNI_ELEMENTWISE,                              \
                                                       .rule = KNI_RULE_PROMOTE,                             \
                                                       .dtypes = KNI_FLOATS,                                 \
                                                       .tolerance = {16, 1},                                 \
                                                       .flags = KNI_FLAG_ALIAS | KNI_FLAG_WIDE,              \
                                                       .schema = row_schema,                                 \
                                                       .attribute_bytes = bytes,                             \
                                                       .infer = kni_infer_row,                               \
                                                       .body = &body_##row_name,                             \
                                                       .lower = kni_defined_lower,                           \
                                                       .wide = &kni_wide,                                    \
                                                       .custom_gradient = gradient,                          \
                                                       .native = row_native},                                \
                                               .next = next_slopes,                                          \
                                               .from = KNI_BARE from_list};

#endif
