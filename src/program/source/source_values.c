/* Sizes, numbers, dtypes, constants and operands as C. */
#include "core/error.h"
#include "program/source/source_parts.h"
#include <kn/tensor.h>

enum { LONGEST_COMMENT = 120 };

/* ---- sizes, numbers, dtypes */

static void print_sum(kni_source *s, kni_buffer *out, kn_dim d)
{
    kni_dim_term terms[KNI_DIM_TERMS];
    int n = kni_dim_terms(d, terms);
    if (n > 1) kni_buffer_text(out, "(");
    for (int i = 0; i < n; i++) {
        int64_t k = terms[i].coefficient;
        if (i || k < 0) kni_buffer_text(out, k < 0 ? (i ? " - " : "-") : " + ");
        uint64_t size = k < 0 ? 0 - (uint64_t)k : (uint64_t)k;
        bool one = size == 1 && terms[i].n_factors;
        if (!one) kni_buffer_decimal(out, (int64_t)size);
        for (int f = 0; f < terms[i].n_factors; f++) {
            if (f || !one) kni_buffer_text(out, " * ");
            kni_source_size(s, out, terms[i].factors[f]);
        }
    }
    if (n > 1) kni_buffer_text(out, ")");
}

/* The name of a size, which may have dots. */
void kni_source_symbol(kni_buffer *out, kn_dim d)
{
    for (const char *c = kni_dim_name(d); *c; c++) kni_buffer_format(out, "%c", *c == '.' ? '_' : *c);
}

void kni_source_size(kni_source *s, kni_buffer *out, kn_dim d)
{
    static const struct {
        const char *name;
        kni_source_helper helper;
    } calls[] = {[KNI_DIM_QUOTIENT] = {"divided(", KNI_SOURCE_DIVIDED},
                 [KNI_DIM_MAXIMUM] = {"larger(", KNI_SOURCE_LARGER},
                 [KNI_DIM_MINIMUM] = {"smaller(", KNI_SOURCE_SMALLER}};
    if (!kni_dim_is_expression(d)) {
        if (d == INT64_MAX)
            kni_buffer_text(out, "KN_END");
        else
            kni_buffer_decimal(out, d);
        return;
    }
    kni_dim_kind kind = kni_dim_kind_of(d);
    if (kind == KNI_DIM_SYMBOL) {
        kni_buffer_text(out, "n->");
        kni_source_symbol(out, d);
    } else if (kind == KNI_DIM_SUM) {
        print_sum(s, out, d);
    } else {
        kn_dim a, b;
        kni_dim_operands(d, &a, &b);
        s->helpers[calls[kind].helper] = true;
        kni_buffer_text(out, calls[kind].name);
        kni_source_size(s, out, a);
        kni_buffer_text(out, ", ");
        kni_source_size(s, out, b);
        kni_buffer_text(out, ")");
    }
}

void kni_source_real(kni_buffer *out, double value)
{
    if (value != value) {
        kni_buffer_text(out, "NAN");
    } else if (value - value != 0) {
        kni_buffer_text(out, value > 0 ? "INFINITY" : "-INFINITY");
    } else {
        char text[40];
        for (int digits = 6; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, value);
            if (strtod(text, NULL) == value) break;
        }
        kni_buffer_text(out, text);
    }
}

void kni_source_dtype(kni_buffer *out, kn_dtype dtype)
{
    char text[40];
    snprintf(text, sizeof text, "KN_%s", kn_dtype_name(dtype));
    for (char *c = text; *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    kni_buffer_text(out, dtype == KN_DTYPE_NONE ? "KN_DTYPE_NONE" : text);
}

void kni_source_list(kni_source *s, kni_buffer *out, const char *macro, const char *empty, int32_t rank,
                     const kn_dim *dims)
{
    kni_buffer_text(out, rank ? macro : empty);
    for (int32_t i = 0; i < rank; i++) {
        kni_buffer_text(out, i ? ", " : "(");
        kni_source_size(s, out, dims[i]);
    }
    if (rank) kni_buffer_text(out, ")");
}

void kni_source_shape(kni_source *s, kni_buffer *out, int32_t rank, const kn_dim *dims)
{
    kni_source_list(s, out, "KN_SHAPE", "KN_SCALAR_SHAPE", rank, dims);
}

/* ---- texts of others, which may hold anything */

static bool is_plain(char c) { return c >= ' ' && c <= '~'; }

void kni_source_comment(kni_buffer *out, const char *text)
{
    char before = 0;
    for (int n = 0; *text && n < LONGEST_COMMENT; text++, n++) {
        char c = is_plain(*text) && *text != '\\' ? *text : '_';
        bool ends = (before == '*' && c == '/') || (before == '/' && c == '*') || (before == '?' && c == '?');
        kni_buffer_format(out, ends ? " %c" : "%c", c);
        before = c;
    }
    if (*text) kni_buffer_text(out, "...");
}

void kni_source_text(kni_buffer *out, const char *text)
{
    char before = 0;
    kni_buffer_text(out, "\"");
    for (; *text; before = *text++) {
        if (!is_plain(*text))
            kni_buffer_format(out, "\\%03o", (unsigned)(unsigned char)*text);
        else if (*text == '"' || *text == '\\' || (*text == '?' && before == '?'))
            kni_buffer_format(out, "\\%c", *text);
        else
            kni_buffer_format(out, "%c", *text);
    }
    kni_buffer_text(out, "\"");
}

/* ---- operands */

/* One element of a constant; the tensor lies contiguous in host memory, as a double or a whole number. */
static void print_element(kni_buffer *out, kn_dtype dtype, double real, int64_t whole)
{
    if (kni_is_bool(dtype))
        kni_buffer_text(out, whole ? "1" : "0");
    else if (kn_dtype_is_float(dtype))
        kni_source_real(out, real);
    else if (whole == INT64_MIN)
        kni_buffer_text(out, "INT64_MIN");
    else
        kni_buffer_decimal(out, whole);
}

static const char *element_type(kn_dtype dtype)
{
    static const char *const names[KN_DTYPE_COUNT] = {
        [KN_F64] = "double",   [KN_F32] = "float",  [KN_I64] = "int64_t",  [KN_I32] = "int32_t",
        [KN_I16] = "int16_t",  [KN_I8] = "int8_t",  [KN_U64] = "uint64_t", [KN_U32] = "uint32_t",
        [KN_U16] = "uint16_t", [KN_U8] = "uint8_t", [KN_BOOL] = "uint8_t"};
    return names[dtype];
}

static void print_constant(kni_source *s, kni_buffer *out, const kni_program_value *v)
{
    enum { ROOM = 16 };
    double reals[ROOM] = {0};
    int64_t wholes[ROOM] = {0};
    kn_dtype dtype = (kn_dtype)v->type.dtype;
    int64_t n = kn_count(v->tensor);
    bool is_real = kn_dtype_is_float(dtype);
    kn_status status = n > ROOM  ? KN_ERROR_INTERNAL
                       : is_real ? kn_read_as(v->tensor, KN_F64, reals, (size_t)n * sizeof *reals)
                                 : kn_read_as(v->tensor, KN_I64, wholes, (size_t)n * sizeof *wholes);
    kni_source_failed(s, status);
    if (v->type.rank == 0) {
        kni_buffer_text(out, is_real ? "kn_scalar(" : "kn_scalar_int(");
        print_element(out, dtype, reals[0], wholes[0]);
    } else {
        kni_buffer_format(out, "kn_from((%s[]){", element_type(dtype));
        for (int64_t i = 0; i < n && i < ROOM; i++) {
            if (i) kni_buffer_text(out, ", ");
            print_element(out, dtype, reals[i], wholes[i]);
        }
        kni_buffer_text(out, "}");
    }
    kni_buffer_text(out, ", ");
    kni_source_dtype(out, dtype);
    if (v->type.rank) {
        kni_buffer_text(out, ", ");
        kni_source_shape(s, out, v->type.rank, v->type.dims);
    }
    kni_buffer_text(out, ")");
}

void kni_source_operand(kni_source *s, kni_buffer *out, int32_t value)
{
    if (value < 0) {
        kni_buffer_text(out, "KN_NONE");
        return;
    }
    const kni_source_value *x = &s->values[value];
    if (x->place == KNI_SOURCE_INLINE)
        print_constant(s, out, &s->p->values[value]);
    else if (x->place == KNI_SOURCE_FIELD)
        kni_buffer_format(out, "kn_value(%s->%s)", x->block == s->block ? "m" : "shared", x->name);
    else
        kni_buffer_text(out, x->name);
}

void kni_source_operands(kni_source *s, kni_buffer *out, const int32_t *in, int32_t n)
{
    kni_buffer_text(out, "(kn_tensor[]){");
    for (int32_t i = 0; i < n; i++) {
        if (i) kni_buffer_text(out, ", ");
        kni_source_operand(s, out, in[i]);
    }
    kni_buffer_text(out, "}");
}
