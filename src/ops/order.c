/* Which order a result is promised: what the leaf wants, what the row keeps. */
#include "ops/order.h"
#include "core/device_object.h"

/* Both orders are different ones for it, and all sizes are known. */
static bool has_two_orders(const kni_type *t)
{
    int64_t positions = 1;
    if (t->rank < 3 || t->rank > 5 || !kni_dtype_usable(t->dtype) || kni_count(t) <= 0) return false;
    for (int a = 2; a < t->rank; a++) positions *= t->dims[a];
    return t->dims[1] > 1 && positions > 1;
}

static bool repeats(const kni_tensor *x)
{
    for (int a = 0; a < x->type.rank; a++)
        if (x->strides[a] == 0 && x->type.dims[a] > 1) return true;
    return false;
}

static kni_order order_of(const kni_tensor *x)
{
    return kni_order_of(x->type.rank, x->type.dims, x->strides);
}

static bool is_wanted(const kn_op *row, const kni_type *y, kn_device device)
{
    for (int32_t i = 0; i < device->n_wants; i++) {
        const kn_want *w = &device->wants[i];
        if ((w->op == KN_WANT_ANY || w->op == row->number) && w->dtypes >> y->dtype & 1 &&
            y->dims[1] >= w->least_channels)
            return true;
    }
    return false;
}

/* The operand that the row names, or the first one of the result's shape that does not repeat elements. */
static kni_order order_kept(const kn_record *r, const kni_type *y)
{
    const kn_op *row = r->row;
    if (row->follows) {
        const kni_tensor *x = row->follows <= r->n_in ? kni_in(r, row->follows - 1) : NULL;
        return x && x->type.rank == y->rank && !repeats(x) ? order_of(x) : KNI_ORDER_ROWS;
    }
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *x = kni_in(r, i);
        if (x && kni_same_dims(&x->type, y) && !repeats(x)) return order_of(x);
    }
    return KNI_ORDER_ROWS;
}

static kni_order choose(const kn_record *r, const kni_type *y, kn_device device)
{
    const kn_op *row = r->row;
    if (!has_two_orders(y)) return KNI_ORDER_ROWS;
    if (kni_this_thread.context.order) return (kni_order)(kni_this_thread.context.order - 1);
    if (row->layout == KNI_LAYOUT_WANTS)
        return is_wanted(row, y, device) ? KNI_ORDER_CHANNELS : KNI_ORDER_ROWS;
    return kni_keeps_order(row) ? order_kept(r, y) : KNI_ORDER_ROWS;
}

void kni_order_results(const kn_record *r, kn_device device)
{
    if (r->row->view) return; /* a view lies as its operand does */
    for (int i = 0; i < r->n_out; i++) {
        kni_tensor *y = kni_out(r, i);
        y->order = (uint8_t)choose(r, &y->type, device);
    }
}
