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

static kn_status start(kni_gpu *g, operand *o, kni_tensor *x, bool left, int batch_rank)
{
    int rank = x->type.rank, own = rank > 2 ? rank - 2 : 0;
    o->matrix.offset = x->storage ? x->offset : 0;
    o->matrix.row = rank > 1 ? x->strides[rank - 2] : left ? 0 : x->strides[0];
    o->matrix.column = rank > 1 ? x->strides[rank - 1] : left ? x->strides[0] : 0;
    for (int i = 0; i < batch_rank; i++) {
        int from = i - (batch_rank - own);
        o->steps[i] = from < 0 || x->type.dims[from] == 1 ? 0 : x->strides[from];
    }
    return kni_gpu_operand(g, x, &o->matrix.block, &o->made);
}

/* One b for all of a batch whose rows follow each other: the rows of the batch are the rows of one product. */
static int merge_rows(kni_gpu_product *p, int rank, const int64_t *dims, int64_t strides[3][KN_MAX_RANK])
{
    if (rank != 1 || strides[1][0] != 0 || strides[2][0] != p->m * p->y.row) return rank;
    if (p->m != 1 && strides[0][0] != p->m * p->a.row) return rank;
    if (p->m == 1) {
        p->a.row = strides[0][0];
        p->y.row = strides[2][0];
    }
    p->m *= dims[0];
    return 0;
}

/* The last batch axis is the product's own; those before it are gone through here. */
static kn_status through_batch(kni_gpu *g, kni_gpu_product *p, int rank, const int64_t *dims,
                               int64_t strides[3][KN_MAX_RANK])
{
    int last = rank - 1;
    int64_t outer = 1, counter[KN_MAX_RANK] = {0};
    if (rank) {
        p->batch = dims[last];
        p->a.step = strides[0][last];
        p->b.step = strides[1][last];
        p->y.step = strides[2][last];
    }
    for (int i = 0; i < last; i++) outer *= dims[i];
    if (outer > 1 && p->way.tail) return KN_ERROR_UNSUPPORTED; /* elements would not be numbered from 0 on */
    kn_status s = KN_OK;
    for (int64_t turn = 0; turn < outer && s == KN_OK; turn++) {
        kni_gpu_product now = *p;
        for (int i = 0; i < last; i++) {
            now.a.offset += counter[i] * strides[0][i];
            now.b.offset += counter[i] * strides[1][i];
            now.y.offset += counter[i] * strides[2][i];
        }
        s = kni_gpu_multiply(g, &now);
        for (int i = last - 1; i >= 0 && ++counter[i] == dims[i]; i--) counter[i] = 0;
    }
    return s;
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

kn_status kni_gpu_run_matmul(kni_gpu *g, const kn_record *r, const kni_gpu_way *way)
{
    kni_tensor *a = kni_in(r, 0), *b = kni_in(r, 1), *y = kni_out(r, 0);
    int rank_a = a->type.rank > 2 ? a->type.rank - 2 : 0, rank_b = b->type.rank > 2 ? b->type.rank - 2 : 0;
    int rank = rank_a > rank_b ? rank_a : rank_b;
    operand left = {.made = NULL}, right = {.made = NULL};
    int64_t dims[KN_MAX_RANK], strides[3][KN_MAX_RANK], step;
    kn_status s = start(g, &left, a, true, rank);
    if (s == KN_OK) s = start(g, &right, b, false, rank);
    if (s == KN_OK && !way->tail) s = kni_gpu_allocate(g, y);
    if (s == KN_OK) {
        kni_gpu_product p = {.dtype = a->type.dtype,
                             .m = a->type.rank > 1 ? a->type.dims[a->type.rank - 2] : 1,
                             .n = b->type.rank > 1 ? b->type.dims[b->type.rank - 1] : 1,
                             .k = a->type.dims[a->type.rank - 1],
                             .batch = 1,
                             .a = left.matrix,
                             .b = right.matrix,
                             .y = {.block = way->tail ? NULL : kni_gpu_block_of(y->storage)},
                             .way = *way};
        p.y.row = p.n;
        step = p.m * p.n;
        for (int i = rank - 1; i >= 0; i--) {
            dims[i] = y->type.dims[i];
            strides[0][i] = left.steps[i];
            strides[1][i] = right.steps[i];
            strides[2][i] = step;
            step *= dims[i];
        }
        if (rank) rank = kni_collapse(rank, dims, 3, strides);
        rank = merge_rows(&p, rank, dims, strides);
        s = through_batch(g, &p, rank, dims, strides);
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
