/* What a tier exports for the cells of lstm, gru and rnn. All lists have n elements that follow each other. Internal to
   sequence_cells_run.c and tier/cells_f32.c. */
#ifndef KNI_BACKEND_CPU_CELL_KERNELS_H
#define KNI_BACKEND_CPU_CELL_KERNELS_H

#include "backend/cpu/tier.h"
#include <stdint.h>

/* kind: kn_gate_activation. clip: above 0 clamps first. */
typedef struct kni_gate_function {
    int kind;
    float alpha, beta, clip;
} kni_gate_function;

typedef struct kni_recurrent_kernels {
    void (*activate)(const kni_gate_function *f, int64_t n, float *v);
    /* y = f(x), y may be x. */
    void (*activate_to)(const kni_gate_function *f, int64_t n, float *y, const float *x);
    /* The whole cell with sigmoid and tanh: gates i, o, f, g of n elements each before their activations. */
    void (*lstm)(int64_t n, const float *gates, float *c, float *h);
    /* The same for gru: gates z, r, g of n elements each, z after its activation, g before tanh. */
    void (*gru)(int64_t n, const float *z, const float *g, float *h);
    void (*add_product)(int64_t n, float *y, const float *a, const float *b);           /* y += a b */
    void (*product)(int64_t n, float *y, const float *a, const float *b);               /* y = a b */
    void (*blend)(int64_t n, float *y, const float *f, const float *i, const float *g); /* y = f y + i g */
    void (*mix)(int64_t n, float *h, const float *z, const float *g); /* h = (1 - z) g + z h */
    void (*rest)(int64_t n, float *y, const float *x);                /* y = 1 - x */
} kni_recurrent_kernels;

KNI_TIER_DECLARE(extern const kni_recurrent_kernels, kni_recurrent_f32, );

#endif
