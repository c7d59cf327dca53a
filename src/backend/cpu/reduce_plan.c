/* Cuts a reduction into axes, units and blocks that the kernels can walk. */
#include "backend/cpu/reduce_plan.h"

/* Each type is an object of its own, which linkers can drop. */
#define TYPE(name, dtype)                                                                                    \
    static const kni_reduce_kernels *const tables_##name[] = KNI_TIER_TABLE(&kni_reduce_##name);             \
    static const kni_reduce_type type_##name = {tables_##name, dtype};
TYPE(f32, KN_F32)
TYPE(f64, KN_F64)
TYPE(i64, KN_I64)
TYPE(u64, KN_U64)
TYPE(u8, KN_U8)
static const kni_reduce_type type_bool = {tables_u8, KN_BOOL};

kni_reduce_type kni_reduce_type_of_truths(void) { return type_bool; }

kni_reduce_type kni_reduce_type_of_totals(int dtype)
{
    if (dtype == KN_F64) return type_f64;
    return KNI_FLOATS >> dtype & 1 ? type_f32 : type_i64;
}

kni_reduce_type kni_reduce_type_of_extremes(int dtype)
{
    if (dtype == KN_U64) return type_u64;
    if (dtype == KN_U8) return type_u8;
    return kni_is_bool(dtype) ? type_bool : kni_reduce_type_of_totals(dtype);
}

static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

/* Axes of one kind, widest stride first, with neighbours merged; axes of size 1 fall away. */
static int gather_axes(const kni_tensor *x, uint32_t chosen, const int64_t *y_strides,
                       kni_reduce_axis_walk *out)
{
    int n = 0;
    for (int a = 0; a < x->type.rank; a++) {
        if (!(chosen >> a & 1) || x->type.dims[a] == 1) continue;
        kni_reduce_axis_walk w = {x->type.dims[a], x->strides[a], y_strides[a]};
        int at = n++;
        for (; at > 0 && magnitude(out[at - 1].x) < magnitude(w.x); at--) out[at] = out[at - 1];
        out[at] = w;
    }
    int merged = 0;
    for (int i = 1; i < n; i++) {
        kni_reduce_axis_walk *last = &out[merged], w = out[i];
        if (last->x == w.n * w.x && last->y == w.n * w.y)
            *last = (kni_reduce_axis_walk){last->n * w.n, w.x, w.y};
        else
            out[++merged] = w;
    }
    return n ? merged + 1 : 0;
}

/* Strides of the result along the axes of x; 0 along reduced ones. */
static void result_strides(const kni_tensor *x, uint32_t mask, int64_t *strides)
{
    int64_t step = 1;
    for (int a = x->type.rank - 1; a >= 0; a--) {
        strides[a] = mask >> a & 1 ? 0 : step;
        if (!(mask >> a & 1)) step *= x->type.dims[a];
    }
}

void kni_reduce_plan_axes(kni_reduce_plan *p, const kni_tensor *x, uint32_t mask)
{
    static const kni_reduce_axis_walk one = {1, 1, 1};
    int64_t y_strides[KN_MAX_RANK];
    result_strides(x, mask, y_strides);
    p->n_kept = gather_axes(x, ~mask, y_strides, p->kept);
    p->n_lines = gather_axes(x, mask, y_strides, p->lines);
    const kni_reduce_axis_walk *kept = p->n_kept ? &p->kept[p->n_kept - 1] : NULL;
    p->segment = p->n_lines ? p->lines[--p->n_lines] : one;
    p->inner_reduced = !kept || (p->segment.n > 1 && magnitude(p->segment.x) <= magnitude(kept->x));
    p->inner = p->inner_reduced ? p->segment : p->kept[--p->n_kept];
    p->direct = p->x_dtype == p->strip_dtype && (p->inner.x == 1 || p->inner.n == 1);
    if (p->inner.x != 1) p->widen = NULL;
    p->block = p->inner_reduced ? KNI_FOLD_BLOCK : p->direct ? KNI_FOLD_ROWS : 16;
    p->line_blocks = (p->segment.n + p->block - 1) / p->block;
    p->blocks = p->line_blocks;
    for (int i = 0; i < p->n_lines; i++) p->blocks *= p->lines[i].n;
    p->strips = p->inner_reduced ? 1 : (p->inner.n + KNI_FOLD_COLUMNS - 1) / KNI_FOLD_COLUMNS;
    p->units = p->strips;
    for (int i = 0; i < p->n_kept; i++) p->units *= p->kept[i].n;
}
