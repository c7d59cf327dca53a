/* How elementwise rows are written: a row whose kernel is its body, and what kiln-gen makes of the bodies: the compact form
   and the CPU entries. */
#ifndef KNI_SCALAR_ROW_H
#define KNI_SCALAR_ROW_H

#include "ops/body.h"
#include "ops/infer.h"
#include "ops/native.h"

#define KN_OP(number, name, ...) extern const kni_native kni_cpu_##name;
#include "ops/elementwise.def"
#undef KN_OP

#define KN_OP(number, name, ...)                                                                             \
    extern const kni_body kni_body_##name;                                                                   \
    extern const kni_body_text kni_text_##name;                                                              \
    extern const kni_line_entry kni_lines_##name;                                                            \
    extern const kni_body_text kni_slope_text_##name;
#include "ops/ops.def"
#undef KN_OP

/* Writes down the body of a row; nothing but kiln-gen and the list of ops refers to the text, so that linkers drop it: it is an
   array of its own, since they keep or drop the string literals of a file together. The row names the compact form:
   .body = &kni_body_sub. */
#define BODY(op_name, formula)                                                                               \
    static const char formula_##op_name[] = formula;                                                         \
    const kni_body_text kni_text_##op_name = {formula_##op_name, NULL};
/* The same with the scalars that it computes with, which are made once for each record. */
#define HOSTED_BODY(op_name, host, formula)                                                                  \
    static const char formula_##op_name[] = formula, host_##op_name[] = host;                                \
    const kni_body_text kni_text_##op_name = {formula_##op_name, host_##op_name};

/* The gradient of an elementwise row with a body: a formula over its operands, dy and its result, with a value for each operand
   that has a gradient, named d and its name; or derived from the body. Its line in the .def file has B for G. kiln-gen makes rows
   of it, which only autodiff links. */
#define GRADIENT_BODY(op_name, formula)                                                                      \
    static const char slope_formula_##op_name[] = formula;                                                   \
    const kni_body_text kni_slope_text_##op_name = {slope_formula_##op_name, NULL};
#define DERIVED(op_name) const kni_body_text kni_slope_text_##op_name = {NULL, NULL};
/* Of these operands alone; asking for the gradients of others is an error. */
#define DERIVED_FOR(op_name, operands) const kni_body_text kni_slope_text_##op_name = {NULL, operands};

/* kni_infer_elementwise, quicker for operands of one type. */
kn_status kni_infer_row(kni_infer *c);

/* Whether a row takes these scalars; a failure names the one and what is allowed. */
kn_status kni_check_numbers(const kn_op *row, const double *p);

/* ELEMENTWISE(add, 2, KNI_RULE_PROMOTE, KNI_ALL, "y = a + b", .doc = "a + b") defines a row of 2 operands. */
#define ELEMENTWISE(op_name, arity, op_rule, op_dtypes, formula, ...)                                        \
    BODY(op_name, formula)                                                                                   \
    OP(op_name, .min_in = arity, .max_in = arity, .n_out = 1, .kind = KNI_ELEMENTWISE, .rule = op_rule,      \
       .dtypes = op_dtypes, .infer = kni_infer_row, .body = &kni_body_##op_name,                             \
       .native = &kni_cpu_##op_name, __VA_ARGS__)

/* The same with scalars in its body; schema names them. They are bound at replay, no part of a plan's key. */
#define ELEMENTWISE_NUMBERS(op_name, arity, op_rule, op_dtypes, formula, op_schema, ...)                     \
    ELEMENTWISE(op_name, arity, op_rule, op_dtypes, formula, .schema = op_schema,                            \
                .attribute_bytes = sizeof(kni_scalar_params), __VA_ARGS__)
#define KNI_NUMBER(name, k)                                                                                  \
    {                                                                                                        \
        name, KNI_ATTR_REAL, KNI_DYNAMIC, (k) * sizeof(double)                                               \
    }

/* Gradients of functions of one operand: SLOPE(exp, OUTPUT) says d/dx e^x = y. */
#define INPUT kni_vjp_in(v, 0)
#define OUTPUT kni_vjp_out(v, 0)
#define SLOPE(op_name, slope)                                                                                \
    GRADIENT(op_name)                                                                                        \
    {                                                                                                        \
        kni_vjp_set(v, 0, kn_mul(v->dy[0], slope));                                                          \
        return KN_OK;                                                                                        \
    }

/* A row of several operands with numbers. */
static inline kn_tensor kni_with_numbers(const kn_op *row, const kn_tensor *in, int n, double p0, double p1,
                                         double p2)
{
    kni_scalar_params params = {{p0, p1, p2, 0}};
    return kni_apply(row, in, n, &params);
}

/* A whole number as an operand next to x; it keeps an integer tensor's dtype. */
kn_tensor kni_integer(kn_tensor x, int64_t value);

/* condition ? value : 0, never a product: 0 times infinity is NaN. Takes temporaries. */
kn_tensor kni_where_or_zero(kn_tensor condition, kn_tensor value);
/* condition ? 0 : value */
kn_tensor kni_zero_where(kn_tensor condition, kn_tensor value);

/* Gradients of the larger or smaller of two operands, by what the loser is: all of dy to the operand that won, half
   to each where they are equal. */
void kni_share_extremum(kni_vjp *v, kn_tensor (*loses)(kn_tensor, kn_tensor));

#endif
