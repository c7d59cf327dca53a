/* Rows of a table that indices name: taking them (embedding), and adding to them (its gradient, select_assign, scatter) with
   the same bits from run to run, without atomics. The indices are sorted with their places, so that the rows of one index lie side by side in the
   order they came in; each run of them is summed in pieces of 64, and the pieces of long runs are joined at the end. */
#include "backend/gpu/gpu_text.h"
#include "backend/gpu/product.h"
#include "ops/embedding.h"
#include "ops/indexing_rows.h"
#include <string.h>

enum { BUFFERS = 4 };
/* As the texts have them: keys that one workgroup sorts, and what it sums. */
enum { BLOCK = 512, PIECE = 64 };

/* A key is the row above the place, in `bits` bits; the row of what is left out is `rows`. Place i is place i % each of block
   i / each of the table, `axis` rows times `inner`, and reads its own index or that of its place in the block. */
static const char text[] =
    "kernel sort_keys(workgroup 512, in index at[], out i64 keys[], index n, index rows, index bits,\n"
    "                 index padding, index negative, index axis, index each, index inner, index own)\n"
    "{\n"
    "    shared i64 block[512];\n"
    "    index i = group_id() * 512 + local_id(), rank = 0;\n"
    "    i64 mine = (rows + 1) << bits;\n"
    "    if (i < n) {\n"
    "        index given = at[own ? i : i % each];\n"
    "        index row = negative && given < 0 ? given + axis : given;\n"
    "        if (row < 0 || row >= axis) {\n"
    "            report(given);\n"
    "            row = rows;\n"
    "        } else if (row == padding) {\n"
    "            row = rows;\n"
    "        } else {\n"
    "            row = (i / each * axis + row) * inner + i % inner;\n"
    "        }\n"
    "        mine = (row << bits) + i;\n"
    "    }\n"
    "    block[local_id()] = mine;\n"
    "    barrier();\n"
    "    for (index k = 0; k < 512; k++) rank += block[k] < mine ? 1 : 0;\n"
    "    if (i < n) keys[group_id() * 512 + rank] = mine;\n"
    "}\n"
    "\n"
    "/* Two sorted runs become one: a key moves by as many as are smaller in the other. */\n"
    "kernel merge_keys(index item, in i64 from[], out i64 to[], index n, index run)\n"
    "{\n"
    "    i64 key = from[item];\n"
    "    index own = item / run * run;\n"
    "    index other = item / run % 2 == 0 ? own + run : own - run;\n"
    "    index first = other < n ? other : n;\n"
    "    index low = first, high = other + run < n ? other + run : n;\n"
    "    while (low < high) {\n"
    "        index middle = (low + high) / 2;\n"
    "        if (from[middle] < key) low = middle + 1;\n"
    "        else high = middle;\n"
    "    }\n"
    "    to[(own < other ? own : other) + item - own + low - first] = key;\n"
    "}\n"
    "\n"
    "/* One item for each column of each key; those whose key begins a run or a piece sum it. What is whole "
    "goes to the\n"
    "   table, what a run's pieces add up to waits in parts: [2 b] where the run begins in piece b, [2 b + "
    "1] where it\n"
    "   goes on in it. */\n"
    "kernel sum_pieces(index item, in T v[], in i64 keys[], inout T y[], out T parts[], index n, index "
    "rows,\n"
    "                  index bits, index size, index starts)\n"
    "{\n"
    "    index i = item / size, one = 1;\n"
    "    index c = item - i * size, piece = i / 64, row = keys[i] >> bits, mask = (one << bits) - 1;\n"
    "    index head = 1, whole = 1;\n"
    "    if (i > 0 && keys[i - 1] >> bits == row) head = 0;\n"
    "    if (row < rows && (head || i % 64 == 0)) {\n"
    "        index limit = (piece + 1) * 64 < n ? (piece + 1) * 64 : n;\n"
    "        index end = i + 1, k = i;\n"
    "        while (end < limit && keys[end] >> bits == row) end++;\n"
    "        if (end < n && keys[end] >> bits == row) whole = 0;\n"
    "        T total = 0;\n"
    "        if (starts && head) total = y[row * size + c];\n"
    "        for (; k + 4 <= end; k += 4) {\n"
    "            T a = v[(keys[k] & mask) * size + c], b = v[(keys[k + 1] & mask) * size + c];\n"
    "            T d = v[(keys[k + 2] & mask) * size + c], e = v[(keys[k + 3] & mask) * size + c];\n"
    "            total = total + a + b + d + e;\n"
    "        }\n"
    "        for (; k < end; k++) total += v[(keys[k] & mask) * size + c];\n"
    "        if (head && whole) y[row * size + c] = total;\n"
    "        else parts[(2 * piece + 1 - head) * size + c] = total;\n"
    "    }\n"
    "}\n"
    "\n"
    "/* One item for each column of each boundary of pieces; those that a run crosses first add up its "
    "pieces. */\n"
    "kernel join_pieces(index item, in i64 keys[], in T parts[], out T y[], index n, index rows, index "
    "bits,\n"
    "                   index size)\n"
    "{\n"
    "    index boundary = item / size;\n"
    "    index c = item - boundary * size, piece = boundary + 1;\n"
    "    index at = piece * 64;\n"
    "    index row = keys[at] >> bits, crosses = 0;\n"
    "    if (row < rows && keys[at - 1] >> bits == row) crosses = 1;\n"
    "    if (at > 64 && keys[at - 65] >> bits == row) crosses = 0;\n"
    "    if (crosses) {\n"
    "        T total = parts[(2 * piece - 2) * size + c];\n"
    "        for (index k = piece; k * 64 < n && keys[k * 64] >> bits == row; k++)\n"
    "            total += parts[(2 * k + 1) * size + c];\n"
    "        y[row * size + c] = total;\n"
    "    }\n"
    "}\n"
    "\n"
    "kernel take_rows(workgroup 128, in T x[], in index at[], out T y[], index rows, index size)\n"
    "{\n"
    "    index row = at[group_id()];\n"
    "    if (row < 0 || row >= rows) {\n"
    "        report(row);\n"
    "    } else {\n"
    "        for (index c = local_id(); c < size; c += 128)\n"
    "            y[group_id() * size + c] = x[row * size + c];\n"
    "    }\n"
    "}\n";

static const kni_gpu_text rows_text = {"rows_add", text, sizeof text - 1};

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
    kni_gpu_block *v, *indices, *keys[2], *parts, *y;
    kni_gpu_block *made[2]; /* of the operands: to be given back */
    int64_t v_offset, at_offset;
    int cell;
} run;

/* groups: of a kernel of workgroups; else items. */
static kn_status launch(run *a, const kernel *how, int64_t groups, kni_gpu_block *const *blocks,
                        const int64_t *offsets, const int64_t *numbers)
{
    kni_gpu_call call = {.kernel = how->name,
                         .element = kni_compute_dtype[kni_compute_of[a->values->type.dtype]],
                         .n_buffers = how->n_buffers,
                         .n_numbers = how->n_numbers,
                         .size = groups};
    memcpy(call.storage, how->storage, BUFFERS);
    memcpy(call.blocks, blocks, how->n_buffers * sizeof *blocks);
    if (offsets) memcpy(call.offsets, offsets, how->n_buffers * sizeof *offsets);
    memcpy(call.numbers, numbers, how->n_numbers * sizeof *numbers);
    return kni_gpu_launch_text(a->gpu, &rows_text, a->record, &a->cell, &call);
}

/* Leaves the sorted keys in keys[0]. */
static kn_status sort(run *a)
{
    const kernel start = {"sort_keys", 2, 9, {a->at->type.dtype, KN_I64}};
    const kernel merge = {"merge_keys", 2, 2, {KN_I64, KN_I64}};
    const int64_t numbers[] = {a->n,    a->rows, a->bits,  a->padding, a->negative,
                               a->axis, a->each, a->inner, a->own};
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

static kn_status sum(run *a)
{
    uint8_t dtype = a->values->type.dtype, wide = (uint8_t)kni_compute_dtype[kni_compute_of[dtype]];
    const kernel pieces = {"sum_pieces", 4, 5, {dtype, KN_I64, dtype, wide}};
    const kernel join = {"join_pieces", 3, 4, {KN_I64, wide, dtype}};
    const int64_t numbers[] = {a->n, a->rows, a->bits, a->size, a->starts};
    const int64_t offsets[] = {a->v_offset, 0, 0, 0};
    kn_status s = launch(a, &pieces, a->n * a->size, (kni_gpu_block *[]){a->v, a->keys[0], a->y, a->parts},
                         offsets, numbers);
    if (s || a->n <= PIECE) return s;
    return launch(a, &join, (a->n - 1) / PIECE * a->size, (kni_gpu_block *[]){a->keys[0], a->parts, a->y},
                  NULL, numbers);
}

static kn_status operand(run *a, kni_tensor *x, int i, kni_gpu_block **block, int64_t *offset)
{
    return kni_gpu_dense(a->gpu, x, block, offset, &a->made[i]);
}

static kn_status take_memory(run *a)
{
    size_t bytes = (size_t)a->n * sizeof(int64_t);
    int64_t pieces = (a->n + PIECE - 1) / PIECE * 2;
    int64_t part_bytes = kn_dtype_bytes(KN_F64, pieces * a->size);
    kn_status s = operand(a, a->values, 0, &a->v, &a->v_offset);
    if (s == KN_OK) s = operand(a, a->at, 1, &a->indices, &a->at_offset);
    for (int i = 0; i < 2 && s == KN_OK; i++) {
        a->keys[i] = kni_gpu_take(a->gpu, bytes);
        if (!a->keys[i]) s = kni_latest_code();
    }
    if (s) return s;
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
    while (INT64_C(1) << a->bits < a->n) a->bits++;
    if (a->n < 1 || a->size < 1 || a->n > INT32_MAX || a->rows >= INT64_MAX >> a->bits >> 1) return false;
    if (__builtin_mul_overflow(a->n / PIECE * 2 + 2, a->size, &elements) || elements > INT64_MAX / 8)
        return false;
    return caps->i64 && (caps->max_workgroup == 0 || caps->max_workgroup >= BLOCK) &&
           caps->shared_bytes >= BLOCK * sizeof(int64_t) && kni_is_float(a->values->type.dtype);
}

/* y holds what the rows are added to. */
static kn_status add_rows(run *a)
{
    kn_status s = take_memory(a);
    if (s == KN_OK) s = sort(a);
    if (s == KN_OK) s = sum(a);
    if (s == KN_OK) kni_gpu_finish(a->gpu, a->record, a->cell);
    give_memory(a);
    return s;
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
    if (!fits(&a)) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_gpu_allocate(g, y);
    if (s) return s;
    a.y = kni_gpu_block_of(y->storage);
    size_t bytes = (size_t)kni_count(&y->type) * kni_gpu_element_bytes(y);
    s = kni_gpu_checked(g, g->driver->fill_zero(g->driver, a.y->memory, 0, bytes));
    return s ? s : add_rows(&a);
}

/* own: each value has an index, as in scatter; else each row of them. */
static kn_status add_by_index(kni_gpu *g, const kn_record *r, bool own)
{
    const kni_update_attributes *at = r->attributes;
    kni_tensor *y = kni_out(r, 0);
    kni_axis_view view = kni_view_axis(&y->type, at->axis);
    int64_t indices = kni_count(&kni_in(r, 1)->type);
    if (at->update != KN_UPDATE_ADD || view.outer < 1) return KN_ERROR_UNSUPPORTED;
    run a = {.gpu = g,
             .record = r,
             .values = kni_in(r, 2),
             .at = kni_in(r, 1),
             .n = own ? indices : view.outer * indices,
             .rows = own ? kni_count(&y->type) : view.outer * view.axis,
             .size = own ? 1 : view.inner,
             .padding = -1,
             .negative = at->negative,
             .starts = true,
             .axis = view.axis,
             .each = own ? indices / view.outer : indices,
             .inner = own ? view.inner : 1,
             .own = own,
             .cell = -1};
    if (a.values->type.dtype != y->type.dtype || !fits(&a)) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_gpu_take_over(g, r, a.values);
    if (s) return s;
    a.y = kni_gpu_block_of(y->storage);
    return add_rows(&a);
}

kn_status kni_gpu_run_select_assign(kni_gpu *g, const kn_record *r) { return add_by_index(g, r, false); }
kn_status kni_gpu_run_scatter(kni_gpu *g, const kn_record *r) { return add_by_index(g, r, true); }

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
    const kernel take = {"take_rows", 3, 2, {dtype, a.at->type.dtype, dtype}};
    if (a.size < SHORTEST || !fits(&a)) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_gpu_allocate(g, y);
    if (s == KN_OK) s = operand(&a, a.values, 0, &a.v, &a.v_offset);
    if (s == KN_OK) s = operand(&a, a.at, 1, &a.indices, &a.at_offset);
    if (s == KN_OK)
        s = launch(&a, &take, a.n, (kni_gpu_block *[]){a.v, a.indices, kni_gpu_block_of(y->storage)},
                   (const int64_t[]){a.v_offset, a.at_offset, 0}, (const int64_t[]){a.rows, a.size});
    if (s == KN_OK) kni_gpu_finish(g, r, a.cell);
    give_memory(&a);
    return s;
}
