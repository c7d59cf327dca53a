/* Rows of a table that indices name: taking them (embedding), and adding to them or updating them (its gradient,
   select_assign, scatter, scatter_nd, bincount) with the same bits from run to run, without atomics but for counting.
   The indices are sorted with their places, so that the rows of one index lie side by side in the order they came in;
   each run of them is summed in pieces of 64, and the pieces of long runs are joined at the end. Other updates follow
   each other. */
#include "backend/gpu/gpu_text.h"
#include "backend/gpu/product.h"
#include "core/strided_copy.h"
#include "ops/embedding.h"
#include "ops/indexing_rows.h"
#include "ops/sorting_attributes.h"
#include <string.h>

enum { BUFFERS = 4 };
/* As the texts have them: keys that one workgroup sorts, and what it sums. */
enum { BLOCK = 512, PIECE = 64 };

typedef struct kernel {
    const char *name;
    uint8_t n_buffers, n_numbers, storage[BUFFERS];
} kernel;

typedef struct run {
    kni_gpu *gpu;
    const kn_record *record;
    kni_tensor *values, *at;
    int64_t n, rows, size, padding, negative, bits;
    int64_t axis, each, inner, own; /* how places become rows: see the text */
    bool starts;                    /* with what the table holds */
    bool folds;                     /* by `update`, one after the other */
    int64_t update;
    uint8_t at_dtype; /* of the indices */
    kni_gpu_block *v, *indices, *keys[2], *parts, *y;
    kni_gpu_block *made[2];                   /* of the operands: to be given back */
    int64_t v_offset, at_offset, step, pitch; /* from index to index, from row to row of the values */
    int cell;
} run;

static kni_gpu_call call_of(const run *a, const kernel *how)
{
    kni_gpu_call call = {.kernel = how->name,
                         .element = kni_compute_dtype[kni_compute_of[kni_out(a->record, 0)->type.dtype]],
                         .n_buffers = how->n_buffers,
                         .n_numbers = how->n_numbers};
    memcpy(call.storage, how->storage, BUFFERS);
    return call;
}

/* groups: of a kernel of workgroups; else items. */
static kn_status launch(run *a, const kernel *how, int64_t groups, kni_gpu_block *const *blocks,
                        const int64_t *offsets, const int64_t *numbers)
{
    kni_gpu_call call = call_of(a, how);
    call.size = groups;
    memcpy(call.blocks, blocks, how->n_buffers * sizeof *blocks);
    if (offsets) memcpy(call.offsets, offsets, how->n_buffers * sizeof *offsets);
    memcpy(call.numbers, numbers, how->n_numbers * sizeof *numbers);
    return kni_gpu_launch_text(a->gpu, &kni_gpu_rows_text, a->record, &a->cell, &call);
}

/* Leaves the sorted keys in keys[0]. */
static kn_status sort(run *a)
{
    const kernel start = {"sort_keys", 2, 10, {a->at_dtype, KN_I64}};
    const kernel merge = {"merge_keys", 2, 2, {KN_I64, KN_I64}};
    const int64_t numbers[] = {a->n,    a->rows, a->bits,  a->padding, a->negative,
                               a->axis, a->each, a->inner, a->own,     a->step};
    const int64_t offsets[] = {a->at_offset, 0};
    kn_status s = launch(a, &start, (a->n + BLOCK - 1) / BLOCK, (kni_gpu_block *[]){a->indices, a->keys[0]},
                         offsets, numbers);
    for (int64_t length = BLOCK; length < a->n && s == KN_OK; length *= 2) {
        kni_gpu_block *from = a->keys[0], *to = a->keys[1];
        s = launch(a, &merge, a->n, (kni_gpu_block *[]){from, to}, NULL, (const int64_t[]){a->n, length});
        a->keys[0] = to;
        a->keys[1] = from;
    }
    return s;
}

enum { WRITERS = 2 };

/* The kernels that write the table, one after the other; how many. */
static int writers(const run *a, kernel *list)
{
    uint8_t dtype = kni_out(a->record, 0)->type.dtype;
    uint8_t wide = (uint8_t)kni_compute_dtype[kni_compute_of[dtype]];
    list[0] = (kernel){"sum_pieces", 4, 6, {a->values->type.dtype, KN_I64, dtype, wide}};
    list[1] = (kernel){"join_pieces", 3, 4, {KN_I64, wide, dtype}};
    if (a->folds) list[0] = (kernel){"fold_runs", 3, 5, {dtype, KN_I64, dtype}};
    return a->folds || a->n <= PIECE ? 1 : 2;
}

static kn_status sum(run *a, const kernel *list, int n_kernels)
{
    const int64_t numbers[] = {a->n, a->rows, a->bits, a->size, a->starts, a->pitch};
    const int64_t offsets[] = {a->v_offset, 0, 0, 0};
    kn_status s = launch(a, &list[0], a->n * a->size, (kni_gpu_block *[]){a->v, a->keys[0], a->y, a->parts},
                         offsets, numbers);
    if (s || n_kernels < 2) return s;
    s = launch(a, &list[1], (a->n - 1) / PIECE * a->size, (kni_gpu_block *[]){a->keys[0], a->parts, a->y},
               NULL, numbers);
    /* The table is not what it was: the record must not be run again with more memory. */
    if (s == KN_ERROR_MEMORY && a->starts)
        s = kni_fail(KN_ERROR_INTERNAL, "memory ended on %s while rows were added", a->gpu->driver->name);
    return s;
}

static kn_status fold(run *a, const kernel *runs)
{
    return launch(a, runs, a->n * a->size, (kni_gpu_block *[]){a->v, a->keys[0], a->y},
                  (const int64_t[]){a->v_offset, 0, 0},
                  (const int64_t[]){a->n, a->rows, a->bits, a->size, a->update});
}

static kn_status operand(run *a, kni_tensor *x, int i, kni_gpu_block **block, int64_t *offset)
{
    return kni_gpu_dense(a->gpu, x, block, offset, &a->made[i]);
}

/* Rows of `size` elements side by side: where they begin, and how far apart; a copy where they are not evenly so. */
static kn_status spaced(run *a, kni_tensor *x, int i, int64_t size, kni_gpu_block **block, int64_t *offset,
                        int64_t *pitch)
{
    int64_t dims[KN_MAX_RANK], strides[1][KN_MAX_RANK];
    const int rank = x->type.rank;
    *pitch = size;
    if (rank && x->storage) {
        memcpy(dims, x->type.dims, (size_t)rank * sizeof *dims);
        memcpy(strides[0], x->strides, (size_t)rank * sizeof *dims);
        const int merged = kni_collapse(rank, dims, 1, strides);
        const bool rows = size == 1 ? merged == 1 : merged == 2 && dims[1] == size && strides[0][1] == 1;
        if (rows && strides[0][0] > 0) {
            *pitch = strides[0][0];
            *offset = x->offset;
            return kni_gpu_operand(a->gpu, x, block, &a->made[i]);
        }
    }
    return operand(a, x, i, block, offset);
}

static kn_status take_memory(run *a)
{
    size_t bytes = (size_t)a->n * sizeof(int64_t);
    int64_t pieces = (a->n + PIECE - 1) / PIECE * 2;
    int64_t part_bytes = kn_dtype_bytes(KN_F64, pieces * a->size);
    kn_status s = a->folds ? operand(a, a->values, 0, &a->v, &a->v_offset)
                           : spaced(a, a->values, 0, a->size, &a->v, &a->v_offset, &a->pitch);
    if (!a->step) a->step = 1;
    if (s == KN_OK && !a->indices) s = spaced(a, a->at, 1, 1, &a->indices, &a->at_offset, &a->step);
    for (int i = 0; i < 2 && s == KN_OK; i++) {
        a->keys[i] = kni_gpu_take(a->gpu, bytes);
        if (!a->keys[i]) s = kni_latest_code();
    }
    if (s || a->folds) return s;
    a->parts = kni_gpu_take(a->gpu, (size_t)part_bytes);
    return a->parts ? KN_OK : kni_latest_code();
}

static void give_memory(run *a)
{
    kni_gpu_block *all[] = {a->keys[0], a->keys[1], a->parts, a->made[0], a->made[1]};
    for (int i = 0; i < KNI_COUNT(all); i++)
        if (all[i]) kni_gpu_give(all[i]);
}

/* Whether sizes, keys and the device are such that the kernels can do it. */
static bool fits(run *a)
{
    const kni_ir_caps *caps = &a->gpu->driver->caps;
    int64_t elements;
    if (!a->each) a->each = a->n;
    if (!a->at_dtype) a->at_dtype = a->at->type.dtype;
    while (INT64_C(1) << a->bits < a->n) a->bits++;
    if (a->n < 1 || a->size < 1 || a->n > INT32_MAX || a->rows >= INT64_MAX >> a->bits >> 1) return false;
    if (__builtin_mul_overflow(a->n / PIECE * 2 + 2, a->size, &elements) || elements > INT64_MAX / 8)
        return false;
    return (caps->max_workgroup == 0 || caps->max_workgroup >= BLOCK) &&
           caps->shared_bytes >= BLOCK * sizeof(int64_t) &&
           (a->folds || kni_is_float(kni_out(a->record, 0)->type.dtype));
}

/* The result with the table in it. */
static kn_status take_table(run *a)
{
    const kn_record *r = a->record;
    kni_tensor *y = kni_out(r, 0);
    kn_status s = kni_gpu_take_over(a->gpu, r);
    if (s == KN_OK) a->y = kni_gpu_block_of(y->storage);
    return s;
}

/* y holds what the rows are added to; NULL: it is the table, whose memory it may take over. Whoever runs the record again
   where memory was short must find the table as it was: all that can be missing is had before it is written. */
static kn_status add_rows(run *a)
{
    kernel list[WRITERS];
    int n = writers(a, list);
    kn_status s = take_memory(a);
    if (s == KN_OK) s = sort(a);
    for (int i = 0; i < n && s == KN_OK; i++) {
        kni_gpu_call call = call_of(a, &list[i]);
        s = kni_gpu_find_text(a->gpu, &kni_gpu_rows_text, &call);
    }
    if (s == KN_OK && !a->y) s = take_table(a);
    if (s == KN_OK) s = a->folds ? fold(a, list) : sum(a, list, n);
    if (s == KN_OK) kni_gpu_finish(a->gpu, a->record, a->cell);
    give_memory(a);
    return s;
}

static kn_status add_to_zeros(run *a)
{
    kni_tensor *y = kni_out(a->record, 0);
    kni_driver *d = a->gpu->driver;
    if (!fits(a)) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_gpu_allocate(a->gpu, y);
    if (s) return s;
    a->y = kni_gpu_block_of(y->storage);
    size_t bytes = (size_t)kni_count(&y->type) * kni_gpu_element_bytes(y);
    s = kni_gpu_checked(a->gpu, d->fill_zero(d, a->y->memory, 0, bytes));
    return s ? s : add_rows(a);
}

kn_status kni_gpu_run_embedding_grad(kni_gpu *g, const kn_record *r)
{
    const kni_embedding_grad_attributes *at = r->attributes;
    kni_tensor *y = kni_out(r, 0);
    run a = {.gpu = g,
             .record = r,
             .values = kni_in(r, 0),
             .at = kni_in(r, 1),
             .n = kni_count(&kni_in(r, 1)->type),
             .rows = at->rows,
             .size = y->type.dims[1],
             .padding = at->padding,
             .axis = at->rows,
             .inner = 1,
             .own = 1,
             .cell = -1};
    return add_to_zeros(&a);
}

/* Floats are added in pieces; other updates come one after the other. */
static bool fits_update(run *a)
{
    int dtype = kni_out(a->record, 0)->type.dtype;
    a->folds = a->update != KN_UPDATE_ADD || !kni_is_float(dtype);
    a->starts = true;
    return a->values->type.dtype == dtype && fits(a);
}

/* own: each value has an index, as in scatter; else each row of them. */
static kn_status add_by_index(kni_gpu *g, const kn_record *r, bool own)
{
    const kni_update_attributes *at = r->attributes;
    kni_tensor *y = kni_out(r, 0);
    kni_axis_view view = kni_view_axis(&y->type, at->axis);
    int64_t indices = kni_count(&kni_in(r, 1)->type);
    if (view.outer < 1) return KN_ERROR_UNSUPPORTED;
    run a = {.gpu = g,
             .record = r,
             .values = kni_in(r, 2),
             .at = kni_in(r, 1),
             .n = own ? indices : view.outer * indices,
             .rows = own ? kni_count(&y->type) : view.outer * view.axis,
             .size = own ? 1 : view.inner,
             .padding = -1,
             .negative = at->negative,
             .axis = view.axis,
             .each = own ? indices / view.outer : indices,
             .inner = own ? view.inner : 1,
             .own = own,
             .update = at->update,
             .cell = -1};
    return fits_update(&a) ? add_rows(&a) : KN_ERROR_UNSUPPORTED;
}

kn_status kni_gpu_run_select_assign(kni_gpu *g, const kn_record *r) { return add_by_index(g, r, false); }
kn_status kni_gpu_run_scatter(kni_gpu *g, const kn_record *r) { return add_by_index(g, r, true); }

/* Tuples of indices become indices of rows first. */
static kn_status flatten(run *a, int64_t depth)
{
    const kni_type *x = &kni_in(a->record, 0)->type;
    kni_gpu_block *given = NULL, *made = NULL;
    int64_t numbers[2 + KN_MAX_RANK] = {depth, a->rows}, offsets[2] = {0, 0};
    const kernel tuples = {"flatten_tuples", 2, 2 + KN_MAX_RANK, {a->at->type.dtype, KN_I64}};
    for (int64_t i = 0; i < depth; i++) numbers[2 + i] = x->dims[i];
    kn_status s = kni_gpu_dense(a->gpu, a->at, &given, &offsets[0], &made);
    if (s == KN_OK) {
        a->made[1] = a->indices = kni_gpu_take(a->gpu, (size_t)a->n * sizeof(int64_t));
        s = a->indices ? launch(a, &tuples, a->n, (kni_gpu_block *[]){given, a->indices}, offsets, numbers)
                       : kni_latest_code();
    }
    if (made) kni_gpu_give(made);
    return s;
}

kn_status kni_gpu_run_scatter_nd(kni_gpu *g, const kn_record *r)
{
    const kni_update_attributes *how = r->attributes;
    kni_tensor *x = kni_in(r, 0), *at = kni_in(r, 1);
    int64_t depth = at->type.dims[at->type.rank - 1];
    if (depth < 1 || kni_count(&x->type) < 1) return KN_ERROR_UNSUPPORTED;
    run a = {.gpu = g,
             .record = r,
             .values = kni_in(r, 2),
             .at = at,
             .n = kni_count(&at->type) / depth,
             .rows = 1,
             .size = 1,
             .inner = 1,
             .own = 1,
             .at_dtype = KN_I64,
             .update = how->update,
             .cell = -1};
    for (int i = 0; i < x->type.rank; i++) *(i < depth ? &a.rows : &a.size) *= x->type.dims[i];
    /* The row behind the last is that of tuples which name none. */
    a.padding = a.rows;
    a.axis = a.rows + 1;
    if (!fits_update(&a)) return KN_ERROR_UNSUPPORTED;
    kn_status s = flatten(&a, depth);
    if (s == KN_OK) return add_rows(&a);
    give_memory(&a);
    return s;
}

/* In 32 bits first, since not every device counts in 64 at once. */
static kn_status count(run *a)
{
    kni_tensor *y = kni_out(a->record, 0);
    kni_driver *d = a->gpu->driver;
    const kernel hits = {"count_rows", 2, 1, {a->at->type.dtype, KN_I32}};
    const kernel widen = {"widen_counts", 2, 0, {KN_I32, KN_I64}};
    size_t bytes = (size_t)a->rows * sizeof(int32_t);
    kn_status s = kni_gpu_allocate(a->gpu, y);
    if (s == KN_OK) s = operand(a, a->at, 1, &a->indices, &a->at_offset);
    if (s == KN_OK) {
        a->parts = kni_gpu_take(a->gpu, bytes);
        s = a->parts ? kni_gpu_checked(a->gpu, d->fill_zero(d, a->parts->memory, 0, bytes))
                     : kni_latest_code();
    }
    if (s == KN_OK)
        s = launch(a, &hits, a->n, (kni_gpu_block *[]){a->indices, a->parts},
                   (const int64_t[]){a->at_offset, 0}, &a->rows);
    if (s == KN_OK)
        s = launch(a, &widen, a->rows, (kni_gpu_block *[]){a->parts, kni_gpu_block_of(y->storage)}, NULL,
                   &a->rows);
    if (s == KN_OK) kni_gpu_finish(a->gpu, a->record, a->cell);
    give_memory(a);
    return s;
}

/* Weights are added up like rows of a table; whole numbers may be counted in any order. */
kn_status kni_gpu_run_bincount(kni_gpu *g, const kn_record *r)
{
    const kni_bincount_attributes *how = r->attributes;
    run a = {.gpu = g,
             .record = r,
             .values = kni_in(r, 1) ? kni_in(r, 1) : kni_in(r, 0),
             .at = kni_in(r, 0),
             .n = kni_count(&kni_in(r, 0)->type),
             .rows = how->length,
             .size = 1,
             .padding = -1,
             .axis = how->length,
             .inner = 1,
             .own = 1,
             .cell = -1};
    if (kni_in(r, 1)) return add_to_zeros(&a);
    return a.n < 1 || a.n > INT32_MAX || how->length > INT32_MAX || !g->driver->caps.atomics
               ? KN_ERROR_UNSUPPORTED
               : count(&a);
}

kn_status kni_gpu_run_embedding(kni_gpu *g, const kn_record *r)
{
    enum { SHORTEST = 32 }; /* a row that keeps enough of a workgroup busy */
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    uint8_t dtype = x->type.dtype;
    run a = {.gpu = g,
             .record = r,
             .values = x,
             .at = kni_in(r, 1),
             .n = kni_count(&kni_in(r, 1)->type),
             .rows = x->type.dims[0],
             .size = x->type.dims[1],
             .cell = -1};
    const kernel take = {"take_rows", 3, 3, {dtype, a.at->type.dtype, dtype}};
    if (a.size < SHORTEST || !fits(&a)) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_gpu_allocate(g, y);
    if (s == KN_OK) s = operand(&a, a.values, 0, &a.v, &a.v_offset);
    if (s == KN_OK) s = spaced(&a, a.at, 1, 1, &a.indices, &a.at_offset, &a.step);
    if (s == KN_OK)
        s = launch(&a, &take, a.n, (kni_gpu_block *[]){a.v, a.indices, kni_gpu_block_of(y->storage)},
                   (const int64_t[]){a.v_offset, a.at_offset, 0}, (const int64_t[]){a.rows, a.size, a.step});
    if (s == KN_OK) kni_gpu_finish(g, r, a.cell);
    give_memory(&a);
    return s;
}
