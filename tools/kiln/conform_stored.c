/* Dtypes that are only stored: a row that takes them gives what it gives for the same values in a dtype that computes; every other
   row says which cast to write. Casts are compared with the oracle over all codes, and over some f16 from every dtype. */
#include "conform_run.h"
#include <kn/elementwise.h>
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The dtype that holds all values of a stored one. */
static kn_dtype natural(kn_dtype stored)
{
    if (kn_dtype_limits(stored).max > 0) return KN_F32;
    return stored == KN_I4 || stored == KN_I2 ? KN_I8 : KN_U8;
}

/* ---- rows */

/* The operands of a case: codes where they have the case's dtype, else their values. */
typedef struct operands {
    kiln_array values[KILN_MAX_INPUTS];
    bool stored[KILN_MAX_INPUTS];
} operands;

static void make_operands(const kiln_check *k, const kiln_case *c, kn_dtype dtype, operands *o)
{
    kiln_case_values(c, o->values);
    for (int i = 0; i < c->n_in; i++) {
        o->stored[i] = c->in[i].kind != KILN_OPERAND_NONE && c->in[i].dtype == k->c->dtype;
        if (!o->stored[i]) continue;
        kiln_array codes = kiln_array_new(KN_U8, o->values[i].shape);
        uint8_t *bytes = kiln_allocate((size_t)codes.count + 1);
        kn_device_use(k->run->oracle); /* the values may be of a dtype that the device lacks */
        kn_tensor x = kn_cast(kiln_tensor(&o->values[i], KILN_CONTIGUOUS, 0), dtype);
        if (kn_read(x, bytes, (size_t)codes.count) != KN_OK) kiln_result(k, kn_last_error());
        kn_device_use(k->run->device);
        for (int64_t e = 0; e < codes.count; e++) codes.integer[e] = bytes[e];
        free(bytes);
        kiln_array_free(&o->values[i]);
        o->values[i] = codes;
    }
}

/* As tensors on the current device; with `wide` the codes' values in the dtype that computes. */
static int invoke(const kiln_check *k, const operands *o, kn_dtype dtype, kiln_layout layout, bool wide,
                  kn_tensor *out)
{
    kn_tensor in[KILN_MAX_INPUTS];
    for (int i = 0; i < k->c->n_in; i++) {
        in[i] = KN_NONE;
        if (k->c->in[i].kind == KILN_OPERAND_NONE) continue;
        in[i] = kiln_tensor(&o->values[i], layout, 0);
        if (o->stored[i]) in[i] = kn_bitcast(in[i], dtype);
        if (o->stored[i] && wide) in[i] = kn_cast(in[i], natural(dtype));
        in[i] = kn_keep(in[i]);
    }
    return kiln_invoke(k->c, k->row, in, out);
}

/* NULL where both have the same shape and elements, NaN being equal to itself. */
static const char *compare_exactly(kn_tensor got, kn_tensor want)
{
    kiln_array a, b;
    if (kn_dtype_of(got) != kn_dtype_of(want)) return "it has another dtype than the same values computed";
    if (!kiln_array_read(&b, want)) return "the oracle's result cannot be read";
    if (!kiln_array_read(&a, got)) {
        kiln_array_free(&b);
        return "the result cannot be read";
    }
    const char *wrong =
        kiln_shape_equal(&a.shape, &b.shape) ? NULL : "it has another shape than the same values";
    for (int64_t i = 0; i < a.count && !wrong; i++) {
        bool same = a.real ? a.real[i] == b.real[i] || (a.real[i] != a.real[i] && b.real[i] != b.real[i])
                           : a.integer[i] == b.integer[i];
        if (!same) wrong = "it differs from what the same values give";
    }
    kiln_array_free(&a);
    kiln_array_free(&b);
    return wrong;
}

/* Whether the row works on the codes themselves, as a bitcast does: then the oracle gets them, too, and elements must have a byte. */
static bool takes_codes(const kn_op_info *row) { return row->dtypes >> KN_F8_E4M3 & 1; }

/* One layout of a row that takes the dtype. False, with the reason, where it refuses this case. */
static bool run_layout(const kiln_check *k, const operands *o, kn_dtype dtype, kiln_layout layout, char *text,
                       size_t room)
{
    kn_tensor got[KILN_MAX_OUTPUTS], want[KILN_MAX_OUTPUTS];
    kn_device_use(k->run->oracle);
    int n_want = invoke(k, o, dtype, KILN_CONTIGUOUS, !takes_codes(k->row), want);
    kn_device_use(k->run->device);
    int n_got = invoke(k, o, dtype, layout, false, got);
    if (!n_got || !kn_ok(got[0])) {
        kn_error_text(got[0], text, room);
        return false;
    }
    const char *wrong =
        n_got == n_want && n_want && kn_ok(want[0]) ? NULL : "the same values computed give no result";
    for (int i = 0; i < n_got && !wrong; i++) {
        kn_tensor a = got[i], b = want[i];
        if (kn_dtype_of(a) == dtype) {
            a = kn_cast(a, natural(dtype));
            kn_device_use(k->run->oracle);
            b = kn_cast(kn_cast(b, dtype), natural(dtype)); /* a fill value is rounded to the dtype, too */
            kn_device_use(k->run->device);
        }
        wrong = compare_exactly(a, b);
    }
    kiln_result(k, wrong);
    return true;
}

static void run_taken(const kiln_check *k, const operands *o, kn_dtype dtype)
{
    for (int layout = KILN_CONTIGUOUS; layout <= KILN_SLICED; layout++) {
        char text[512] = "";
        kiln_check check = {k->run, k->c, kiln_layout_names[layout], k->row};
        kn_scope scope = kn_scope_begin();
        bool accepted = run_layout(&check, o, dtype, (kiln_layout)layout, text, sizeof text);
        kn_scope_end(scope, KN_NONE);
        kiln_cell_note(&check, (kiln_layout)layout, accepted ? NULL : text);
    }
}

static void run_refused(const kiln_check *k, const operands *o, kn_dtype dtype)
{
    kn_tensor out[KILN_MAX_OUTPUTS];
    kn_scope scope = kn_scope_begin();
    invoke(k, o, dtype, KILN_CONTIGUOUS, false, out);
    char text[512] = "";
    if (kn_ok(out[0]) || !out[0].bits) {
        kiln_result(k, "the row takes no stored dtypes, but gives a result");
    } else {
        kn_error_text(out[0], text, sizeof text);
        if (strstr(text, "only stored") || strstr(text, "cast"))
            kiln_result(k, NULL);
        else
            kiln_result_text(k, "the refusal does not say to cast: %s", text);
    }
    kn_scope_end(scope, KN_NONE);
}

/* ---- casts */

/* Every 7th f16: scripts/stored.sh and tests/unit/test_stored.c have all, and the neighbours of every code. */
enum { HALVES = 9363 };

/* One cast on the current device, as bytes in new memory. NULL with kn_last_error() and its status. */
static void *cast_bytes(const void *data, kn_dtype from, kn_dtype to, int64_t n, bool saturate,
                        kn_status *status)
{
    size_t bytes = (size_t)kn_dtype_bytes(to, n);
    void *out = kiln_allocate(bytes);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_from(data, from, KN_SHAPE(n));
    *status = kn_read(saturate ? kn_cast_saturate(x, to) : kn_cast(x, to), out, bytes);
    kn_scope_end(scope, KN_NONE);
    if (*status == KN_OK) return out;
    free(out);
    return NULL;
}

/* Codes are equal where they are: a NaN has one code in all types but one, of which the quiet one is given. */
static void compare_cast(const kiln_check *k, const void *data, kn_dtype from, kn_dtype to, int64_t n,
                         bool saturate)
{
    char label[64];
    snprintf(label, sizeof label, "%s to %s%s", kn_dtype_name(from), kn_dtype_name(to),
             saturate ? ", saturated" : "");
    kiln_check check = {k->run, k->c, label, k->row};
    kn_status status;
    kn_device_use(k->run->oracle);
    void *want = cast_bytes(data, from, to, n, saturate, &status);
    kn_device_use(k->run->device);
    void *got = want ? cast_bytes(data, from, to, n, saturate, &status) : NULL;
    if (!got) {
        kiln_result_text(&check, "%s%s", status == KN_ERROR_UNSUPPORTED ? "unsupported: " : "",
                         kn_last_error());
    } else {
        /* As values, since a NaN that comes out may have any bits. */
        kn_scope scope = kn_scope_begin();
        kn_dtype wide = kn_dtype_is_stored(to) ? natural(to) : to;
        kn_tensor a = kn_cast(kn_from(got, to, KN_SHAPE(n)), wide),
                  b = kn_cast(kn_from(want, to, KN_SHAPE(n)), wide);
        kiln_result(&check, compare_exactly(a, b));
        kn_scope_end(scope, KN_NONE);
    }
    free(want);
    free(got);
}

static void run_casts(const kiln_check *k, kn_dtype dtype)
{
    uint8_t codes[256];
    kn_status status;
    uint16_t *halves = kiln_allocate(HALVES * sizeof *halves);
    int n = 1 << (kn_dtype_limits(dtype).bits        ? kn_dtype_limits(dtype).bits
                  : dtype == KN_I4 || dtype == KN_U4 ? 4
                                                     : 2);
    for (int i = 0; i < n; i++) codes[i] = (uint8_t)i;
    for (int i = 0; i < HALVES; i++) halves[i] = (uint16_t)(i * 7);
    for (int d = KN_F64; d <= KN_U2; d++) {
        compare_cast(k, codes, dtype, (kn_dtype)d, n, false);
        if (kn_dtype_is_stored((kn_dtype)d)) continue;
        kn_device_use(k->run->oracle);
        void *values = cast_bytes(halves, KN_F16, (kn_dtype)d, HALVES, false, &status);
        kn_device_use(k->run->device);
        if (!values) {
            kiln_result(k, kn_last_error());
            continue;
        }
        for (int saturate = 0; saturate < 2; saturate++)
            compare_cast(k, values, (kn_dtype)d, dtype, HALVES, saturate);
        free(values);
    }
    free(halves);
}

void kiln_run_stored(const kiln_check *k)
{
    bool varies = false;
    for (int i = 0; i < k->c->n_in; i++)
        varies = varies || (k->c->in[i].kind != KILN_OPERAND_NONE && k->c->in[i].dtype == k->c->dtype);
    if (k->row && takes_codes(k->row) && kn_dtype_bytes(k->c->dtype, 1) != 1) return;
    if (!k->row || !varies || !kiln_first_time(k->run, k->c->op, KN_F8_E4M3)) return;
    for (int d = KN_F8_E4M3; d <= KN_U2; d++) {
        kiln_case *changed = kiln_allocate(sizeof *changed);
        *changed = *k->c;
        operands o;
        make_operands(k, changed, (kn_dtype)d, &o);
        changed->dtype = (kn_dtype)d;
        bool taken = k->row->stored >> d & 1;
        kiln_check check = {k->run, changed, "only stored", k->row};
        (taken ? run_taken : run_refused)(&check, &o, (kn_dtype)d);
        if (!strcmp(k->row->name, "cast")) run_casts(&check, (kn_dtype)d);
        kiln_free_values(o.values, changed->n_in);
        free(changed);
    }
}
