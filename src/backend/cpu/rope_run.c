/* The CPU entry of the rotary embedding: one pass over the tokens. It is bound by memory, so one version serves all
   tiers. */
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/tier/norm_loops.h"
#include "ops/native.h"
#include "ops/rope.h"
#include <string.h>

typedef struct rope_context {
    const void *cosines, *sines; /* [tokens, half] of the compute type */
    int64_t tokens, size, half;
    bool interleaved, inverse;
} rope_context;

#define DEFINE_TURN(name, real)                                                                              \
    static void name(const rope_context *c, int64_t token, const real *x, real *y)                           \
    {                                                                                                        \
        const real *cosine = (const real *)c->cosines + token * c->half;                                     \
        const real *sine = (const real *)c->sines + token * c->half;                                         \
        const real sign = c->inverse ? -1 : 1;                                                               \
        const int64_t step = c->interleaved ? 2 : 1, other = c->interleaved ? 1 : c->half;                   \
        EACH_ALONE                                                                                           \
        for (int64_t k = 0; k < c->half; k++) {                                                              \
            real a = x[k * step], b = x[k * step + other], s = sign * sine[k];                               \
            y[k * step] = a * cosine[k] - b * s;                                                             \
            y[k * step + other] = a * s + b * cosine[k];                                                     \
        }                                                                                                    \
        if (x != y)                                                                                          \
            memcpy(y + 2 * c->half, x + 2 * c->half, (size_t)(c->size - 2 * c->half) * sizeof(real));        \
    }

DEFINE_TURN(turn_f32, float)
DEFINE_TURN(turn_f64, double)

static void row_f32(void *context, int64_t position, const void *const *in, void *out)
{
    const rope_context *c = context;
    turn_f32(c, position % c->tokens, in[0], out);
}

static void row_f64(void *context, int64_t position, const void *const *in, void *out)
{
    const rope_context *c = context;
    turn_f64(c, position % c->tokens, in[0], out);
}

static kn_status run_rope(const kn_record *r)
{
    const kni_rope_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    int dtype = x->type.dtype, rank = x->type.rank;
    kni_borrowed in[3] = {{0}};
    kn_status s = KN_OK;
    for (int i = 0; i < 3 && s == KN_OK; i++)
        if (!kni_host_borrow(kni_in(r, i), i ? kni_norm_dtype(dtype) : dtype, &in[i])) s = KN_ERROR_MEMORY;
    if (s == KN_OK) s = kni_host_allocate_or_reuse(r, y, 1);
    if (s == KN_OK && kni_count(&y->type) > 0) {
        rope_context c = {.cosines = in[1].data,
                          .sines = in[2].data,
                          .tokens = x->type.dims[rank - 2],
                          .size = x->type.dims[rank - 1],
                          .half = kni_in(r, 1)->type.dims[1],
                          .interleaved = a->interleaved != 0,
                          .inverse = a->inverse != 0};
        kni_norm_job job = {
            .outer = kni_count(&x->type) / c.size, .axis = c.size, .inner = 1, .dtype = dtype};
        job.n_in = 1;
        job.in[0] = in[0].data;
        job.out = y->storage->data;
        job.context = &c;
        job.row = dtype == KN_F64 ? row_f64 : row_f32;
        s = kni_norm_run(&job);
    }
    for (int i = 0; i < 3; i++) kni_host_unborrow(&in[i]);
    return s;
}

const kni_native kni_cpu_rope = {.run = run_rope};
