/* Conversions, between types to compute in and to and from what memory holds. */
#include "ir/narrow_internal.h"
#include <string.h>

static kni_parts one(kni_ir_id id) { return (kni_parts){{id, 0}}; }

static kni_parts called(kni_narrower *n, const char *item, int result, kni_parts x)
{
    return kni_narrow_call(n, item, result, x.id, x.id[1] ? 2 : 1);
}

kni_ir_id kni_narrow_truth(kni_narrower *n, kni_parts x, int dtype)
{
    if (kni_is_bool(dtype)) return x.id[0];
    if (!kni_narrow_is_pair(dtype)) return kni_n_word(n, "ne", x.id[0], kni_ir_whole(&n->b, dtype, 0));
    kni_ir_id high = x.id[1];
    if (dtype == KN_F64) high = kni_n_word(n, "and", high, kni_n_u32(n, 0x7fffffff));
    return kni_n_word_by(n, "ne", kni_n_word(n, "or", x.id[0], high), 0);
}

/* 1 or 0 of any type. */
static kni_parts from_truth(kni_narrower *n, kni_ir_id truth, int to)
{
    const uint32_t unit = to == KN_F64 ? 0x3ff00000 : 1;
    const int part = kni_narrow_part(to);
    kni_ir_id yes = kni_ir_whole(&n->b, part, unit), no = kni_ir_whole(&n->b, part, 0);
    kni_ir_id id = kni_n_select(n, truth, yes, no);
    if (to == KN_F64) return (kni_parts){{no, id}};
    return kni_narrow_is_pair(to) ? (kni_parts){{id, kni_n_u32(n, 0)}} : one(id);
}

/* Integers to integers: the low word stays. */
static kni_parts between_integers(kni_narrower *n, kni_parts x, int from, int to)
{
    if (!kni_narrow_is_pair(to)) return one(kni_n_bits(n, x.id[0], to));
    if (kni_narrow_is_pair(from)) return x;
    kni_ir_id high = kni_n_u32(n, 0);
    if (from == KN_I32)
        high = kni_n_bits(n, kni_n_word(n, "shr", x.id[0], kni_ir_whole(&n->b, KN_I32, 31)), KN_U32);
    return (kni_parts){{kni_n_bits(n, x.id[0], KN_U32), high}};
}

static kni_parts to_f32(kni_narrower *n, kni_parts x, int from)
{
    const char *item = from == KN_F64   ? "kni_soft_f32_f64"
                       : from == KN_I64 ? "kni_soft_f32_i64"
                                        : "kni_soft_f32_u64";
    if (!kni_narrow_is_pair(from)) return one(kni_ir_cast(&n->b, x.id[0], KN_F32));
    return one(kni_n_bits(n, called(n, item, KN_U32, x).id[0], KN_F32));
}

static kni_parts to_f64(kni_narrower *n, kni_parts x, int from)
{
    if (from == KN_F32) return called(n, "kni_soft_f64_f32", KN_F64, one(kni_n_bits(n, x.id[0], KN_U32)));
    bool has_sign = from == KN_I32 || from == KN_I64;
    x = between_integers(n, x, from, has_sign ? KN_I64 : KN_U64);
    return called(n, has_sign ? "kni_soft_f64_i64" : "kni_soft_f64_u64", KN_F64, x);
}

/* Of 32 bits: the low word of the i64, as everywhere. */
static kni_parts from_float(kni_narrower *n, kni_parts x, int from, int to)
{
    static const char *const items[2][2] = {{"kni_soft_i64_f32", "kni_soft_u64_f32"},
                                            {"kni_soft_i64_f64", "kni_soft_u64_f64"}};
    if (from == KN_F32) x = one(kni_n_bits(n, x.id[0], KN_U32));
    kni_parts wide = called(n, items[from == KN_F64][to == KN_U64], KN_U64, x);
    return kni_narrow_is_pair(to) ? wide : one(kni_n_bits(n, wide.id[0], to));
}

kni_parts kni_narrow_cast(kni_narrower *n, kni_parts x, int from, int to)
{
    if (n->b.status || from == to) return x;
    if (kni_is_bool(to)) return one(kni_narrow_truth(n, x, from));
    if (kni_is_bool(from)) return from_truth(n, x.id[0], to);
    if (to == KN_F32) return to_f32(n, x, from);
    if (to == KN_F64) return to_f64(n, x, from);
    return kni_is_float(from) ? from_float(n, x, from, to) : between_integers(n, x, from, to);
}

/* ---- memory */

/* What turns the bits of an f32 into those of a 16-bit float, and back; NULL: they are the upper half of an f32's. */
static const struct {
    const char *narrowed, *widened;
} halves[KN_DTYPE_COUNT] = {
    [KN_F16] = {"kni_soft_f16_f32", "kni_soft_f32_f16"}, [KN_BF16] = {"kni_soft_bf16_f32", NULL}};

/* f16 and bf16 of what has more digits than an f32 are rounded once, by way of f64. */
static kni_ir_id to_half(kni_narrower *n, kni_parts x, int from, int stored)
{
    if (from == KN_F32)
        return called(n, halves[stored].narrowed, KN_U32, one(kni_n_bits(n, x.id[0], KN_U32))).id[0];
    if (kni_is_bool(from)) return to_half(n, kni_narrow_cast(n, x, from, KN_F32), KN_F32, stored);
    kni_parts wide = kni_narrow_cast(n, x, from, KN_F64);
    kni_ir_id odd = called(n, "kni_soft_f32_odd_f64", KN_U32, wide).id[0];
    return called(n, halves[stored].narrowed, KN_U32, one(odd)).id[0];
}

kni_parts kni_narrow_stored(kni_narrower *n, kni_parts x, int from, int stored)
{
    if (n->b.status) return x;
    if (kni_is_half(stored)) return one(to_half(n, x, from, stored));
    if (kni_is_bool(stored)) return from_truth(n, kni_narrow_truth(n, x, from), KN_U32);
    if (kni_bytes_of(stored) >= 4) return kni_narrow_cast(n, x, from, stored);
    uint32_t mask = kni_bytes_of(stored) == 1 ? 0xff : 0xffff;
    kni_ir_id low = kni_narrow_cast(n, x, from, KN_U32).id[0];
    return one(kni_n_word(n, "and", low, kni_n_u32(n, mask)));
}

static kni_ir_id extended(kni_narrower *n, kni_ir_id bits, int width)
{
    kni_ir_id by = kni_ir_whole(&n->b, KN_I32, 32 - width);
    kni_ir_id x = kni_n_word(n, "shl", kni_n_bits(n, bits, KN_I32), by);
    return kni_n_word(n, "shr", x, by);
}

kni_parts kni_narrow_loaded(kni_narrower *n, kni_ir_id bits, int stored, int *dtype)
{
    *dtype = kni_is_half(stored) ? KN_F32 : kni_is_bool(stored) ? KN_BOOL : KN_I32;
    if (n->b.status) return one(bits);
    if (kni_is_bool(stored)) return one(kni_n_word_by(n, "ne", bits, 0));
    if (kni_is_half(stored)) {
        const char *item = halves[stored].widened;
        kni_ir_id wide = item ? called(n, item, KN_U32, one(bits)).id[0] : kni_n_word_by(n, "shl", bits, 16);
        return one(kni_n_bits(n, wide, KN_F32));
    }
    if (stored == KN_I8 || stored == KN_I16) return one(extended(n, bits, (int)kni_bytes_of(stored) * 8));
    return one(kni_n_bits(n, bits, KN_I32));
}
