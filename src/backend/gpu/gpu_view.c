/* Movement ops as views of the operand's memory, and copies of what cannot stay: elements of any strides become
   contiguous by a kernel that moves raw bits. */
#include "backend/gpu/gpu.h"
#include "core/strided_copy.h"
#include "ir/builder.h"
#include <string.h>

/* Elements are moved as whole numbers of their size, 16 bytes as two. */
static int raw_dtype(size_t bytes)
{
    return bytes == 1 ? KN_U8 : bytes == 2 ? KN_U16 : bytes == 4 ? KN_U32 : KN_U64;
}

/* How a copy is built, and its key. */
typedef struct copy_kind {
    char name[4];
    uint8_t rank, bytes;
    uint8_t placed; /* y has strides of its own */
    uint8_t index;  /* KN_I32 where it is enough */
} copy_kind;

/* The index times its strides, summed over the axes. */
typedef struct place_sum {
    uint32_t strides; /* param */
    kni_ir_id at;
} place_sum;

static kni_ir_id number(kni_ir_builder *b, const copy_kind *k, uint32_t param, int axis)
{
    return kni_ir_cast(b, kni_ir_element(b, param, kni_ir_whole(b, KN_I64, axis)), k->index);
}

static void add_axis(kni_ir_builder *b, const copy_kind *k, place_sum *sum, int axis, kni_ir_id i)
{
    sum->at = kni_ir_word(b, "add", sum->at, kni_ir_word(b, "mul", i, number(b, k, sum->strides, axis)));
}

/* y[item], or y by strides of its own where `placed`, = x by strides; dims and strides are params, the rank is not. */
static kni_ir *build_copy(const copy_kind *k)
{
    kni_ir_builder b = kni_ir_begin("strided_copy", 0);
    int dtype = raw_dtype(k->bytes), lanes = k->bytes == 16 ? 2 : 1,
        as = k->index == KN_I32 ? KN_U32 : KN_U64;
    uint32_t x = kni_ir_buffer(&b, "x", dtype, KNI_IR_READ), y = kni_ir_buffer(&b, "y", dtype, KNI_IR_WRITE);
    if (b.status == KN_OK) b.ir->bindings[x].aligned = b.ir->bindings[y].aligned = (uint8_t)lanes;
    kni_ir_add_item_params(&b);
    uint32_t dims = kni_ir_param_add(&b, "dims", KN_I64, k->rank);
    place_sum from = {kni_ir_param_add(&b, "strides", KN_I64, k->rank), 0}, to = {0};
    if (k->placed) to.strides = kni_ir_param_add(&b, "places", KN_I64, k->rank);
    kni_ir_id item = kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, k->index), left = item;
    from.at = to.at = kni_ir_whole(&b, k->index, 0);
    for (int a = k->rank - 1; a >= 0; a--) {
        kni_ir_id i = left;
        if (a) { /* nothing is negative */
            kni_ir_id size = number(&b, k, dims, a), rest;
            rest = kni_ir_word(&b, "div", kni_ir_cast(&b, left, as), kni_ir_cast(&b, size, as));
            rest = kni_ir_cast(&b, rest, k->index);
            i = kni_ir_word(&b, "sub", left, kni_ir_word(&b, "mul", rest, size));
            left = rest;
        }
        add_axis(&b, k, &from, a, i);
        if (k->placed) add_axis(&b, k, &to, a, i);
    }
    if (!k->placed) to.at = item;
    if (lanes > 1) {
        kni_ir_id two = kni_ir_whole(&b, k->index, lanes);
        from.at = kni_ir_word(&b, "mul", from.at, two);
        to.at = kni_ir_word(&b, "mul", to.at, two);
    }
    kni_ir_store(&b, y, to.at, kni_ir_load(&b, x, from.at, k->bytes >= 8 ? KN_U64 : KN_I64, lanes));
    return kni_ir_finish(&b);
}

typedef struct copy_params {
    int64_t items, offset_x, offset_y,
        rest[3 * KN_MAX_RANK]; /* dims, strides of x, where placed those of y */
} copy_params;

/* The furthest element on either side. */
static int64_t reach(const copy_params *p, int rank, const int64_t *dims, int64_t (*strides)[KN_MAX_RANK],
                     int sides)
{
    int64_t most = p->items;
    for (int k = 0; k < sides; k++) {
        int64_t sum = 0;
        for (int a = 0; a < rank; a++) sum += dims[a] * (strides[k][a] < 0 ? -strides[k][a] : strides[k][a]);
        if (sum > most) most = sum;
    }
    return most;
}

/* The kernel's launch for axes that were merged already. */
static kn_status launch_copy(kni_gpu *g, kni_gpu_block **blocks, size_t bytes, copy_params *p, int rank,
                             const int64_t *dims, int64_t (*strides)[KN_MAX_RANK], bool placed)
{
    copy_kind kind = {{'c', 'o', 'p', 'y'}, (uint8_t)rank, (uint8_t)bytes, placed, KN_I64};
    if (reach(p, rank, dims, strides, placed ? 2 : 1) < INT64_C(1) << 29) kind.index = KN_I32;
    memcpy(p->rest, dims, (size_t)rank * sizeof *dims);
    memcpy(p->rest + rank, strides[0], (size_t)rank * sizeof *dims);
    if (placed) memcpy(p->rest + 2 * rank, strides[1], (size_t)rank * sizeof *dims);
    kni_gpu_kernel *k = kni_gpu_find(g, &kind, sizeof kind);
    if (!k) k = kni_gpu_add(g, &kind, sizeof kind, build_copy(&kind));
    if (!k) return kni_latest_code();
    if (bytes == 16) p->offset_x *= 2, p->offset_y *= 2; /* they count pairs so far */
    kni_launch_shape shape = kni_gpu_item_shape(g, k, p->items);
    return kni_gpu_launch(g, k, &shape, blocks, 2, -1, p);
}

/* Elements that lie side by side on both sides move several at once, up to 16 bytes of them. */
static size_t widen(size_t bytes, copy_params *p, int rank, int64_t *dims, int64_t (*strides)[KN_MAX_RANK],
                    int sides)
{
    for (; bytes < 16 && rank; bytes *= 2) {
        bool even = p->offset_x % 2 == 0 && p->offset_y % 2 == 0 && dims[rank - 1] % 2 == 0;
        for (int k = 0; k < sides; k++)
            for (int a = 0; a < rank; a++)
                even &= a == rank - 1 ? strides[k][a] == 1 : strides[k][a] % 2 == 0;
        if (!even) break;
        p->items /= 2;
        p->offset_x /= 2;
        p->offset_y /= 2;
        dims[rank - 1] /= 2;
        for (int k = 0; k < sides; k++)
            for (int a = 0; a < rank - 1; a++) strides[k][a] /= 2;
    }
    return bytes;
}

kn_status kni_gpu_place(kni_gpu *g, kni_tensor *x, kni_gpu_block *to, int64_t start, const int64_t *places)
{
    kni_gpu_block *blocks[2] = {NULL, to}, *made;
    int64_t dims[KN_MAX_RANK], strides[2][KN_MAX_RANK], n = kni_count(&x->type);
    size_t bytes = kni_gpu_element_bytes(x);
    if (n == 0) return KN_OK;
    kn_status s = kni_gpu_operand(g, x, &blocks[0], &made);
    if (s) return s;
    /* Neighbours are those of the result, in whatever order it lies. */
    int32_t axes[KN_MAX_RANK];
    kni_order_axes(places ? kni_order_of(x->type.rank, x->type.dims, places) : KNI_ORDER_ROWS, x->type.rank,
                   axes);
    for (int a = 0; a < x->type.rank; a++) {
        dims[a] = x->type.dims[axes[a]];
        strides[0][a] = x->strides[axes[a]];
        strides[1][a] = places ? places[axes[a]] : strides[0][a];
    }
    int rank = kni_collapse(x->type.rank, dims, places ? 2 : 1, strides);
    if (rank == 1 && strides[0][0] == 1 && (!places || strides[1][0] == 1)) {
        s = kni_gpu_checked(g,
                            g->driver->copy(g->driver, to->memory, (size_t)start * bytes, blocks[0]->memory,
                                            (size_t)x->offset * bytes, (size_t)n * bytes));
    } else {
        copy_params p = {n, x->offset, start, {0}};
        bytes = widen(bytes, &p, rank, dims, strides, places ? 2 : 1);
        s = launch_copy(g, blocks, bytes, &p, rank, dims, strides, places != NULL);
    }
    if (made) kni_gpu_give(made);
    return s;
}

kn_status kni_gpu_copy_strided(kni_gpu *g, kni_tensor *x, kni_gpu_block *to)
{
    return kni_gpu_place(g, x, to, 0, NULL);
}

kn_status kni_gpu_gather(kni_gpu *g, kni_tensor *x, kni_gpu_block **block)
{
    int64_t bytes = kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
    *block = kni_gpu_take(g, (size_t)bytes);
    if (!*block) return kni_latest_code();
    kn_status s = kni_gpu_copy_strided(g, x, *block);
    if (s) {
        kni_gpu_give(*block);
        *block = NULL;
    }
    return s;
}

static kn_status copy_contiguous(void *gpu, kni_tensor *x, kni_tensor *copy)
{
    kni_gpu *g = gpu;
    uint64_t faults;
    kn_status s = kni_gpu_faults_of(g, x, &faults);
    if (s == KN_OK) s = kni_gpu_allocate(g, copy);
    if (s == KN_OK) s = kni_gpu_copy_strided(g, x, kni_gpu_block_of(copy->storage));
    if (s == KN_OK) {
        kni_gpu_note_faults(g, copy, faults);
    } else if (copy->storage) {
        kni_storage_release(copy->storage);
        copy->storage = NULL;
    }
    return s;
}

static kn_status bring_into_order(kni_gpu *g, kni_tensor *y)
{
    kni_tensor copy = {.type = y->type, .order = y->order};
    uint64_t faults;
    kn_status s = kni_gpu_faults_of(g, y, &faults);
    if (s == KN_OK) s = kni_gpu_allocate_promised(g, &copy);
    if (s == KN_OK) s = kni_gpu_place(g, y, kni_gpu_block_of(copy.storage), 0, copy.strides);
    if (s) {
        if (copy.storage) kni_storage_release(copy.storage);
        return s;
    }
    kni_gpu_note_faults(g, &copy, faults);
    kni_storage_release(y->storage);
    y->storage = copy.storage;
    y->offset = 0;
    memcpy(y->strides, copy.strides, sizeof y->strides);
    return KN_OK;
}

kn_status kni_gpu_arrange(kni_gpu *g, const kn_record *r)
{
    kn_status s = KN_OK;
    if (r->row->view) return KN_OK;
    for (int i = 0; i < r->n_out && s == KN_OK; i++) {
        kni_tensor *y = kni_out(r, i);
        if (y->storage && kni_order_of(y->type.rank, y->type.dims, y->strides) != y->order)
            s = bring_into_order(g, y);
    }
    return s;
}

kn_status kni_gpu_view(kni_gpu *g, const kn_record *r) { return kni_view_record(r, copy_contiguous, g); }
