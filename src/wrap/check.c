/* check(a, b): every record runs on both backends with the same operands, and the first result that differs
   by more than the row's tolerance is an error. */
#include "core/objects.h"
#include "core/text.h"
#include "ops/record.h"
#include "ops/tolerance.h"
#include "wrap/decorator.h"
#include "wrap/wrap.h"
#include <string.h>

enum { MAX_OUTPUTS = 8 };

typedef struct state {
    _Atomic uint64_t records;
} state;

/* Slots for the second backend's results. */
static kn_status make_shadows(const kn_record *r, kn_record *copy, kn_device device)
{
    kni_thread *t = kni_thread_self();
    for (int i = 0; i < r->n_out; i++) {
        uint32_t id = kni_tensor_new(t);
        if (id == KNI_NO_SLOT) return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory to check the op");
        kni_tensor *y = kni_slot(id);
        y->type = kni_out(r, i)->type;
        y->device = device;
        y->state = KNI_KEPT;
        copy->ids[i] = id;
    }
    return KN_OK;
}

static int64_t terms_of(const kn_record *r, const kni_tensor *y)
{
    int64_t most = 1, n = kni_count(&y->type);
    for (int i = 0; i < r->n_in; i++) {
        int64_t k = kni_in(r, i) ? kni_count(&kni_in(r, i)->type) : 0;
        if (k > most) most = k;
    }
    return n > 0 ? most : 1;
}

static bool apart(double a, double b, double bound, double scale)
{
    if (a == b || (a != a && b != b)) return false;
    double gap = a > b ? a - b : b - a, size = a < 0 ? -a : a, other = b < 0 ? -b : b;
    if (other > size) size = other;
    /* A bound of 0 asks for equality; sums may cancel, so the size of the whole result counts a little. */
    return !(gap <= bound * (size + scale));
}

/* The elements of a tensor as f64, NULL after a failure; `bytes` is for kni_free. */
static double *wide_copy(kn_backend *backend, const kni_tensor *x, uint32_t id, size_t *bytes)
{
    int64_t n = kni_count(&x->type);
    size_t own = (size_t)kn_dtype_bytes((kn_dtype)x->type.dtype, n);
    *bytes = (size_t)n * sizeof(double);
    void *raw = kni_allocate(own);
    double *wide = raw ? kni_allocate(*bytes) : NULL;
    if (!wide) kni_fail(KN_ERROR_MEMORY, "check: no memory to compare the results");
    if (wide && backend->read(backend, id, raw)) {
        kni_free(wide, *bytes);
        wide = NULL;
    }
    if (wide) kni_convert(wide, KN_F64, 1, raw, x->type.dtype, 1, n);
    kni_free(raw, own);
    return wide;
}

static double largest(const double *v, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++) {
        double size = v[i] < 0 ? -v[i] : v[i];
        if (size > most && size <= 1.7976931348623157e308) most = size;
    }
    return most;
}

/* The terms of a contraction of two operands are products of their elements; attention takes three and weighs the last. */
static bool sums_products(const kn_op *row) { return row->kind == KNI_CONTRACTION && row->min_in == 2; }

/* Where terms are summed they may cancel, so an error is measured by the largest operand as well, or by the largest term. */
static kn_status operand_scale(kn_backend *b, const kn_record *r, double *scale)
{
    double product = 1;
    for (int i = 0; i < r->n_in && r->row->tolerance.roots > 0; i++) {
        const kni_tensor *x = kni_in(r, i);
        if (!x || !kn_dtype_is_float((kn_dtype)x->type.dtype)) continue;
        size_t bytes;
        double *v = wide_copy(b->inner[0], x, r->ids[r->n_out + i], &bytes);
        if (!v) return kni_latest_code();
        double most = largest(v, kni_count(&x->type));
        if (most > *scale) *scale = most;
        if (i < 2) product *= most;
        kni_free(v, bytes);
    }
    if (sums_products(r->row) && product > *scale && product <= 1.7976931348623157e308) *scale = product;
    return KN_OK;
}

static kn_status compare(kn_backend *b, const kn_record *r, const kni_tensor *y, uint32_t first,
                         uint32_t second, double scale)
{
    int64_t n = kni_count(&y->type);
    size_t bytes_a = 0, bytes_c = 0;
    double *a = wide_copy(b->inner[0], y, first, &bytes_a);
    double *c = a ? wide_copy(b->inner[1], y, second, &bytes_c) : NULL;
    kn_status s = c ? KN_OK : kni_latest_code();
    double bound = kni_tolerance_bound(r->row, y->type.dtype, terms_of(r, y)), most = c ? largest(c, n) : 0;
    if (most > scale) scale = most;
    for (int64_t i = 0; i < n && s == KN_OK; i++)
        if (apart(a[i], c[i], bound, scale))
            s = kni_fail_op(KN_ERROR_NUMERIC, r->row->name,
                            "check: %s gives %g, %s gives %g at element %D of a result %S of %T by op %s",
                            b->inner[0]->name, a[i], b->inner[1]->name, c[i], i, &y->type, (int)y->type.dtype,
                            r->row->name);
    kni_free(a, bytes_a);
    kni_free(c, bytes_c);
    return s;
}

/* The second backend runs first: the first one may write over operands that die. */
static kn_status run_both(kn_backend *b, const kn_record *r, kn_record *copy)
{
    memcpy(copy, r, r->bytes);
    copy->attributes = (const char *)copy + ((const char *)r->attributes - (const char *)r);
    copy->last_use = 0;
    kn_status s = make_shadows(r, copy, b->inner[1]->device);
    const kn_record *second = copy;
    double scale = 0;
    if (s == KN_OK) s = operand_scale(b, r, &scale);
    kn_status other = s ? s : b->inner[1]->execute(b->inner[1], &second, 1);
    char why[200] = "";
    if (s == KN_OK && other) {
        kni_error_text(kni_poison_latest(), why, sizeof why);
        kni_error_forget(kni_thread_self()); /* it is an error only if the first backend succeeds */
    }
    if (s == KN_OK) s = kni_forward(b, r);
    if ((s == KN_OK) != (other == KN_OK) && other)
        s = kni_fail_op(KN_ERROR_NUMERIC, r->row->name, "check: op %s of %s succeeds where %s fails: %s",
                        r->row->name, b->inner[0]->name, b->inner[1]->name, why);
    for (int i = 0; i < r->n_out && s == KN_OK; i++)
        s = compare(b, r, kni_out(r, i), r->ids[i], copy->ids[i], scale);
    return s;
}

static kn_status execute_one(kn_backend *b, const kn_record *r)
{
    if (KNI_UNLIKELY(r->flags & KN_RECORD_DROP)) return kni_forward(b, r);
    if (r->n_out > MAX_OUTPUTS) return kni_forward(b, r);
    kn_record *copy = kni_allocate(r->bytes);
    if (!copy) return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory to check the op");
    kn_scope scope = kn_scope_begin();
    kn_status s = run_both(b, r, copy);
    kn_scope_end(scope, KN_NONE);
    kni_free(copy, r->bytes);
    atomic_fetch_add(&((state *)b->self)->records, 1);
    return s;
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    return kni_each_record(b, records, n, execute_one);
}

static void reset(kn_backend *b) { atomic_store(&((state *)b->self)->records, 0); }

static kn_status report_text(kn_backend *b, const char *kind, kn_report *report)
{
    if (strcmp(kind, "report")) return KN_ERROR_UNSUPPORTED;
    kni_text text = {report->buffer, report->bytes, 0};
    kni_text_format(&text, "%D ops gave the same on %s and %s\n",
                    (int64_t)atomic_load(&((state *)b->self)->records), b->inner[0]->name, b->inner[1]->name);
    report->length = text.length;
    return KN_OK;
}

kn_backend *kni_check_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument;
    kn_backend *b = kni_decorator_new("check", 0, inner, n_inner, execute, sizeof(state));
    if (!b) return NULL;
    b->report = report_text;
    b->reset = reset;
    return b;
}
