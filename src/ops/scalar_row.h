/* How elementwise rows are written: a row whose kernel is its scalar body, and the CPU entries that kiln-gen makes
   from the bodies. */
#ifndef KNI_SCALAR_ROW_H
#define KNI_SCALAR_ROW_H

#include "ops/infer.h"
#include "ops/native.h"

#define KN_OP(number, name, ...) extern const kni_native kni_cpu_##name;
#include "ops/elementwise.def"
#undef KN_OP

/* ELEMENTWISE(add, 2, KNI_RULE_PROMOTE, KNI_ALL, "x y add", .doc = "a + b") defines a row of 2 operands. */
#define ELEMENTWISE(op_name, arity, op_rule, op_dtypes, body, ...)                                           \
    OP(op_name, .min_in = arity, .max_in = arity, .n_out = 1, .kind = KNI_ELEMENTWISE, .rule = op_rule,      \
       .dtypes = op_dtypes, .infer = kni_infer_elementwise, .scalar = body, .native = &kni_cpu_##op_name,    \
       __VA_ARGS__)

/* The same with numbers p0.. in its body. Numbers are bound at replay: they are no part of a plan's key. */
#define ELEMENTWISE_PARAMS(op_name, arity, op_rule, op_dtypes, body, ...)                                    \
    ELEMENTWISE(op_name, arity, op_rule, op_dtypes, body, .schema = kni_scalar_schema,                       \
                .attribute_bytes = sizeof(kni_scalar_params), __VA_ARGS__)
extern const kn_attribute kni_scalar_schema[];

/* condition ? value : 0, never a product: 0 times infinity is NaN. Takes temporaries. */
kn_tensor kni_where_or_zero(kn_tensor condition, kn_tensor value);
/* condition ? 0 : value */
kn_tensor kni_zero_where(kn_tensor condition, kn_tensor value);

#endif
