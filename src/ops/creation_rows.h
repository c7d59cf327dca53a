/* Attribute structs of the creation rows, which the CPU's entries read too. */
#ifndef KNI_CREATION_ROWS_H
#define KNI_CREATION_ROWS_H

#include "ops/op.h"

/* Floats take value, other dtypes whole. */
typedef struct kni_full_attributes {
    kn_ints shape;
    int64_t dtype;
    double value;
    int64_t whole;
} kni_full_attributes;

typedef struct kni_iota_attributes {
    int64_t length, dtype;
    double start, step;
    int64_t whole_start, whole_step;
} kni_iota_attributes;

typedef struct kni_linspace_attributes {
    int64_t length, dtype;
    double start, stop;
} kni_linspace_attributes;

/* Of all rows that draw; each reads some of them (random.c). */
typedef struct kni_random_attributes {
    kn_ints shape;
    int64_t dtype;
    double a, b,
        top; /* ends, or mean and deviation, or a probability; top: the largest number of the dtype below b */
    int64_t lowest, range;
    int64_t key, counter;
} kni_random_attributes;

typedef struct kni_categorical_attributes {
    int64_t samples, key, counter;
} kni_categorical_attributes;

struct kni_infer;
/* Gives out[0] a user's shape and dtype after checking them against mask. */
kn_status kni_infer_made(struct kni_infer *c, const kn_ints *shape, int64_t dtype, uint32_t mask);

/* A tensor of rank 0 with x's dtype, where x is; poisoned when x is bad. */
kn_tensor kni_number_like(kn_tensor x, double value);

/* Functions without operands that are to run where x is: sets and restores the thread's route. */
kni_context kni_route_to(kn_tensor x);
void kni_route_back(kni_context before);

#endif
