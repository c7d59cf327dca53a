/* What a tier exports to the convolutions. A convolution is a product of weights with shifted planes: with the
   input copied into padded planes (one for each phase of the stride), tap k of channel c of output column j is
   x[offsets[c, k] + j], so nothing has to be gathered. Internal to conv_*.c and tier/conv_*.c. */
#ifndef KNI_BACKEND_CPU_CONV_KERNELS_H
#define KNI_BACKEND_CPU_CONV_KERNELS_H

#include "backend/cpu/finish_kind.h"
#include "backend/cpu/tier.h"

#include <stdbool.h>
#include <stdint.h>

/* Sums run over at most this many products one after the other and are then added in order, on every tier. */
enum { KNI_CONV_DEPTH = 256 };

/* y[r][j] = sum over k of w[k][r] x[offsets[k] + j] for j below vectors * lanes; `rows` is 1, 2, 4 or 8 and at
   most the tier's. */
typedef struct {
    int64_t depth;
    const void *w, *x;
    const int64_t *offsets;
    void *y;
    int64_t y_row;
    int rows, vectors;
    bool separate; /* no fused multiply-add */
} kni_conv_product;

/* y[i][j] = bias + sum over a, b of w[a * taps + b] x[i * stride + a - padding[0]][j * stride + b - padding[1]], where taps outside of
   x add nothing: a square window over one plane. x_rows and x_columns are the sizes of x, whose columns lie behind each other. */
typedef struct {
    int taps, stride;
    int64_t padding[2];
    const float *x, *w;
    int64_t x_row, x_rows, x_columns;
    float *y;
    int64_t y_row, rows, columns;
    const float *bias; /* NULL for none */
    kni_finish finish;
    bool separate;
} kni_conv_window;

/* The same product with vectors along output channels: sums[s][i][o] = sum over k of w[k][o] x[s][offsets[k] + i] for i below `count`,
   o below vectors * lanes, and one or two runs s of neighbouring positions. Sums that are there already are added to. */
typedef struct {
    int64_t depth; /* at most KNI_CONV_DEPTH */
    const void *w, *x[2];
    const int64_t *offsets;
    void *sums[2];
    int count, runs, vectors;
    bool adds, separate;
    const char *ahead; /* is asked for meanwhile, ahead_step bytes for each product */
    int64_t ahead_step;
} kni_conv_turned;

/* y[o * y_channel + i] = finish(sums[i][o] + bias[o]) for i below positions and o below outs. */
typedef struct {
    const void *sums;
    int64_t sums_row, positions, outs;
    const void *bias; /* NULL for none */
    void *y;
    int64_t y_channel;
    kni_finish finish;
} kni_conv_turned_store;

/* sums[r][o] += sum over p of x[offsets[r] + at(p)] dy[o / lanes][p][o % lanes] for o below vectors * lanes, where
   p runs over `outer` x `inner` positions, at(p) = outer * x_step + inner and p = outer * dy_step + inner. */
typedef struct {
    int64_t outer, inner, x_step, dy_step;
    const void *x, *dy;
    const int64_t *offsets;
    int64_t dy_vector; /* elements from one vector of output channels of dy to the next */
    void *sums;
    int64_t sums_row;
    int rows, vectors;
    bool separate;
} kni_conv_gradient;

/* y[r][j] = bias + sum over k of w[k] x[offsets[k] + r x_row + j] for j below columns and r below rows; depth is at most KNI_CONV_DEPTH.
   Whole vectors of x are read. */
typedef struct {
    int64_t depth;
    const void *w, *x;
    const int64_t *offsets;
    int64_t x_row, rows, columns;
    void *y;
    int64_t y_row;
    const void *bias; /* NULL for none */
    bool separate;
} kni_conv_lone;

/* Rows of a plane, `row` elements each: `low` zeros, n elements of the source that lie `step` apart, zeros. Nothing is written from to_end on,
   or read from from_end on. */
typedef struct {
    void *to;
    const void *to_end, *from, *from_end;
    int64_t rows, row, low, n, step, from_row;
} kni_conv_rows;

/* sums[r] += sum over p of x[offsets[r] + at(p)] dy[p]: the same for one output channel, in 16 lanes by the inner
   position and a fixed tree. Uses rows, not vectors. */
typedef struct {
    int lanes, rows, vectors; /* of the largest tile */
    int size;                 /* of an element in bytes */
    int run;                  /* the most neighbouring positions of a turned product; 0: the tier has none */
    void (*product)(const kni_conv_product *p);
    void (*turned)(const kni_conv_turned *p);
    void (*turned_store)(const kni_conv_turned_store *s);
    void (*finish)(void *y, int64_t n,
                   const kni_finish *f); /* of n neighbouring results of the first channel; f32 alone */
    void (*lone)(const kni_conv_lone *l);
    bool (*window)(
        const kni_conv_window *w); /* false where it has none of that size; NULL: the tier has none */
    void (*fill)(const kni_conv_rows *rows);
    void (*gradient)(const kni_conv_gradient *g);
    void (*dots)(const kni_conv_gradient *g);
} kni_conv_kernels;

KNI_TIER_DECLARE(extern const kni_conv_kernels, kni_conv_f32, );
KNI_TIER_DECLARE(extern const kni_conv_kernels, kni_conv_f64, );

#endif
