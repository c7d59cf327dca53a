/* Printing tensors as NumPy does: aligned columns, summarised axes, one common notation for all elements. */
#include "core/device_object.h"
#include "core/dtype.h"
#include "core/objects.h"
#include "core/param_value.h"
#include "core/text.h"
#include <kn/tensor.h>
#ifndef KN_FREESTANDING
#include <stdio.h>
#endif

enum { NUMBER = 32 };

typedef struct printer {
    kni_text text;
    const char *data; /* the elements that are shown, contiguous */
    int dtype, rank, width, precision, edge, line_width;
    int64_t dims[KN_MAX_RANK], strides[KN_MAX_RANK];
    bool scientific, summarise;
} printer;

static double number_at(const printer *p, int64_t i)
{
    double v;
    kni_convert(&v, KN_F64, 1, p->data + i * kni_bytes_of(p->dtype), p->dtype, 1, 1);
    return v;
}

static double power_of_ten(int n)
{
    double p = 1;
    for (int i = n < 0 ? -n : n; i > 0; i--) p *= 10;
    return n < 0 ? 1 / p : p;
}

static int decimal_exponent(double v)
{
    int e = 0;
    while (v >= 10) v /= 10, e++;
    while (v > 0 && v < 1) v *= 10, e--;
    return e;
}

/* digits after the point of |v| < 1e15, rounded half up. */
static void fixed_number(kni_text *t, double v, int digits)
{
    double scale = power_of_ten(digits);
    uint64_t whole = (uint64_t)v, fraction = (uint64_t)((v - (double)whole) * scale + 0.5);
    if ((double)fraction >= scale) whole++, fraction = 0;
    kni_text_int(t, (int64_t)whole);
    if (!digits) return;
    kni_text_char(t, '.');
    for (int d = digits - 1; d >= 0; d--)
        kni_text_char(t, (char)('0' + fraction / (uint64_t)power_of_ten(d) % 10));
}

static void scientific_number(kni_text *t, double v, int digits)
{
    int e = v == 0 ? 0 : decimal_exponent(v);
    double mantissa = v == 0 ? 0 : e < -300 ? v * 1e300 * power_of_ten(-e - 300) : v / power_of_ten(e);
    if (mantissa + 0.5 * power_of_ten(-digits) >= 10) mantissa /= 10, e++;
    fixed_number(t, mantissa, digits);
    kni_text_string(t, e < 0 ? "e-" : "e+");
    if (e < 0) e = -e;
    if (e < 10) kni_text_char(t, '0');
    kni_text_int(t, e);
}

static void element(const printer *p, kni_text *t, int64_t i)
{
    if (kni_is_bool(p->dtype)) {
        kni_text_string(t, p->data[i] ? "true" : "false");
        return;
    }
    if (p->dtype == KN_U64) {
        uint64_t u = ((const uint64_t *)(const void *)p->data)[i];
        if (u > INT64_MAX) {
            kni_text_int(t, (int64_t)(u / 10));
            kni_text_char(t, (char)('0' + u % 10));
            return;
        }
    }
    if (!kni_is_float(p->dtype)) {
        int64_t v;
        kni_convert(&v, KN_I64, 1, p->data + i * kni_bytes_of(p->dtype), p->dtype, 1, 1);
        kni_text_int(t, v);
        return;
    }
    double v = number_at(p, i);
    if (v != v) {
        kni_text_string(t, "nan");
        return;
    }
    if (v < 0 || (v == 0 && 1 / v < 0)) kni_text_char(t, '-'), v = -v;
    if (v > 1.7976931348623157e308)
        kni_text_string(t, "inf");
    else if (p->scientific)
        scientific_number(t, v, p->precision);
    else
        fixed_number(t, v, p->precision);
}

static int64_t n_shown(const printer *p, int axis)
{
    return p->summarise && p->dims[axis] > 2 * p->edge ? 2 * p->edge : p->dims[axis];
}

/* Visits the elements that will be shown, to choose notation and width. */
static void measure(printer *p, int axis, int64_t at, double *low, double *high, bool *whole)
{
    if (axis < p->rank) {
        for (int64_t k = 0; k < n_shown(p, axis); k++)
            measure(p, axis + 1, at + k * p->strides[axis], low, high, whole);
        return;
    }
    char buffer[NUMBER] = "";
    kni_text text = {buffer, sizeof buffer, 0};
    if (low) {
        double v = number_at(p, at);
        if (v < 0) v = -v;
        if (!(v <= 1.7976931348623157e308)) return;
        if (v != 0 && v < *low) *low = v;
        if (v > *high) *high = v;
        *whole &= v < 1e15 && (double)(int64_t)v == v;
        return;
    }
    element(p, &text, at);
    if ((int)text.length > p->width) p->width = (int)text.length;
}

static void choose_notation(printer *p)
{
    double low = 1.7976931348623157e308, high = 0;
    bool whole = true;
    if (kni_is_float(p->dtype)) {
        measure(p, 0, 0, &low, &high, &whole);
        p->scientific = high >= 1e8 || (high > 0 && (low < 1e-4 || high / low > 1e6));
        if (!p->scientific && whole) p->precision = 1;
    }
    measure(p, 0, 0, NULL, NULL, NULL);
}

static void padded(printer *p, int64_t at)
{
    char buffer[NUMBER] = "";
    kni_text text = {buffer, sizeof buffer, 0};
    element(p, &text, at);
    for (int i = (int)text.length; i < p->width; i++) kni_text_char(&p->text, ' ');
    kni_text_string(&p->text, buffer);
}

static void new_line(printer *p, int axis)
{
    kni_text_char(&p->text, '\n');
    for (int i = 0; i <= axis; i++) kni_text_char(&p->text, ' ');
}

static void block(printer *p, int axis, int64_t at)
{
    if (axis == p->rank) {
        padded(p, at);
        return;
    }
    bool last = axis == p->rank - 1;
    int column = axis + 1;
    kni_text_char(&p->text, '[');
    for (int64_t k = 0; k < n_shown(p, axis); k++) {
        bool gap = p->summarise && p->dims[axis] > 2 * p->edge && k == p->edge;
        if (k && last) {
            kni_text_char(&p->text, ',');
            column += p->width + 2;
            if (column + p->width + 1 > p->line_width)
                new_line(p, axis), column = axis + 1;
            else
                kni_text_char(&p->text, ' ');
        } else if (k) {
            kni_text_char(&p->text, ',');
            for (int i = axis; i < p->rank - 2; i++) kni_text_char(&p->text, '\n');
            new_line(p, axis);
        }
        if (gap) {
            kni_text_string(&p->text, last ? "..., " : "...,");
            if (last)
                column += 5;
            else
                new_line(p, axis);
        }
        block(p, axis + 1, at + k * p->strides[axis]);
    }
    kni_text_char(&p->text, ']');
}

/* Reads the elements that will be shown through a view that moves over the tensor, so that printing a summary of a
   large or expanded one takes no memory. */
static kn_status read_shown(const printer *p, const kni_tensor *x, const char *name, char *data)
{
    kni_thread *t = kni_thread_self();
    uint32_t id = kni_param_snapshot(t, x);
    if (id == KNI_NO_SLOT) return kni_fail_op(KN_ERROR_MEMORY, name, "no memory to print the tensor");
    kni_tensor *view = kni_slot(id);
    kn_backend *b = x->device->backend;
    int last = p->rank - 1;
    int64_t start = view->offset, at[KN_MAX_RANK] = {0}, size = kni_bytes_of(p->dtype);
    bool gap = n_shown(p, last) < p->dims[last];
    int64_t run = gap ? p->edge : p->dims[last];
    for (int i = 0; i < last; i++) view->type.dims[i] = 1;
    view->type.dims[last] = run;
    kn_status s = KN_OK;
    for (int axis = 0; axis >= 0 && s == KN_OK;) {
        int64_t offset = start;
        for (int i = 0; i < last; i++) {
            bool after = n_shown(p, i) < p->dims[i] && at[i] >= p->edge;
            offset += (after ? p->dims[i] - 2 * p->edge + at[i] : at[i]) * view->strides[i];
        }
        for (int part = 0; part <= gap && s == KN_OK; part++, data += run * size) {
            view->offset = offset + (part ? p->dims[last] - run : 0) * view->strides[last];
            s = b->read(b, id, data);
        }
        for (axis = last - 1; axis >= 0 && ++at[axis] == n_shown(p, axis); axis--) at[axis] = 0;
    }
    kni_tensor_end_handle(t, id);
    return s;
}

/* The whole text of a good tensor whose shown elements have been read. */
static void write_tensor(printer *p, const kni_type *type)
{
    choose_notation(p);
    block(p, 0, 0);
    kni_text_format(&p->text, " %T%S", p->dtype, type);
}

static void format_tensor(printer *p, kn_tensor t, const kni_tensor *x, const char *name)
{
    int64_t kept[KN_MAX_RANK], count = kni_count(&x->type);
    for (int i = 0; i < p->rank; i++) p->dims[i] = x->type.dims[i];
    if (count == 0) {
        kni_text_format(&p->text, "[] %T%S", p->dtype, &x->type);
        return;
    }
    for (int i = 0; i < p->rank; i++) kept[i] = n_shown(p, i);
    kni_contiguous_strides(p->rank, kept, p->strides);
    int64_t bytes = kn_dtype_bytes((kn_dtype)p->dtype, kni_count_dims(p->rank, kept));
    char *data = bytes < 0 ? NULL : kni_allocate((size_t)bytes);
    kn_status s = !data          ? kni_fail_op(KN_ERROR_MEMORY, name, "no memory to print the tensor")
                  : p->summarise ? read_shown(p, x, name, data)
                                 : kn_read(t, data, (size_t)bytes);
    p->data = data;
    if (s)
        kni_text_string(&p->text, kni_failure_latest());
    else
        write_tensor(p, &x->type);
    kni_free(data, (size_t)bytes);
}

static size_t format_as(const char *name, kn_tensor t, char *buffer, size_t n,
                        const kn_print_options *options)
{
    static const kn_print_options defaults = KN_PRINT_OPTIONS_DEFAULTS;
    kn_print_options o = options ? *options : defaults;
    int64_t digits = kn_int_or(o.precision, defaults.precision);
    if (digits < 0) digits = defaults.precision;
    if (digits > 15) digits = 15;
    printer p = {.text = {buffer, buffer ? n : 0, 0}, .precision = (int)digits};
    if (buffer && n) buffer[0] = 0;
    const kni_tensor *x = kni_peek(t);
    if (x) kni_storage_wait(x->storage);
    if (x) (void)kni_tensor_failed(x, &t);
    if (kni_is_poisoned(t)) {
        kni_text_string(&p.text, "poisoned tensor: ");
        size_t used = p.text.length;
        return used + kni_error_text(t, buffer && used < n ? buffer + used : NULL, used < n ? n - used : 0);
    }
    x = kni_resolve(t, name);
    if (!x) {
        kni_text_string(&p.text, kni_failure_latest());
        return p.text.length;
    }
    p.dtype = x->type.dtype;
    p.rank = x->type.rank;
    int64_t edge = o.edge_items > 0 ? o.edge_items : defaults.edge_items;
    p.edge = edge < INT32_MAX / 4 ? (int)edge : INT32_MAX / 4;
    p.line_width = o.line_width > 0 ? o.line_width : defaults.line_width;
    p.summarise = kni_count(&x->type) > (o.threshold > 0 ? o.threshold : defaults.threshold);
    format_tensor(&p, t, x, name);
    return p.text.length;
}

size_t kn_format(kn_tensor t, char *buffer, size_t n, const kn_print_options *options)
{
    return format_as("format", t, buffer, n, options);
}

kn_status kn_print(kn_tensor t)
{
    char small[1024];
    size_t n = format_as("print", t, small, sizeof small, NULL) + 1;
    char *text = n <= sizeof small ? small : kni_allocate(n);
    if (!text) return kni_fail(KN_ERROR_MEMORY, "kn_print: no memory for the text");
    if (text != small) format_as("print", t, text, n, NULL);
#ifndef KN_FREESTANDING
    fwrite(text, 1, n - 1, stdout);
    fputc('\n', stdout);
#else
    kni_log(KN_LOG_INFO, "%s", text);
#endif
    if (text != small) kni_free(text, n);
    const kni_tensor *x = kni_peek(t);
    if (x) (void)kni_tensor_failed(x, &t); /* reading may have told of it */
    if (kni_is_poisoned(t)) return kni_failure_again(t);
    return x ? KN_OK : KN_ERROR_HANDLE;
}
