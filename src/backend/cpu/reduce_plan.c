/* Cuts a reduction into axes, units and blocks that the kernels can walk. */
#include "backend/cpu/reduce_plan.h"

static const kni_reduce_kernels *const tables_f32[] = KNI_TIER_TABLE(&kni_reduce_f32);

#ifdef KN_FREESTANDING
/* Small machines have natives for f32 alone; the reference kernels do the rest. */
const kni_reduce_type kni_reduce_truth = {NULL, KN_BOOL};

kni_reduce_type kni_reduce_type_of(int dtype, kni_fold fold)
{
    (void)fold;
    return (kni_reduce_type){dtype == KN_F32 ? tables_f32 : NULL, dtype};
}
#else
static const kni_reduce_kernels *const tables_f64[] = KNI_TIER_TABLE(&kni_reduce_f64);
static const kni_reduce_kernels *const tables_i64[] = KNI_TIER_TABLE(&kni_reduce_i64);
static const kni_reduce_kernels *const tables_u64[] = KNI_TIER_TABLE(&kni_reduce_u64);
static const kni_reduce_kernels *const tables_u8[] = KNI_TIER_TABLE(&kni_reduce_u8);

const kni_reduce_type kni_reduce_truth = {tables_u8, KN_BOOL};

kni_reduce_type kni_reduce_type_of(int dtype, kni_fold fold)
{
    if (dtype == KN_F64) return (kni_reduce_type){tables_f64, KN_F64};
    if (KNI_FLOATS >> dtype & 1) return (kni_reduce_type){tables_f32, KN_F32};
    if (fold == KNI_FOLD_SUM || fold == KNI_FOLD_PROD) return (kni_reduce_type){tables_i64, KN_I64};
    if (dtype == KN_U64) return (kni_reduce_type){tables_u64, KN_U64};
    if (dtype == KN_U8 || dtype == KN_BOOL) return (kni_reduce_type){tables_u8, dtype};
    return (kni_reduce_type){tables_i64, KN_I64};
}
#endif

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
