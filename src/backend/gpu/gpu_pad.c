/* Padding on the device: axes in the order in which the result lies, those between which nothing is added taken together, and several
   elements along the last one to an item. */
#include "backend/gpu/pad_kernel.h"
#include "backend/gpu/product.h"
#include "ops/movement_rows.h"
#include <kn/shape.h>
#include <string.h>

/* Sizes of the result and of x, strides of x and paddings, along axes that are merged as far as possible. */
typedef struct lines {
    int rank;
    int64_t dims[KN_MAX_RANK], sizes[KN_MAX_RANK], strides[KN_MAX_RANK], before[KN_MAX_RANK];
    uint8_t padded;
} lines;

static lines merge(const kni_tensor *x, const kni_tensor *y, const kni_pad_attributes *a)
{
    lines l = {0};
    int32_t axes[KN_MAX_RANK];
    const int rank = x->type.rank;
    kni_order_axes(y->order, rank, axes);
    for (int i = 0; i < rank; i++) {
        const int k = axes[i];
        const int64_t size = x->type.dims[k], padded = y->type.dims[k];
        if (padded == 1 && size == 1) continue;
        const int to = l.rank - 1;
        if (l.rank && !(l.padded >> to & 1) && padded == size && l.strides[to] == x->strides[k] * size) {
            l.dims[to] *= size;
            l.sizes[to] *= size;
            l.strides[to] = x->strides[k];
            continue;
        }
        if (padded != size) l.padded |= (uint8_t)(1 << l.rank);
        l.dims[l.rank] = padded;
        l.sizes[l.rank] = size;
        l.strides[l.rank] = x->strides[k];
        l.before[l.rank++] = a->before.dims[k];
    }
    return l;
}

/* What is computed in 32 bits, and a little beyond. */
static bool is_narrow(const lines *l)
{
    const int64_t most = INT64_C(1) << 29;
    int64_t reach = 0, made = 1;
    for (int a = 0; a < l->rank; a++) {
        if (l->dims[a] > most) return false;
        reach += l->dims[a] * (l->strides[a] < 0 ? -l->strides[a] : l->strides[a]);
        made *= l->dims[a];
        if (reach > most || made > most) return false;
    }
    return true;
}

static void choose_lanes(const kni_gpu *g, const lines *l, int64_t offset, kni_pad_kind *k)
{
    const kni_ir_caps *caps = &g->driver->caps;
    const int last = l->rank - 1;
    int64_t lanes = caps->vector_bytes > k->bytes ? caps->vector_bytes / k->bytes : 1, near;
    const bool inner = k->padded >> last & 1;
    if (kni_ir_wants_narrow(caps)) lanes = 1;
    if (lanes > 8) lanes = 8;
    while (l->dims[last] % lanes) lanes /= 2;
    near = offset;
    for (int a = 0; a < last; a++) near |= l->strides[a];
    if (inner) near |= l->before[last] | l->sizes[last];
    k->lanes = (uint8_t)lanes;
    k->wide = l->strides[last] == 1 && near % lanes == 0 && (!inner || k->mode == KN_PAD_CONSTANT);
}

/* The value as it is stored; false where no kernel moves the dtype. */
static bool find_bits(int dtype, double value, int64_t *bits)
{
    const kni_dtype_row *d = &kni_dtypes[dtype];
    *bits = 0;
    if (d->kind == KNI_KIND_FLOAT) {
        float narrow = 0;
        if (d->bits < 16) return false;
        if (dtype == KN_F64) return memcpy(bits, &value, sizeof value), true;
        kni_convert(&narrow, KN_F32, 1, &value, KN_F64, 1, 1);
        kni_convert(bits, dtype, 1, &narrow, KN_F32, 1, 1);
        return true;
    }
    int64_t whole = value != 0; /* a fraction is true */
    if (!kni_is_bool(dtype)) kni_convert(&whole, dtype == KN_U64 ? KN_U64 : KN_I64, 1, &value, KN_F64, 1, 1);
    memcpy(bits, &whole, kni_bytes_of(dtype));
    return d->bits % 8 == 0 || kni_is_bool(dtype);
}

static kn_status launch(kni_gpu *g, const lines *l, const kni_pad_kind *kind, int64_t offset, int64_t bits,
                        kni_gpu_block *const blocks[2])
{
    int64_t numbers[4 + 4 * KN_MAX_RANK], items = 1;
    const int64_t *const lists[] = {l->dims, l->sizes, l->strides, l->before};
    int n = 3;
    for (int i = 0; i < KNI_COUNT(lists); i++, n += l->rank)
        memcpy(numbers + n, lists[i], (size_t)l->rank * sizeof *numbers);
    numbers[3 + l->rank - 1] /= kind->lanes;
    for (int a = 0; a < l->rank; a++) items *= numbers[3 + a];
    numbers[0] = items;
    numbers[1] = offset;
    numbers[2] = 0;
    numbers[n] = bits;
    kni_gpu_kernel *k = kni_gpu_find(g, kind, sizeof *kind);
    if (!k) k = kni_gpu_add(g, kind, sizeof *kind, kni_pad_build(kind));
    if (!k) return kni_latest_code();
    kni_launch_shape shape = kni_gpu_item_shape(g, k, items);
    return kni_gpu_launch(g, k, &shape, blocks, 2, -1, numbers);
}

kn_status kni_gpu_run_pad(kni_gpu *g, const kn_record *r)
{
    const kni_pad_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    kni_gpu_block *blocks[2], *made = NULL;
    kni_pad_kind kind;
    int64_t bits;
    const lines l = merge(x, y, a);
    if (!x->storage || kni_count(&x->type) == 0 || l.rank == 0 || !is_narrow(&l) ||
        !find_bits(x->type.dtype, a->value, &bits))
        return KN_ERROR_UNSUPPORTED;
    memset(&kind, 0, sizeof kind);
    memcpy(kind.name, "pads", sizeof kind.name);
    kind.rank = (uint8_t)l.rank;
    kind.bytes = (uint8_t)kni_gpu_element_bytes(x);
    kind.mode = (uint8_t)a->mode;
    kind.padded = l.padded;
    choose_lanes(g, &l, x->offset, &kind);
    kn_status s = kni_gpu_operand(g, x, &blocks[0], &made);
    if (s == KN_OK) s = kni_gpu_allocate_promised(g, y);
    if (s == KN_OK) {
        blocks[1] = kni_gpu_block_of(y->storage);
        s = launch(g, &l, &kind, x->offset, bits, blocks);
    }
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    if (made) kni_gpu_give(made);
    return s;
}
