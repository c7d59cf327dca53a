/* Defined elementwise rows on the CPU: a group of one record, whose body runs as strips, one word after another. */
#include "backend/cpu/group_strips.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/line_program.h"
#include "ops/body_words.h"
#include "ops/defined.h"
#include "ops/scalar_words.h"
#include "ops/word_numbers.h"

/* ---- what is no row: truths, and the words that have none */

#define TRUTHS(name, expression)                                                                             \
    static void name(int64_t n, void *y, const void *const *in, const double *params)                        \
    {                                                                                                        \
        const uint8_t *a = in[0], *b = in[1];                                                                \
        uint8_t *to = y;                                                                                     \
        (void)params, (void)b;                                                                               \
        for (int64_t i = 0; i < n; i++) to[i] = (uint8_t)(expression);                                       \
    }
TRUTHS(both, a[i] & b[i])
TRUTHS(either, a[i] | b[i])
TRUTHS(one_of, a[i] ^ b[i])
TRUTHS(not_so, !a[i])

#define PLAIN_WORD(name, type, suffix, ...)                                                                  \
    static void name##_##suffix(int64_t n, void *y, const void *const *in, const double *params)             \
    {                                                                                                        \
        const type *a = in[0], *b = in[1];                                                                   \
        type *to = y;                                                                                        \
        (void)params, (void)b;                                                                               \
        for (int64_t i = 0; i < n; i++) to[i] = kni_word_##name##_##suffix(__VA_ARGS__);                     \
    }
PLAIN_WORD(normal_cdf, float, f32, a[i])
PLAIN_WORD(normal_cdf, double, f64, a[i])
PLAIN_WORD(polygamma, float, f32, a[i], b[i])
PLAIN_WORD(polygamma, double, f64, a[i], b[i])

static const struct {
    int word;
    kni_strip_fn fn[2]; /* f32, f64 */
} plain_words[] = {{KNI_WORD_normal_cdf, {normal_cdf_f32, normal_cdf_f64}},
                   {KNI_WORD_polygamma, {polygamma_f32, polygamma_f64}}};

static kni_strip_fn strip_of_row(const kn_op *row, int compute)
{
    return row && row->native && row->native->strips ? row->native->strips[kni_cpu_tier()][compute] : NULL;
}

kni_strip_fn kni_defined_strip(const kni_step *step, int compute)
{
    switch (step->kind) {
    case KNI_STEP_WORD:
        for (size_t i = 0; i < KNI_COUNT(plain_words); i++)
            if (plain_words[i].word == step->index)
                return compute <= KNI_COMPUTE_F64 ? plain_words[i].fn[compute == KNI_COMPUTE_F64] : NULL;
        return strip_of_row(kni_word_row(step->index), compute);
    case KNI_STEP_EXPN:
        return strip_of_row(kni_word_row(KNI_WORD_exp), compute);
    case KNI_STEP_SELECT:
        return strip_of_row(kni_select_row(), compute);
    case KNI_STEP_AND:
        return both;
    case KNI_STEP_OR:
        return either;
    case KNI_STEP_XOR:
        return one_of;
    case KNI_STEP_NOT:
        return not_so;
    default:
        return NULL;
    }
}

/* ---- a record */

static kn_status run_points(const kn_record *r)
{
    uint32_t inputs[KNI_BODY_OPERANDS];
    kni_group g = {.kind = KNI_GROUP_POINTWISE,
                   .n_records = 1,
                   .records = &r,
                   .n_outputs = 1,
                   .inputs = inputs,
                   .outputs = r->ids};
    for (int i = 0; i < r->n_in; i++) {
        int known = 0;
        while (known < g.n_inputs && inputs[known] != r->ids[1 + i]) known++;
        if (known == g.n_inputs) inputs[g.n_inputs++] = r->ids[1 + i];
    }
    return kni_cpu_group_points(&g);
}

#ifndef KN_FREESTANDING
const kni_native kni_cpu_defined_points = {.run = run_points, .strip_of = kni_defined_strip};
#else
const kni_native kni_cpu_defined_points = {.run = run_points};
#endif
