/* Words on floats: of f32 what every target has, else functions of the library, by preference those that keep to f32; of
   f64 on bits (core/math/soft.h). NaN is looked for in the bits, since targets may assume that there is none. */
#include "ir/math_source.h"
#include "ir/narrow_internal.h"
#include <string.h>

static kni_parts one(kni_ir_id id) { return (kni_parts){{id, 0}}; }

static kni_ir_id magnitude(kni_narrower *n, kni_ir_id x)
{
    return kni_n_word_by(n, "and", kni_n_bits(n, x, KN_U32), 0x7fffffff);
}

static kni_ir_id is_nan(kni_narrower *n, kni_ir_id x)
{
    return kni_n_word_by(n, "gt", magnitude(n, x), 0x7f800000);
}

static kni_ir_id copied_sign(kni_narrower *n, kni_ir_id x, kni_ir_id y)
{
    kni_ir_id sign = kni_n_word_by(n, "and", kni_n_bits(n, y, KN_U32), 0x80000000u);
    return kni_n_bits(n, kni_n_word(n, "or", magnitude(n, x), sign), KN_F32);
}

static kni_ir_id sign_of(kni_narrower *n, kni_ir_id x)
{
    kni_ir_id zero = kni_ir_real(&n->b, KN_F32, 0), unit = kni_ir_real(&n->b, KN_F32, 1);
    kni_ir_id up = kni_n_select(n, kni_n_word(n, "gt", x, zero), unit, zero);
    kni_ir_id down = kni_ir_real(&n->b, KN_F32, -1);
    return kni_n_select(n, kni_n_word(n, "lt", x, zero), down, up);
}

static kni_ir_id one_over(kni_narrower *n, kni_ir_id x)
{
    return kni_n_word(n, "div", kni_ir_real(&n->b, KN_F32, 1), x);
}

/* The larger or smaller; of NaN and a number, NaN. */
static kni_ir_id extreme(kni_narrower *n, const char *than, kni_ir_id x, kni_ir_id y)
{
    kni_ir_id m = kni_n_select(n, kni_n_word(n, than, x, y), x, y);
    m = kni_n_select(n, is_nan(n, y), y, m);
    return kni_n_select(n, is_nan(n, x), x, m);
}

static bool known_single(kni_narrower *n, const char *word, kni_ir_id x, kni_ir_id y, kni_ir_id *result)
{
    static const char *const same[] = {"add",   "sub",  "mul", "div", "neg", "abs", "floor", "ceil", "round",
                                       "trunc", "sqrt", "lt",  "le",  "gt",  "ge",  "eq",    "ne"};
    bool equals = !strcmp(word, "eq") || !strcmp(word, "ne");
    if (equals && x == y) {
        *result = is_nan(n, x);
        if (word[0] == 'e') *result = kni_ir_not(&n->b, *result);
        return true;
    }
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!strcmp(same[i], word)) {
            *result = kni_n_word(n, word, x, y);
            return true;
        }
    if (!strcmp(word, "isnan"))
        *result = is_nan(n, x);
    else if (!strcmp(word, "isinf"))
        *result = kni_n_word_by(n, "eq", magnitude(n, x), 0x7f800000);
    else if (!strcmp(word, "isfinite"))
        *result = kni_n_word_by(n, "lt", magnitude(n, x), 0x7f800000);
    else if (!strcmp(word, "copysign"))
        *result = copied_sign(n, x, y);
    else if (!strcmp(word, "sign"))
        *result = sign_of(n, x);
    else if (!strcmp(word, "max"))
        *result = extreme(n, "gt", x, y);
    else if (!strcmp(word, "min"))
        *result = extreme(n, "lt", x, y);
    else if (!strcmp(word, "stop"))
        *result = x;
    else if (!strcmp(word, "rsqrt"))
        *result = one_over(n, kni_n_word(n, "sqrt", x, 0));
    else
        return false;
    return true;
}

static void item_name(char name[48], const char *kind, const char *word, int dtype)
{
    kni_text text = {name, 48, 0};
    kni_text_format(&text, "kni_%s_%s_%s", kind, word, kni_dtypes[dtype].name);
}

static kni_parts single(kni_narrower *n, const char *word, kni_parts x, kni_parts y)
{
    kni_ir_id known = 0, arguments[] = {x.id[0], y.id[0]};
    char name[48];
    if (known_single(n, word, x.id[0], y.id[0], &known)) return one(known);
    item_name(name, "single", word, KN_F32);
    if (!kni_ir_math_has(name)) item_name(name, "word", word, KN_F32);
    return kni_narrow_call(n, name, KN_F32, arguments, y.id[0] ? 2 : 1);
}

/* ---- f64 */

static kni_ir_id truth_of(kni_narrower *n, const char *item, const kni_ir_id *arguments, int count)
{
    kni_ir_id whole = kni_narrow_call(n, item, KN_I32, arguments, count).id[0];
    return kni_n_word(n, "ne", whole, kni_ir_whole(&n->b, KN_I32, 0));
}

static bool compared(kni_narrower *n, const char *word, kni_parts x, kni_parts y, kni_ir_id *result)
{
    bool turned = word[0] == 'g', equal = !strcmp(word, "eq") || !strcmp(word, "ne");
    bool order = (word[0] == 'l' || turned) && word[1] && !word[2] && (word[1] == 't' || word[1] == 'e');
    if (!equal && !order) return false;
    if (turned) {
        kni_parts z = x;
        x = y;
        y = z;
    }
    const char *item = equal ? "kni_soft_eq_f64" : word[1] == 't' ? "kni_soft_lt_f64" : "kni_soft_le_f64";
    *result = truth_of(n, item, (kni_ir_id[]){x.id[0], x.id[1], y.id[0], y.id[1]}, 4);
    if (!strcmp(word, "ne")) *result = kni_ir_not(&n->b, *result);
    return true;
}

static kni_parts soft(kni_narrower *n, const char *word, kni_parts x, kni_parts y)
{
    static const char *const of_bits[] = {"add", "sub", "mul", "div", "sqrt"};
    kni_ir_id arguments[] = {x.id[0], x.id[1], y.id[0], y.id[1]}, truth = 0;
    int count = y.id[0] ? 4 : 2;
    char name[48];
    if (!strcmp(word, "neg")) {
        x.id[1] = kni_n_word(n, "xor", x.id[1], kni_n_u32(n, 0x80000000u));
        return x;
    }
    if (!strcmp(word, "abs")) {
        x.id[1] = kni_n_word(n, "and", x.id[1], kni_n_u32(n, 0x7fffffff));
        return x;
    }
    if (!strcmp(word, "stop")) return x;
    if (compared(n, word, x, y, &truth)) return one(truth);
    item_name(name, "word", word, KN_F64);
    for (size_t i = 0; i < sizeof of_bits / sizeof *of_bits; i++)
        if (!strcmp(of_bits[i], word)) item_name(name, "soft", word, KN_F64);
    if (!strncmp(word, "is", 2)) return one(truth_of(n, name, arguments, count));
    return kni_narrow_call(n, name, KN_F64, arguments, count);
}

kni_parts kni_narrow_float_word(kni_narrower *n, const char *word, int dtype, kni_parts x, kni_parts y)
{
    if (n->b.status) return x;
    return dtype == KN_F32 ? single(n, word, x, y) : soft(n, word, x, y);
}

kni_parts kni_narrow_fma(kni_narrower *n, int dtype, kni_parts x, kni_parts y, kni_parts z)
{
    if (dtype == KN_F32) return one(kni_ir_fma(&n->b, x.id[0], y.id[0], z.id[0]));
    return kni_narrow_call(n, "kni_fma_f64", KN_F64,
                           (kni_ir_id[]){x.id[0], x.id[1], y.id[0], y.id[1], z.id[0], z.id[1]}, 6);
}
