/* Words on integers: of 32 bits guarded where a target has no answer, of 64 as pairs. */
#include "ir/narrow_internal.h"
#include <string.h>

static kni_parts one(kni_ir_id id) { return (kni_parts){{id, 0}}; }

static bool is_signed(int dtype) { return dtype == KN_I32 || dtype == KN_I64; }

/* ---- comparisons */

kni_ir_id kni_narrow_less(kni_narrower *n, int dtype, kni_parts x, kni_parts y, bool or_equal)
{
    if (!kni_narrow_is_pair(dtype)) return kni_n_word(n, or_equal ? "le" : "lt", x.id[0], y.id[0]);
    kni_ir_id xh = x.id[1], yh = y.id[1], same = kni_n_word(n, "eq", xh, yh);
    if (is_signed(dtype)) xh = kni_n_bits(n, xh, KN_I32), yh = kni_n_bits(n, yh, KN_I32);
    kni_ir_id low = kni_n_word(n, or_equal ? "le" : "lt", x.id[0], y.id[0]);
    kni_ir_id high = kni_n_word(n, "lt", xh, yh);
    return kni_ir_or(&n->b, high, kni_ir_and(&n->b, same, low));
}

static kni_ir_id equal(kni_narrower *n, int dtype, kni_parts x, kni_parts y)
{
    kni_ir_id low = kni_n_word(n, "eq", x.id[0], y.id[0]);
    return kni_narrow_is_pair(dtype) ? kni_ir_and(&n->b, low, kni_n_word(n, "eq", x.id[1], y.id[1])) : low;
}

static bool compare(kni_narrower *n, const char *word, int dtype, kni_parts x, kni_parts y, kni_parts *result)
{
    if (!strcmp(word, "lt") || !strcmp(word, "le"))
        *result = one(kni_narrow_less(n, dtype, x, y, word[1] == 'e'));
    else if (!strcmp(word, "gt") || !strcmp(word, "ge"))
        *result = one(kni_narrow_less(n, dtype, y, x, word[1] == 'e'));
    else if (!strcmp(word, "eq"))
        *result = one(equal(n, dtype, x, y));
    else if (!strcmp(word, "ne"))
        *result = one(kni_ir_not(&n->b, equal(n, dtype, x, y)));
    else
        return false;
    return true;
}

/* ---- sums and products of pairs */

static kni_parts plus(kni_narrower *n, kni_parts x, kni_parts y)
{
    kni_ir_id low = kni_n_word(n, "add", x.id[0], y.id[0]);
    kni_ir_id carry = kni_n_unit(n, kni_n_word(n, "lt", low, x.id[0]));
    return (kni_parts){{low, kni_n_word(n, "add", kni_n_word(n, "add", x.id[1], y.id[1]), carry)}};
}

static kni_parts minus(kni_narrower *n, kni_parts x, kni_parts y)
{
    kni_ir_id borrow = kni_n_unit(n, kni_n_word(n, "lt", x.id[0], y.id[0]));
    return (kni_parts){{kni_n_word(n, "sub", x.id[0], y.id[0]),
                        kni_n_word(n, "sub", kni_n_word(n, "sub", x.id[1], y.id[1]), borrow)}};
}

static kni_parts times(kni_narrower *n, kni_parts x, kni_parts y)
{
    kni_ir_id upper =
        kni_narrow_call(n, "kni_soft_upper_product", KN_U32, (kni_ir_id[]){x.id[0], y.id[0]}, 2).id[0];
    kni_ir_id cross = kni_n_word(n, "mul", x.id[0], y.id[1]);
    cross = kni_n_word(n, "add", cross, kni_n_word(n, "mul", x.id[1], y.id[0]));
    return (kni_parts){{kni_n_word(n, "mul", x.id[0], y.id[0]), kni_n_word(n, "add", upper, cross)}};
}

static kni_parts zero_pair(kni_narrower *n) { return (kni_parts){{kni_n_u32(n, 0), kni_n_u32(n, 0)}}; }

static kni_parts choose(kni_narrower *n, kni_ir_id c, kni_parts x, kni_parts y)
{
    return (kni_parts){
        {kni_n_select(n, c, x.id[0], y.id[0]), x.id[1] ? kni_n_select(n, c, x.id[1], y.id[1]) : 0}};
}

/* ---- shifts: past the width they give what shifting bit by bit would */

static bool whole_of(const kni_narrower *n, kni_ir_id id, int64_t *value)
{
    if (n->b.status || !id || kni_ir_at(n->to, id)->code != KNI_IR_CONSTANT) return false;
    *value = kni_ir_at(n->to, id)->u.whole;
    return true;
}

/* All ones where x is negative. */
static kni_ir_id signs(kni_narrower *n, kni_ir_id x)
{
    return kni_n_word(n, "shr", x, kni_ir_whole(&n->b, kni_ir_at(n->to, x)->type.dtype, 31));
}

static kni_parts shift_one(kni_narrower *n, const char *word, int dtype, kni_ir_id x, kni_ir_id by)
{
    int64_t known;
    kni_ir_builder *b = &n->b;
    if (whole_of(n, by, &known) && known >= 0 && known < 32) return one(kni_n_word(n, word, x, by));
    kni_ir_id fits = kni_n_word_by(n, "lt", kni_n_bits(n, by, KN_U32), 32);
    kni_ir_id inside = kni_n_word(n, "and", by, kni_ir_whole(b, dtype, 31));
    bool keeps = word[2] == 'r' && dtype == KN_I32;
    kni_ir_id rest = b->status ? 0 : keeps ? signs(n, x) : kni_ir_whole(b, dtype, 0);
    return one(kni_n_select(n, fits, kni_n_word(n, word, x, inside), rest));
}

/* By a number that is known. */
static kni_parts shift_known(kni_narrower *n, bool left, bool arithmetic, kni_parts x, uint32_t by)
{
    kni_ir_builder *b = &n->b;
    kni_ir_id from = left ? x.id[0] : x.id[1], to = left ? x.id[1] : x.id[0], filled = kni_n_u32(n, 0), near,
              far;
    const char *out = left ? "shl" : "shr", *back = left ? "shr" : "shl";
    kni_ir_id high = arithmetic ? kni_n_bits(n, x.id[1], KN_I32) : 0;
    if (b->status) return x;
    if (arithmetic) filled = kni_n_bits(n, signs(n, high), KN_U32);
    if (!by) return x;
    uint32_t rest = by % 32;
    near = !rest        ? from
           : arithmetic ? kni_n_bits(n, kni_n_word(n, "shr", high, kni_ir_whole(b, KN_I32, rest)), KN_U32)
                        : kni_n_word(n, out, from, kni_n_u32(n, rest));
    if (by >= 32) return left ? (kni_parts){{filled, near}} : (kni_parts){{near, filled}};
    far = kni_n_word_by(n, out, to, by);
    far = kni_n_word(n, "or", far, kni_n_word_by(n, back, from, 32 - by));
    return left ? (kni_parts){{near, far}} : (kni_parts){{far, near}};
}

/* The word next to it hands over what leaves it: (from >> 1) >> (31 - by) needs no case for 0. */
static kni_parts shift_pair(kni_narrower *n, const char *word, int dtype, kni_parts x, kni_parts by)
{
    int64_t low, high;
    bool left = word[2] == 'l', arithmetic = !left && dtype == KN_I64;
    if (whole_of(n, by.id[0], &low) && whole_of(n, by.id[1], &high) && !high && low < 64)
        return shift_known(n, left, arithmetic, x, (uint32_t)low);
    const char *out = left ? "shl" : "shr", *back = left ? "shr" : "shl";
    kni_ir_id from = left ? x.id[0] : x.id[1], to = left ? x.id[1] : x.id[0], filled = kni_n_u32(n, 0);
    kni_ir_id inside = kni_n_word(n, "and", by.id[0], kni_n_u32(n, 31));
    kni_ir_id over = kni_n_word_by(n, back, from, 1);
    over = kni_n_word(n, back, over, kni_n_word(n, "sub", kni_n_u32(n, 31), inside));
    kni_ir_id near = kni_n_word(n, out, from, inside);
    if (arithmetic && !n->b.status) {
        kni_ir_id sign = kni_n_bits(n, from, KN_I32);
        near = kni_n_bits(n, kni_n_word(n, "shr", sign, kni_n_bits(n, inside, KN_I32)), KN_U32);
        filled = kni_n_bits(n, n->b.status ? 0 : signs(n, sign), KN_U32);
    }
    kni_ir_id far = kni_n_word(n, "or", kni_n_word(n, out, to, inside), over);
    kni_ir_id wide = kni_n_word(n, "ge", by.id[0], kni_n_u32(n, 32));
    kni_ir_id fits = kni_n_word_by(n, "lt", by.id[0], 64);
    fits = kni_ir_and(&n->b, fits, kni_n_word_by(n, "eq", by.id[1], 0));
    kni_ir_id first = kni_n_select(n, wide, filled, near), second = kni_n_select(n, wide, near, far);
    kni_parts good = left ? (kni_parts){{first, second}} : (kni_parts){{second, first}};
    return choose(n, fits, good, (kni_parts){{filled, filled}});
}

/* ---- division: 0 by zero; the smallest by -1 wraps */

static kni_parts divide_one(kni_narrower *n, const char *word, int dtype, kni_ir_id x, kni_ir_id y)
{
    int64_t known;
    bool rest = word[0] == 'f';
    kni_ir_builder *b = &n->b;
    if (whole_of(n, y, &known) && known && known != -1) return one(kni_n_word(n, word, x, y));
    kni_ir_id zero = kni_ir_whole(b, dtype, 0), unit = kni_ir_whole(b, dtype, 1);
    kni_ir_id none = kni_n_word(n, "eq", y, zero), bad = none, minus_one = 0;
    if (dtype == KN_I32) {
        minus_one = kni_n_word(n, "eq", y, kni_ir_whole(b, dtype, -1));
        bad = kni_ir_or(b, none, minus_one);
    }
    kni_ir_id result = kni_n_word(n, word, x, kni_n_select(n, bad, unit, y));
    if (rest) return one(kni_n_select(n, bad, zero, result));
    if (minus_one) result = kni_n_select(n, minus_one, kni_n_word(n, "neg", x, 0), result);
    return one(kni_n_select(n, none, zero, result));
}

static kni_parts divide_pair(kni_narrower *n, const char *word, int dtype, kni_parts x, kni_parts y)
{
    static const char *const items[2][2] = {{"kni_soft_divide_u64", "kni_soft_divide_i64"},
                                            {"kni_soft_rest_u64", "kni_soft_rest_i64"}};
    kni_ir_id arguments[] = {x.id[0], x.id[1], y.id[0], y.id[1]};
    return kni_narrow_call(n, items[word[0] == 'f'][dtype == KN_I64], dtype, arguments, 4);
}

/* ---- words */

/* What the library says of integers: a power, a divisor, a floor. */
static kni_parts by_item(kni_narrower *n, const char *word, int dtype, kni_parts x, kni_parts y)
{
    char name[48];
    kni_text text = {name, sizeof name, 0};
    kni_text_format(&text, "kni_word_%s_%s", word, kni_dtypes[dtype].name);
    kni_ir_id arguments[4];
    int count = 0;
    for (uint32_t i = 0; i < kni_narrow_count(dtype); i++) arguments[count++] = x.id[i];
    for (uint32_t i = 0; y.id[0] && i < kni_narrow_count(dtype); i++) arguments[count++] = y.id[i];
    return kni_narrow_call(n, name, dtype, arguments, count);
}

static kni_parts zero_of(kni_narrower *n, int dtype)
{
    return kni_narrow_is_pair(dtype) ? zero_pair(n) : one(kni_ir_whole(&n->b, dtype, 0));
}

static kni_parts negative(kni_narrower *n, int dtype, kni_parts x)
{
    return kni_narrow_is_pair(dtype) ? minus(n, zero_pair(n), x) : one(kni_n_word(n, "neg", x.id[0], 0));
}

static kni_parts sign(kni_narrower *n, int dtype, kni_parts x)
{
    kni_parts zero = zero_of(n, dtype), unit = zero, less = zero;
    bool pair = kni_narrow_is_pair(dtype);
    unit.id[0] = kni_ir_whole(&n->b, kni_narrow_part(dtype), 1);
    for (int i = 0; i < (pair ? 2 : 1); i++) less.id[i] = kni_ir_whole(&n->b, kni_narrow_part(dtype), -1);
    kni_parts up = choose(n, kni_narrow_less(n, dtype, zero, x, false), unit, zero);
    return is_signed(dtype) ? choose(n, kni_narrow_less(n, dtype, x, zero, false), less, up) : up;
}

/* Bit by bit, or whatever else each word of a pair does for itself. */
static bool is_bitwise(const char *word)
{
    return !strcmp(word, "and") || !strcmp(word, "or") || !strcmp(word, "xor") || !strcmp(word, "not");
}

static bool is_nothing(const char *word)
{
    static const char *const words[] = {"floor", "ceil", "round", "trunc", "stop"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], word)) return true;
    return false;
}

kni_parts kni_narrow_integer_word(kni_narrower *n, const char *word, int dtype, kni_parts x, kni_parts y)
{
    kni_parts result = x;
    bool pair = kni_narrow_is_pair(dtype);
    if (n->b.status || is_nothing(word) || compare(n, word, dtype, x, y, &result)) return result;
    if (is_bitwise(word)) {
        for (uint32_t i = 0; i < kni_narrow_count(dtype); i++)
            result.id[i] = kni_n_word(n, word, x.id[i], y.id[i]);
        return result;
    }
    if (!strcmp(word, "shl") || !strcmp(word, "shr"))
        return pair ? shift_pair(n, word, dtype, x, y) : shift_one(n, word, dtype, x.id[0], y.id[0]);
    if (!strcmp(word, "div") || !strcmp(word, "fmod"))
        return pair ? divide_pair(n, word, dtype, x, y) : divide_one(n, word, dtype, x.id[0], y.id[0]);
    if (!strcmp(word, "neg")) return negative(n, dtype, x);
    if (!strcmp(word, "sign")) return sign(n, dtype, x);
    if (!strcmp(word, "max")) return choose(n, kni_narrow_less(n, dtype, y, x, false), x, y);
    if (!strcmp(word, "min")) return choose(n, kni_narrow_less(n, dtype, x, y, false), x, y);
    if (!strcmp(word, "abs"))
        return is_signed(dtype) ? choose(n, kni_narrow_less(n, dtype, x, zero_of(n, dtype), false),
                                         negative(n, dtype, x), x)
                                : x;
    if (!strcmp(word, "add")) return pair ? plus(n, x, y) : one(kni_n_word(n, word, x.id[0], y.id[0]));
    if (!strcmp(word, "sub")) return pair ? minus(n, x, y) : one(kni_n_word(n, word, x.id[0], y.id[0]));
    if (!strcmp(word, "mul")) return pair ? times(n, x, y) : one(kni_n_word(n, word, x.id[0], y.id[0]));
    if (!strcmp(word, "isnan") || !strcmp(word, "isinf") || !strcmp(word, "isfinite"))
        return one(kni_ir_whole(&n->b, KN_BOOL, word[2] == 'f'));
    return by_item(n, word, dtype, x, y);
}
