/* The rows matmul and linear as products of matrices in place: batch axes are merged where the layouts allow it,
   transposed and broadcast operands are read by their strides. */
#include "backend/gpu/product.h"
#include "core/strided_copy.h"
#include <string.h>

typedef struct operand {
    kni_gpu_matrix matrix;
    kni_gpu_block *made;
    int64_t steps[KN_MAX_RANK]; /* through the batch axes of the result */
} operand;

/* The matrices of x as its strides, or those of a copy of it, say. */
static void read_steps(operand *o, const kni_tensor *x, const int64_t *strides, bool left, int batch_rank)
{
    int rank = x->type.rank, own = rank > 2 ? rank - 2 : 0;
    o->matrix.row = rank > 1 ? strides[rank - 2] : left ? 0 : strides[0];
    o->matrix.column = rank > 1 ? strides[rank - 1] : left ? strides[0] : 0;
    for (int i = 0; i < batch_rank; i++) {
        int from = i - (batch_rank - own);
        o->steps[i] = from < 0 || x->type.dims[from] == 1 ? 0 : strides[from];
    }
}

static kn_status start(kni_gpu *g, operand *o, kni_tensor *x, bool left, int batch_rank)
{
    o->matrix.offset = x->storage ? x->offset : 0;
    read_steps(o, x, x->strides, left, batch_rank);
    return kni_gpu_operand(g, x, &o->matrix.block, &o->made);
}

/* The same over a copy in order, where x is not. */
static kn_status straighten(kni_gpu *g, operand *o, kni_tensor *x, bool left, int batch_rank)
{
    int64_t strides[KN_MAX_RANK];
    if (kni_gpu_contiguous(x) || o->made) return KN_OK;
    kn_status s = kni_gpu_gather(g, x, &o->made);
    if (s) return s;
    o->matrix.block = o->made;
    o->matrix.offset = 0;
    kni_contiguous_strides(x->type.rank, x->type.dims, strides);
    read_steps(o, x, strides, left, batch_rank);
    return KN_OK;
}

/* One b for the innermost axis of a batch whose rows follow each other: the rows of that axis are the rows of one product. */
static int merge_rows(kni_gpu_product *p, int rank, const int64_t *dims, int64_t strides[3][KN_MAX_RANK])
{
    const int last = rank - 1;
    if (rank < 1 || strides[1][last] != 0 || strides[2][last] != p->m * p->y.row) return rank;
    if (p->m != 1 && strides[0][last] != p->m * p->a.row) return rank;
    if (p->m == 1) {
        p->a.row = strides[0][last];
        p->y.row = strides[2][last];
    }
    p->m *= dims[last];
    return last;
}

/* The axes of a batch that two operands and the result go through, outermost first. */
typedef struct batch {
    int rank;
    int64_t dims[KN_MAX_RANK], strides[3][KN_MAX_RANK];
} batch;

/* All axes in one product, for the kernel that has them; false where they are too many. */
static bool take_outer(kni_gpu_product *p, const batch *t)
{
    const int last = t->rank - 1;
    if (last > KNI_GPU_OUTER) return false;
    p->n_outer = last > 0 ? last : 0;
    for (int i = 0; i < last; i++) {
        p->outer[i] = t->dims[i];
        p->a.outer[i] = t->strides[0][i];
        p->b.outer[i] = t->strides[1][i];
    }
    if (t->rank) {
        p->batch = t->dims[last];
        p->a.step = t->strides[0][last];
        p->b.step = t->strides[1][last];
        p->y.step = t->strides[2][last];
    }
    return true;
}

/* The longest axis becomes the product's own, so that a library is called least often. */
static void put_longest_last(batch *t)
{
    int longest = 0;
    for (int i = 1; i < t->rank; i++)
        if (t->dims[i] >= t->dims[longest]) longest = i;
    const int last = t->rank - 1;
    int64_t *const lists[] = {t->dims, t->strides[0], t->strides[1], t->strides[2]};
    for (int i = 0; i < KNI_COUNT(lists) && last > 0; i++) {
        const int64_t kept = lists[i][last];
        lists[i][last] = lists[i][longest];
        lists[i][longest] = kept;
    }
}

/* One axis is the product's own; the others are gone through here, a call for each of their places. */
static kn_status through_batch(kni_gpu *g, kni_gpu_product *p, batch *t)
{
    int64_t outer = 1, counter[KN_MAX_RANK] = {0};
    put_longest_last(t);
    const int last = t->rank - 1;
    for (int i = 0; i < last; i++) outer *= t->dims[i];
    if (outer > 1 && p->way.tail) return KN_ERROR_UNSUPPORTED; /* elements would not be numbered from 0 on */
    const batch own = {
        1, {t->dims[last]}, {{t->strides[0][last]}, {t->strides[1][last]}, {t->strides[2][last]}}};
    (void)take_outer(p, &own);
    kn_status s = KN_OK;
    for (int64_t turn = 0; turn < outer && s == KN_OK; turn++) {
        kni_gpu_product now = *p;
        for (int i = 0; i < last; i++) {
            now.a.offset += counter[i] * t->strides[0][i];
            now.b.offset += counter[i] * t->strides[1][i];
            now.y.offset += counter[i] * t->strides[2][i];
        }
        s = kni_gpu_multiply(g, &now);
        for (int i = last - 1; i >= 0 && ++counter[i] == t->dims[i]; i--) counter[i] = 0;
    }
    return s;
}

static bool prefers_ours(const kni_gpu *g, const kni_gpu_product *p, const batch *t)
{
    if (p->way.by != KNI_GPU_BY_ANY) return p->way.by == KNI_GPU_BY_KERNEL;
    return kni_gpu_prefers_kernel(g, p->dtype, p->m, p->n, p->k, kni_count_dims(t->rank, t->dims));
}

/* A product over all of a batch: in one call where its axes merge or the kernel of ours is the better one, which has axes enough. */
static kn_status multiply_batch(kni_gpu *g, kni_gpu_product *p, batch *t)
{
    if ((t->rank < 2 || prefers_ours(g, p, t)) && take_outer(p, t)) return kni_gpu_multiply(g, p);
    return through_batch(g, p, t);
}

/* Whether so many calls of a library cost more than copies of the operands, with which there would be one. */
static bool calls_cost_more(const kni_gpu *g, const kni_gpu_product *p, const batch *t, const kni_tensor *a,
                            const kni_tensor *b)
{
    const double bytes_of_a_call = 4 << 20; /* that a copy moves in the time of a small call */
    int64_t longest = 1;
    if (t->rank < 2 || prefers_ours(g, p, t)) return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] > longest) longest = t->dims[i];
    const double calls = (double)kni_count_dims(t->rank, t->dims) / (double)longest;
    double bytes = 0;
    if (!kni_gpu_contiguous(a)) bytes += (double)kni_count(&a->type) * (double)kni_gpu_element_bytes(a);
    if (!kni_gpu_contiguous(b)) bytes += (double)kni_count(&b->type) * (double)kni_gpu_element_bytes(b);
    return bytes > 0 && (calls - 1) * bytes_of_a_call > bytes;
}

kni_gpu_sizes kni_gpu_sizes_of_matmul(const kn_record *r)
{
    const kni_type *a = &kni_in(r, 0)->type, *b = &kni_in(r, 1)->type;
    int64_t all = kni_count(&kni_out(r, 0)->type);
    kni_gpu_sizes s = {.n = b->rank > 1 ? b->dims[b->rank - 1] : 1, .k = a->dims[a->rank - 1], .batch = 1};
    s.m = s.n ? all / s.n : 0;
    if (b->rank > 2 && a->rank > 1) {
        s.m = a->dims[a->rank - 2];
        s.batch = s.m && s.n ? all / (s.m * s.n) : 0;
    }
    return s;
}

/* The product of two operands and the batch around it. */
static void lay_out(const kn_record *r, const operand *left, const operand *right, const kni_gpu_way *way,
                    int rank, kni_gpu_product *p, batch *t)
{
    const kni_tensor *a = kni_in(r, 0), *b = kni_in(r, 1), *y = kni_out(r, 0);
    *p = (kni_gpu_product){.dtype = a->type.dtype,
                           .m = a->type.rank > 1 ? a->type.dims[a->type.rank - 2] : 1,
                           .n = b->type.rank > 1 ? b->type.dims[b->type.rank - 1] : 1,
                           .k = a->type.dims[a->type.rank - 1],
                           .batch = 1,
                           .a = left->matrix,
                           .b = right->matrix,
                           .y = {.block = way->tail ? NULL : kni_gpu_block_of(y->storage)},
                           .way = *way};
    p->y.row = p->n;
    int64_t step = p->m * p->n;
    for (int i = rank - 1; i >= 0; i--) {
        t->dims[i] = y->type.dims[i];
        t->strides[0][i] = left->steps[i];
        t->strides[1][i] = right->steps[i];
        t->strides[2][i] = step;
        step *= t->dims[i];
    }
    t->rank = rank ? kni_collapse(rank, t->dims, 3, t->strides) : 0;
    t->rank = merge_rows(p, t->rank, t->dims, t->strides);
}

kn_status kni_gpu_run_matmul(kni_gpu *g, const kn_record *r, const kni_gpu_way *way)
{
    kni_tensor *a = kni_in(r, 0), *b = kni_in(r, 1), *y = kni_out(r, 0);
    int rank_a = a->type.rank > 2 ? a->type.rank - 2 : 0, rank_b = b->type.rank > 2 ? b->type.rank - 2 : 0;
    int rank = rank_a > rank_b ? rank_a : rank_b;
    operand left = {.made = NULL}, right = {.made = NULL};
    kn_status s = start(g, &left, a, true, rank);
    if (s == KN_OK) s = start(g, &right, b, false, rank);
    if (s == KN_OK && !way->tail) s = kni_gpu_allocate(g, y);
    if (s == KN_OK) {
        kni_gpu_product p;
        batch t;
        lay_out(r, &left, &right, way, rank, &p, &t);
        if (calls_cost_more(g, &p, &t, a, b)) {
            s = straighten(g, &left, a, true, rank);
            if (s == KN_OK) s = straighten(g, &right, b, false, rank);
            lay_out(r, &left, &right, way, rank, &p, &t);
        }
        if (s == KN_OK) s = multiply_batch(g, &p, &t);
    }
    if (s == KN_OK && !way->tail) kni_gpu_finish(g, r, -1);
    if (left.made) kni_gpu_give(left.made);
    if (right.made) kni_gpu_give(right.made);
    return s;
}

/* The step between the rows of x when one step leads through all of them. */
static bool row_step(const kni_tensor *x, int64_t *step)
{
    int rank = x->type.rank - 1;
    int64_t dims[KN_MAX_RANK], strides[1][KN_MAX_RANK];
    *step = 0;
    if (rank == 0) return true;
    memcpy(dims, x->type.dims, sizeof dims);
    memcpy(strides[0], x->strides, sizeof strides[0]);
    if (kni_collapse(rank, dims, 1, strides) > 1) return false;
    *step = strides[0][0];
    return true;
}

kni_gpu_sizes kni_gpu_sizes_of_linear(const kn_record *r)
{
    const kni_type *x = &kni_in(r, 0)->type;
    int64_t n = kni_in(r, 1)->type.dims[0], all = kni_count(&kni_out(r, 0)->type);
    return (kni_gpu_sizes){.m = n ? all / n : 0, .n = n, .k = x->dims[x->rank - 1], .batch = 1};
}

kn_status kni_gpu_run_linear(kni_gpu *g, const kn_record *r, const kni_gpu_way *way)
{
    kni_tensor *x = kni_in(r, 0), *w = kni_in(r, 1), *bias = r->n_in > 2 ? kni_in(r, 2) : NULL;
    kni_tensor *y = kni_out(r, 0);
    int64_t n = w->type.dims[0], k = w->type.dims[1], step;
    kni_gpu_block *made[3] = {NULL, NULL, NULL};
    kni_gpu_product p = {.dtype = x->type.dtype,
                         .m = kni_count(&y->type) / n,
                         .n = n,
                         .k = k,
                         .batch = 1,
                         .a = {.offset = x->offset, .column = x->strides[x->type.rank - 1]},
                         .b = {.offset = w->offset, .row = w->strides[1], .column = w->strides[0]},
                         .y = {.row = n},
                         .way = *way};
    kn_status s;
    if (row_step(x, &step)) {
        p.a.row = step;
        s = kni_gpu_operand(g, x, &p.a.block, &made[0]);
    } else {
        s = kni_gpu_gather(g, x, &made[0]);
        p.a = (kni_gpu_matrix){.block = made[0], .row = k, .column = 1};
    }
    if (s == KN_OK) s = kni_gpu_operand(g, w, &p.b.block, &made[1]);
    if (s == KN_OK && bias) {
        p.bias.offset = bias->offset;
        p.bias.column = bias->strides[0];
        s = kni_gpu_operand(g, bias, &p.bias.block, &made[2]);
    }
    if (s == KN_OK && !way->tail) s = kni_gpu_allocate(g, y);
    if (s == KN_OK) {
        if (!way->tail) p.y.block = kni_gpu_block_of(y->storage);
        s = kni_gpu_multiply(g, &p);
    }
    if (s == KN_OK && !way->tail) kni_gpu_finish(g, r, -1);
    for (int i = 0; i < 3; i++)
        if (made[i]) kni_gpu_give(made[i]);
    return s;
}
