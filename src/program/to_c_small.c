/* Casts from and to dtypes that are only stored: floats of eight bits and below, integers of four and two bits. An element is a code
   in a byte of its own. What codes mean is a table; codes of values are computed. */
#include "core/allocator.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/small_types.h"
#include "core/text.h"
#include "ir/emitter.h"
#include "program/to_c.h"
#include <string.h>

/* The code nearest to v, ties to the even one: the positive codes of the largest number, of what is above it and of NaN, and the code of
   -0, say what type it is. */
static const char float_code[] =
    "KNI_FUNCTION uint8_t kiln_small(double v, int mantissa, int lowest, int sign, int largest, int above, "
    "int nan, int zero)\n"
    "{\n"
    "    union {\n        double v;\n        uint64_t bits;\n    } x, power;\n"
    "    x.v = v;\n"
    "    int exponent = (int)(x.bits >> 52 & 0x7ff) - 1023, minus = x.bits >> 63 ? sign : 0;\n"
    "    if (v != v) return (uint8_t)(minus | nan);\n"
    "    if (exponent < 1023) {\n"
    "        if (exponent < lowest) exponent = lowest;\n"
    "        power.bits = (uint64_t)(mantissa - exponent + 1023) << 52;\n"
    "        volatile double steps = (minus ? -v : v) * power.v + 4503599627370496.0;\n"
    "        double place = (double)(exponent - lowest) * (double)(1 << mantissa) + (steps - "
    "4503599627370496.0);\n"
    "        if (place == 0) return (uint8_t)(minus ? zero : 0);\n"
    "        if (place <= (double)largest) return (uint8_t)(minus | (int)place);\n"
    "    }\n"
    "    return (uint8_t)(minus | above);\n"
    "}\n\n";

/* Floats become whole numbers first, within 64 bits; NaN is 0. */
static const char whole_of_float[] =
    "KNI_FUNCTION int64_t kiln_whole(double v)\n"
    "{\n"
    "    if (v != v) return 0;\n"
    "    if (v >= 9223372036854775808.0) return 9223372036854775807LL;\n"
    "    return v < -9223372036854775808.0 ? -9223372036854775807LL - 1 : (int64_t)v;\n"
    "}\n\n";

static kn_status need_function(kni_c *c, const char *text)
{
    bool is_new;
    if (kni_c_kernel_of(c, text, &is_new) < 0) return KN_ERROR_MEMORY;
    if (is_new) kni_ir_text_add(&c->functions, "%s", text);
    return KN_OK;
}

/* ---- codes to values */

/* All values of the type in the other one, as an array called kiln_values_TO_FROM. */
static kn_status need_table(kni_c *c, int to, int from)
{
    char key[80];
    _Alignas(8) uint8_t values[256 * 8];
    uint8_t codes[256];
    int64_t n = kni_small_count(from);
    bool is_new;
    kni_text name = {key, sizeof key, 0};
    kni_text_format(&name, "values %s %s", kni_dtypes[to].name, kni_dtypes[from].name);
    if (kni_c_kernel_of(c, key, &is_new) < 0) return KN_ERROR_MEMORY;
    if (!is_new) return KN_OK;
    for (int64_t i = 0; i < n; i++) codes[i] = (uint8_t)i;
    kni_convert(values, to, 1, codes, from, 1, n);
    kni_ir_text_add(&c->functions, "KILN_STATIC const %s kiln_values_%s_%s[] = {",
                    kni_dialect_storage_type(to), kni_dtypes[to].name, kni_dtypes[from].name);
    for (int64_t i = 0; i < n; i++) {
        kni_ir_text_add(&c->functions, i % 8 ? " " : "\n    ");
        kni_c_print_element(&c->functions, to, values, i);
        kni_ir_text_add(&c->functions, ",");
    }
    kni_ir_text_add(&c->functions, "\n};\n\n");
    return KN_OK;
}

/* ---- values to codes: an expression of x[i] */

static kn_status print_code(kni_c *c, kni_ir_text *t, int to, int from)
{
    const kni_dtype_row *row = &kni_dtypes[to];
    kni_ir_text value = {0};
    if (kni_is_half(from)) {
        kni_ir_text name = {0};
        kni_ir_text_add(&name, "kni_cast_f32_%s", kni_dtypes[from].name);
        if (name.data) kni_c_uses(c, name.data);
        kni_ir_text_add(&value, "%s(x[i])", name.data ? name.data : "");
        kni_ir_text_free(&name);
    } else {
        kni_ir_text_add(&value, "x[i]");
    }
    const char *x = value.data ? value.data : "";
    kn_status s = value.failed ? kni_c_no_memory() : KN_OK;
    if (s == KN_OK && kni_is_float(to)) {
        int sign = 1 << (row->bits - 1);
        s = need_function(c, float_code);
        kni_ir_text_add(
            t, "kiln_small((double)%s, %d, %d, %d, %d, %d, %d, %d)", x, row->mantissa, 1 - row->bias, sign,
            (int)kni_small_code(to, 1e300, true), (int)kni_small_code(to, 1e300, false),
            (int)kni_small_code(to, __builtin_nan(""), false), (int)kni_small_code(to, -0.0, false));
    } else if (s == KN_OK) {
        if (kni_is_float(from)) s = need_function(c, whole_of_float);
        kni_ir_text_add(t,
                        kni_is_float(from) ? "(uint8_t)(kiln_whole((double)%s) & %d)" : "(uint8_t)(%s & %d)",
                        x, (int)kni_small_count(to) - 1);
    }
    kni_ir_text_free(&value);
    return s;
}

bool kni_c_is_small_cast(const kni_c *c, const kni_program_node *n)
{
    return n->row->flags & KNI_FLAG_CONVERTS && n->n_in == 1 &&
           (kni_dtype_stored(c->p->values[kni_node_in(c->p, n)[0]].type.dtype) ||
            kni_dtype_stored(c->p->values[kni_node_out(c->p, n)[0]].type.dtype));
}

kn_status kni_c_print_small_cast(kni_c *c, const kni_program_node *n)
{
    int32_t x = kni_node_in(c->p, n)[0], y = kni_node_out(c->p, n)[0];
    const kni_type *t = &c->p->values[y].type;
    int from = c->p->values[x].type.dtype, to = t->dtype;
    kni_ir_text code = {0};
    /* Powers of two have no 0, and roundings of their own. */
    if (!kni_dtype_stored(from) && kni_dtype_stored(to) && kni_small_value(to, 0) != 0)
        return kni_fail_op(KN_ERROR_UNSUPPORTED, n->row->name, "%T has no form in C: cast it before", to);
    kn_status s = kni_c_make(c, y);
    if (s == KN_OK) s = kni_dtype_stored(from) ? need_table(c, to, from) : print_code(c, &code, to, from);
    if (s == KN_OK && code.failed) s = kni_c_no_memory();
    if (s) return kni_ir_text_free(&code), s;
    const char *stored = kni_dialect_storage_type(to);
    kni_c_line(c);
    kni_ir_text_add(&c->code, "{ /* cast */\n");
    kni_c_line(c);
    kni_ir_text_add(&c->code, "    const %s *x = (const %s *)%s;\n", kni_dialect_storage_type(from),
                    kni_dialect_storage_type(from), kni_c_address(c, x));
    kni_c_line(c);
    kni_ir_text_add(&c->code, "    for (int64_t i = 0; i < ");
    kni_c_dim(&c->code, kni_c_product(t, 0, t->rank));
    kni_ir_text_add(&c->code, "; i++) ((%s *)%s)[i] = ", stored, kni_c_address(c, y));
    if (kni_dtype_stored(from))
        kni_ir_text_add(&c->code, "kiln_values_%s_%s[x[i] & %d];\n", kni_dtypes[to].name,
                        kni_dtypes[from].name, (int)kni_small_count(from) - 1);
    else
        kni_ir_text_add(&c->code, "%s;\n", code.data);
    kni_c_line(c);
    kni_ir_text_add(&c->code, "}\n");
    kni_ir_text_free(&code);
    return s;
}
