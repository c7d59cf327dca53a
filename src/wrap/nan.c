/* nan(inner): the first op that makes NaN or infinity from finite operands is an error that names it. */
#include "ops/record.h"
#include "wrap/decorator.h"
#include "wrap/wrap.h"

/* True when every element is finite; integers always are. */
static kn_status all_finite(kn_backend *b, const kni_tensor *x, uint32_t id, bool *finite, int64_t *where)
{
    *finite = true;
    if (!kn_dtype_is_float((kn_dtype)x->type.dtype)) return KN_OK;
    int64_t n = kni_count(&x->type);
    size_t own = (size_t)kn_dtype_bytes((kn_dtype)x->type.dtype, n), wide = (size_t)n * sizeof(double);
    void *raw = kni_allocate(own);
    double *v = kni_allocate(wide);
    kn_status s = raw && v ? b->inner[0]->read(b->inner[0], id, raw)
                           : kni_fail(KN_ERROR_MEMORY, "nan: no memory to look at the values");
    if (s == KN_OK) kni_convert(v, KN_F64, 1, raw, x->type.dtype, 1, n);
    for (int64_t i = 0; i < n && s == KN_OK && *finite; i++) {
        *finite = v[i] - v[i] == 0;
        *where = i;
    }
    kni_free(raw, own);
    kni_free(v, wide);
    return s;
}

static kn_status execute_one(kn_backend *b, const kn_record *r)
{
    if (KNI_UNLIKELY(r->flags & KN_RECORD_DROP)) return kni_forward(b, r);
    bool finite = true;
    int64_t where = 0;
    kn_status s = KN_OK;
    for (int i = 0; i < r->n_in && finite && s == KN_OK; i++)
        if (kni_in(r, i)) s = all_finite(b, kni_in(r, i), r->ids[r->n_out + i], &finite, &where);
    if (s == KN_OK) s = kni_forward(b, r);
    if (!finite) return s;
    for (int i = 0; i < r->n_out && s == KN_OK; i++) {
        s = all_finite(b, kni_out(r, i), r->ids[i], &finite, &where);
        if (s == KN_OK && !finite)
            return kni_fail_op(KN_ERROR_NUMERIC, r->row->name,
                               "makes NaN or infinity from finite operands, at element %D of its result %S",
                               where, &kni_out(r, i)->type);
    }
    return s;
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    return kni_each_record(b, records, n, execute_one);
}

kn_backend *kni_nan_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument;
    return kni_decorator_new("nan", KN_TRAIT_STATELESS, inner, n_inner, execute, 0);
}
