/* Calling any op of the table, or a custom one (kn/custom_op.h), by its name. kn/op_info.h lists them. */
#ifndef KN_CALL_H
#define KN_CALL_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An attribute by name for kn_call; a list of them ends with a NULL name. Which field counts is the type in
   the op's schema (kn_op_attribute): whole numbers and truths `integer`, numbers `real`, lists `list`. */
typedef struct kn_attribute_value {
    const char *name;
    int64_t integer;
    double real;
    kn_ints list;
} kn_attribute_value;

/* Runs any op of the table (or a custom one) by its name without kn_: the entry for other languages and
   tests. Attributes that are not named are zero; but a random op for which neither key nor counter is named
   draws from its device, as its function does. Takes temporaries. Fills n_out results, as many as the op
   has; on failure all are poisoned and the status says why. */
KN_API kn_status kn_call(const char *op, const kn_tensor *in, int32_t n_in,
                         const kn_attribute_value *attributes, kn_tensor *out, int32_t n_out);

#ifdef __cplusplus
}
#endif
#endif
