/* What is known of a record before it runs: when a result may have the memory of an operand, and when there is nothing to do. */
#include "ops/record.h"
#include <string.h>

/* Whether both see the same elements of one storage in the same order. */
static bool same_view(const kni_tensor *a, const kni_tensor *b)
{
    return a == b ||
           (a->offset == b->offset && a->type.dtype == b->type.dtype && kni_same_dims(&a->type, &b->type) &&
            !memcmp(a->strides, b->strides, (size_t)a->type.rank * sizeof *a->strides));
}

bool kni_fits_over(const kni_tensor *x, const kni_tensor *y, int order)
{
    return x && x->storage && x->offset == 0 &&
           kni_dtypes[x->type.dtype].bits == kni_dtypes[y->type.dtype].bits &&
           kni_same_dims(&x->type, &y->type) &&
           kni_lies_in_order(order, x->type.rank, x->type.dims, x->strides) &&
           kni_storage_writable(x->storage);
}

static bool may_overwrite(const kn_record *r, int k, const kni_tensor *y, int order)
{
    if (k >= r->n_in || k >= 64 || !(r->last_use >> k & 1)) return false;
    const kni_tensor *x = kni_in(r, k);
    if (!kni_fits_over(x, y, order)) return false;
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *other = i == k ? NULL : kni_in(r, i);
        if (!other || other->storage != x->storage) continue;
        /* A tape may need what another place of the record names. */
        bool dies = i < 64 && (r->last_use >> i & 1);
        if (!dies || r->row->kind != KNI_ELEMENTWISE || !same_view(x, other)) return false;
    }
    return true;
}

bool kni_may_overwrite(const kn_record *r, int k, const kni_tensor *y)
{
    return may_overwrite(r, k, y, KNI_ORDER_ROWS);
}

bool kni_may_overwrite_promised(const kn_record *r, int k, const kni_tensor *y)
{
    return may_overwrite(r, k, y, y->order);
}

/* ---- records without work */

bool kni_has_nothing(const kn_record *r)
{
    for (int i = 0; i < r->n_out; i++)
        if (!kni_is_empty(kni_out(r, i))) return false;
    for (int i = 0; i < r->n_in; i++)
        if (kni_in(r, i) && !kni_is_empty(kni_in(r, i))) return false;
    return r->n_out > 0;
}
