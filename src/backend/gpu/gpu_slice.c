/* Replacing a part of a tensor: the whole is copied, or kept where nobody else needs it, and the part is written over it by
   a kernel that moves raw bits. */
#include "backend/gpu/product.h"
#include "core/strided_copy.h"
#include "ir/builder.h"
#include "ops/movement_rows.h"
#include <string.h>

/* y[coordinates times to] = x[coordinates times from] for each of the items. */
static kni_ir *build_place(int rank, size_t bytes)
{
    kni_ir_builder b = kni_ir_begin("place_slice", 0);
    int dtype = kni_gpu_raw_dtype(bytes);
    uint32_t x = kni_ir_buffer(&b, "x", dtype, KNI_IR_READ), y = kni_ir_buffer(&b, "y", dtype, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    uint32_t dims = kni_ir_param_add(&b, "dims", KN_I64, (uint32_t)rank);
    uint32_t from_strides = kni_ir_param_add(&b, "from", KN_I64, (uint32_t)rank);
    uint32_t to_strides = kni_ir_param_add(&b, "to", KN_I64, (uint32_t)rank);
    kni_ir_id left = kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, KN_I64);
    kni_ir_id from = kni_ir_whole(&b, KN_I64, 0), to = from;
    for (int a = rank - 1; a >= 0; a--) {
        kni_ir_id at = kni_ir_whole(&b, KN_I64, a), i = left;
        if (a) {
            kni_ir_id size = kni_ir_element(&b, dims, at), rest = kni_ir_word(&b, "div", left, size);
            i = kni_ir_word(&b, "sub", left, kni_ir_word(&b, "mul", rest, size));
            left = rest;
        }
        kni_ir_id out = kni_ir_element(&b, from_strides, at), in = kni_ir_element(&b, to_strides, at);
        from = kni_ir_word(&b, "add", from, kni_ir_word(&b, "mul", i, out));
        to = kni_ir_word(&b, "add", to, kni_ir_word(&b, "mul", i, in));
    }
    kni_ir_store(&b, y, to, kni_ir_load(&b, x, from, bytes == 8 ? KN_U64 : KN_I64, 1));
    return kni_ir_finish(&b);
}

typedef struct place_params {
    int64_t items, offset_x, offset_y, rest[3 * KN_MAX_RANK]; /* dims, strides of x, strides of y */
} place_params;

/* Writes the values over the part of y that begins at `start` and goes by `strides`. */
static kn_status place(kni_gpu *g, kni_tensor *values, kni_tensor *y, int64_t start, const int64_t *strides)
{
    int64_t dims[KN_MAX_RANK], both[2][KN_MAX_RANK], n = kni_count(&values->type);
    size_t bytes = kni_gpu_element_bytes(y);
    kni_gpu_block *blocks[2] = {NULL, kni_gpu_block_of(y->storage)}, *made = NULL;
    if (n == 0) return KN_OK;
    kn_status s = kni_gpu_operand(g, values, &blocks[0], &made);
    if (s) return s;
    memcpy(dims, values->type.dims, sizeof dims);
    memcpy(both[0], values->strides, sizeof both[0]);
    memcpy(both[1], strides, sizeof both[1]);
    int rank = kni_collapse(values->type.rank, dims, 2, both);
    if (rank == 1 && both[0][0] == 1 && both[1][0] == 1) {
        s = kni_gpu_checked(g, g->driver->copy(g->driver, blocks[1]->memory, (size_t)start * bytes,
                                               blocks[0]->memory, (size_t)values->offset * bytes,
                                               (size_t)n * bytes));
    } else {
        place_params p = {n, values->offset, start, {0}};
        memcpy(p.rest, dims, (size_t)rank * sizeof *dims);
        memcpy(p.rest + rank, both[0], (size_t)rank * sizeof *dims);
        memcpy(p.rest + 2 * rank, both[1], (size_t)rank * sizeof *dims);
        unsigned char key[] = {'p', 'l', 'a', 'c', 'e', (unsigned char)rank, (unsigned char)bytes};
        kni_gpu_kernel *k = kni_gpu_find(g, key, sizeof key);
        if (!k) k = kni_gpu_add(g, key, sizeof key, build_place(rank, bytes));
        kni_launch_shape shape = k ? kni_gpu_item_shape(g, k, n) : (kni_launch_shape){0};
        s = k ? kni_gpu_launch(g, k, &shape, blocks, 2, -1, &p) : kni_latest_code();
    }
    if (made) kni_gpu_give(made);
    return s;
}

/* Whether the result can have the memory of x, which dies here. */
static bool takes_over(const kn_record *r, const kni_tensor *x)
{
    return (r->last_use & 1) && x->storage && x->offset == 0 && kni_gpu_contiguous(x) &&
           kni_storage_writable(x->storage);
}

kn_status kni_gpu_run_update_slice(kni_gpu *g, const kn_record *r)
{
    const kni_slice_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *values = kni_in(r, 1), *y = kni_out(r, 0);
    int64_t strides[KN_MAX_RANK] = {0}, start = 0;
    kn_status s = KN_OK;
    if (takes_over(r, x) && values->storage != x->storage) {
        y->storage = kni_storage_retain(x->storage);
        y->offset = 0;
        memcpy(y->strides, x->strides, sizeof y->strides);
    } else {
        s = kni_gpu_allocate(g, y);
        if (s == KN_OK) s = kni_gpu_copy_strided(g, x, kni_gpu_block_of(y->storage));
    }
    for (int i = 0; i < x->type.rank; i++) {
        start += a->start.dims[i] * y->strides[i];
        strides[i] = a->step.dims[i] * y->strides[i];
    }
    if (s == KN_OK) s = place(g, values, y, start, strides);
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    return s;
}
