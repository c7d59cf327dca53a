/* Pure steps of the interpreter: words and all that depends on its operands alone, as loops over contiguous values. */
#include "core/math/fused.h"
#include "core/math/philox.h"
#include "ir/run_internal.h"
#include "ops/scalar_words.h"
#include <string.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define OUT_VALUE T
#define OUT_TRUTH uint8_t
#define ARGUMENTS                                                                                            \
    const kni_ir_step *s, void *restrict out, const void *restrict a, const void *restrict b,                \
        const void *restrict c, int64_t n
#define UNUSED (void)s, (void)b, (void)c

#define WORD1(name, result, f, i)                                                                            \
    static void JOIN(apply_##name##_, S)(ARGUMENTS)                                                          \
    {                                                                                                        \
        UNUSED;                                                                                              \
        OUT_##result *y = out;                                                                               \
        const T *x = a;                                                                                      \
        for (int64_t k = 0; k < n * s->lanes; k++) y[k] = (OUT_##result)JOIN(kni_word_##name##_, S)(x[k]);   \
    }
#define WORD2(name, result, f, i)                                                                            \
    static void JOIN(apply_##name##_, S)(ARGUMENTS)                                                          \
    {                                                                                                        \
        UNUSED;                                                                                              \
        OUT_##result *y = out;                                                                               \
        const T *x = a, *z = b;                                                                              \
        for (int64_t k = 0; k < n * s->lanes; k++)                                                           \
            y[k] = (OUT_##result)JOIN(kni_word_##name##_, S)(x[k], z[k]);                                    \
    }
#define T float
#define S f32
#include "ops/scalar_words.def"
#undef T
#undef S
#define T double
#define S f64
#include "ops/scalar_words.def"
#undef T
#undef S
#define T int32_t
#define S i32
#include "ops/scalar_words.def"
#undef T
#undef S
#define T int64_t
#define S i64
#include "ops/scalar_words.def"
#undef T
#undef S
#define T uint32_t
#define S u32
#include "ops/scalar_words.def"
#undef T
#undef S
#define T uint64_t
#define S u64
#include "ops/scalar_words.def"
#undef T
#undef S
#undef WORD1
#undef WORD2

#define ROW(name)                                                                                            \
    {apply_##name##_f32, apply_##name##_f64, apply_##name##_i32,                                             \
     apply_##name##_i64, apply_##name##_u32, apply_##name##_u64},
#define WORD1(name, result, f, i) ROW(name)
#define WORD2(name, result, f, i) ROW(name)
static const kni_ir_apply word_table[][6] = {
#include "ops/scalar_words.def"
};
#undef WORD1
#undef WORD2

enum {
#define WORD1(name, ...) W_##name,
#define WORD2(name, ...) W_##name,
#include "ops/scalar_words.def"
#undef WORD1
#undef WORD2
};

static const uint8_t columns[KN_DTYPE_COUNT] = {
    [KN_F32] = 0, [KN_F64] = 1, [KN_I32] = 2, [KN_I64] = 3, [KN_U32] = 4, [KN_U64] = 5};

kni_ir_apply kni_ir_word_apply(uint32_t word, int dtype) { return word_table[word][columns[dtype]]; }

kni_ir_apply kni_ir_combine_apply(uint32_t combine, int dtype)
{
    static const uint8_t words[] = {W_add, W_mul, W_min, W_max};
    return kni_ir_word_apply(words[combine], dtype);
}

/* ---- the rest */

static void apply_fma_f32(ARGUMENTS)
{
    float *y = out;
    const float *p = a, *q = b, *r = c;
    for (int64_t k = 0; k < n * s->lanes; k++) y[k] = kni_fma_f32(p[k], q[k], r[k]);
}

static void apply_fma_f64(ARGUMENTS)
{
    double *y = out;
    const double *p = a, *q = b, *r = c;
    for (int64_t k = 0; k < n * s->lanes; k++) y[k] = kni_fma_f64(p[k], q[k], r[k]);
}

static void apply_and(ARGUMENTS)
{
    UNUSED;
    uint8_t *y = out;
    const uint8_t *p = a, *q = b;
    for (int64_t k = 0; k < n * s->lanes; k++) y[k] = p[k] & q[k];
}

static void apply_or(ARGUMENTS)
{
    UNUSED;
    uint8_t *y = out;
    const uint8_t *p = a, *q = b;
    for (int64_t k = 0; k < n * s->lanes; k++) y[k] = p[k] | q[k];
}

static void apply_not(ARGUMENTS)
{
    UNUSED;
    uint8_t *y = out;
    const uint8_t *p = a;
    for (int64_t k = 0; k < n * s->lanes; k++) y[k] = !p[k];
}

#define DEFINE_SELECT(bits)                                                                                  \
    static void apply_select_##bits(ARGUMENTS)                                                               \
    {                                                                                                        \
        uint##bits##_t *y = out;                                                                             \
        const uint8_t *p = a;                                                                                \
        const uint##bits##_t *q = b, *r = c;                                                                 \
        for (int64_t k = 0; k < n * s->lanes; k++) y[k] = p[k] ? q[k] : r[k];                                \
    }
DEFINE_SELECT(8)
DEFINE_SELECT(32)
DEFINE_SELECT(64)

static void apply_cast(ARGUMENTS)
{
    UNUSED;
    kni_convert(out, s->dtype, 1, a, s->from, 1, n * s->lanes);
}

static void apply_round(ARGUMENTS)
{
    UNUSED;
    const uint8_t *from = a;
    uint8_t *to = out, stored[64 * 8];
    size_t from_size = kni_bytes_of(s->from), to_size = kni_bytes_of(s->dtype);
    for (int64_t left = n * s->lanes; left > 0; left -= 64) {
        int64_t some = left < 64 ? left : 64;
        kni_convert(stored, s->detail, 1, from, s->from, 1, some);
        kni_convert(to, s->dtype, 1, stored, s->detail, 1, some);
        from += (size_t)some * from_size;
        to += (size_t)some * to_size;
    }
}

void kni_ir_copy_apply(ARGUMENTS)
{
    UNUSED;
    memcpy(out, a, (size_t)n * s->out_bytes);
}

static void apply_vector(ARGUMENTS)
{
    UNUSED;
    uint8_t *y = out;
    const uint8_t *x = a;
    for (int64_t k = 0; k < n; k++, x += s->a_bytes)
        for (int lane = 0; lane < s->lanes; lane++, y += s->a_bytes) memcpy(y, x, s->a_bytes);
}

static void apply_lane(ARGUMENTS)
{
    UNUSED;
    uint8_t *y = out;
    const uint8_t *x = (const uint8_t *)a + s->index * s->out_bytes;
    for (int64_t k = 0; k < n; k++, x += s->a_bytes, y += s->out_bytes) memcpy(y, x, s->out_bytes);
}

static void apply_philox(ARGUMENTS)
{
    (void)s;
    int64_t *y = out;
    const int64_t *key = a, *counter = b, *word = c;
    uint32_t words[4];
    for (int64_t k = 0; k < n; k++) {
        kni_philox((uint64_t)key[k], (uint64_t)counter[k], words);
        y[k] = (int64_t)words[word[k] & 3];
    }
}

kni_ir_apply kni_ir_apply_of(const kni_ir *ir, const kni_ir_node *node)
{
    int dtype = node->type.dtype, bits = kni_dtypes[dtype].bits;
    switch (node->code) {
    case KNI_IR_WORD:
        return kni_ir_word_apply(node->index, kni_ir_at(ir, node->a)->type.dtype);
    case KNI_IR_FMA:
        return dtype == KN_F32 ? apply_fma_f32 : apply_fma_f64;
    case KNI_IR_AND:
        return apply_and;
    case KNI_IR_OR:
        return apply_or;
    case KNI_IR_NOT:
        return apply_not;
    case KNI_IR_SELECT:
        return bits == 8 ? apply_select_8 : bits == 32 ? apply_select_32 : apply_select_64;
    case KNI_IR_CAST:
        return node->detail ? apply_round : apply_cast;
    case KNI_IR_BITCAST:
    case KNI_IR_GET:
        return kni_ir_copy_apply;
    case KNI_IR_VECTOR:
        return apply_vector;
    case KNI_IR_LANE:
        return apply_lane;
    case KNI_IR_PHILOX:
        return apply_philox;
    default:
        return NULL;
    }
}
