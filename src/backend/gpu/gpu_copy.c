/* Copies of strided elements on the device: several at once in one launch, by tiles where neighbours in the one order are far from
   each other in the other, and by the driver where all lies side by side. */
#include "backend/gpu/copy_kernel.h"
#include "backend/gpu/gpu.h"
#include "core/strided_copy.h"
#include <string.h>

enum {
    FEW_BYTES = 1 << 20,   /* copies of so many in all are worth less than a launch each */
    LEAST_SIDE = 16,       /* of what is worth a tile */
    LEAST_TILED = 1 << 14, /* elements */
    MOST_NUMBERS = 1 + KNI_COPY_PARTS + 1 + KNI_COPY_PARTS * (2 + 3 * KN_MAX_RANK)
};

/* A copy whose axes were merged, in units of `bytes`: strides of x, then of y. */
typedef struct part {
    kni_gpu_block *from, *made;
    int64_t items, offset, start, dims[KN_MAX_RANK], strides[2][KN_MAX_RANK];
    size_t bytes;
    int rank;
} part;

static kn_status measure(kni_gpu *g, const kni_gpu_part *given, part *p)
{
    kni_tensor *x = given->x;
    const int rank = x->type.rank;
    int64_t rows[KN_MAX_RANK];
    int32_t axes[KN_MAX_RANK];
    const int64_t *places = given->places;
    kn_status s = kni_gpu_operand(g, x, &p->from, &p->made);
    if (s) return s;
    if (!places) {
        kni_order_strides(KNI_ORDER_ROWS, rank, x->type.dims, rows);
        places = rows;
    }
    p->items = kni_count(&x->type);
    p->offset = x->storage ? x->offset : 0;
    p->start = given->start;
    p->bytes = kni_gpu_element_bytes(x);
    /* Neighbours are those of the result, in whatever order it lies. */
    kni_order_axes(kni_order_of(rank, x->type.dims, places), rank, axes);
    for (int a = 0; a < rank; a++) {
        p->dims[a] = x->type.dims[axes[a]];
        p->strides[0][a] = x->strides[axes[a]];
        p->strides[1][a] = places[axes[a]];
    }
    p->rank = kni_collapse(rank, p->dims, 2, p->strides);
    return KN_OK;
}

/* Elements that lie side by side on both sides move several at once, up to `most` bytes of them. */
static void widen(part *p, size_t most)
{
    for (; p->bytes < most; p->bytes *= 2) {
        const int last = p->rank - 1;
        bool even = p->offset % 2 == 0 && p->start % 2 == 0 && p->dims[last] % 2 == 0;
        for (int k = 0; k < 2; k++)
            for (int a = 0; a < p->rank; a++)
                even &= a == last ? p->strides[k][a] == 1 : p->strides[k][a] % 2 == 0;
        if (!even) return;
        p->items /= 2;
        p->offset /= 2;
        p->start /= 2;
        p->dims[last] /= 2;
        for (int k = 0; k < 2; k++)
            for (int a = 0; a < last; a++) p->strides[k][a] /= 2;
    }
}

static bool is_dense(const part *p, int side)
{
    return kni_is_contiguous(p->rank, p->dims, p->strides[side]);
}

/* Whether all numbers of elements fit 32 bits. */
static bool is_narrow(const part *p)
{
    int64_t most = p->items;
    for (int k = 0; k < 2; k++) {
        int64_t sum = k ? p->start : 0;
        for (int a = 0; a < p->rank; a++)
            sum += p->dims[a] * (p->strides[k][a] < 0 ? -p->strides[k][a] : p->strides[k][a]);
        if (sum > most) most = sum;
    }
    return most < INT64_C(1) << 29;
}

static void push(int64_t *numbers, int *n, const int64_t *from, int count)
{
    memcpy(numbers + *n, from, (size_t)count * sizeof *from);
    *n += count;
}

/* ---- one launch for several parts */

static kn_status launch_parts(kni_gpu *g, const part *parts, int n_parts, kni_gpu_block *to)
{
    kni_copy_kind kind;
    int64_t numbers[MOST_NUMBERS] = {0}, ends[KNI_COPY_PARTS], starts[KNI_COPY_PARTS], items = 0;
    kni_gpu_block *blocks[KNI_COPY_PARTS + 1];
    const int64_t two = parts[0].bytes == 16 ? 2 : 1; /* they count pairs so far */
    int n = 1;
    memset(&kind, 0, sizeof kind);
    memcpy(kind.name, "copy", sizeof kind.name);
    kind.parts = (uint8_t)n_parts;
    kind.bytes = (uint8_t)parts[0].bytes;
    kind.index = KN_I32;
    for (int i = 0; i < n_parts; i++) {
        const part *p = &parts[i];
        kind.ranks[i] = (uint8_t)p->rank;
        kind.placed |= !is_dense(p, 1);
        items += p->items;
        ends[i] = items;
        starts[i] = p->start;
        blocks[i] = p->from;
        numbers[n++] = p->offset * two;
        if (!is_narrow(p)) kind.index = KN_I64;
    }
    if (items >= INT64_C(1) << 29) kind.index = KN_I64;
    blocks[n_parts] = to;
    numbers[0] = items;
    numbers[n++] = n_parts > 1 ? 0 : starts[0] * two;
    if (n_parts > 1) {
        push(numbers, &n, ends, n_parts);
        push(numbers, &n, starts, n_parts);
    }
    for (int i = 0; i < n_parts; i++) {
        push(numbers, &n, parts[i].dims, parts[i].rank);
        push(numbers, &n, parts[i].strides[0], parts[i].rank);
        if (kind.placed) push(numbers, &n, parts[i].strides[1], parts[i].rank);
    }
    kni_gpu_kernel *k = kni_gpu_find(g, &kind, sizeof kind);
    if (!k) k = kni_gpu_add(g, &kind, sizeof kind, kni_copy_build(&kind));
    if (!k) return kni_latest_code();
    kni_launch_shape shape = kni_gpu_item_shape(g, k, items);
    return kni_gpu_launch(g, k, &shape, blocks, (uint32_t)n_parts + 1, -1, numbers);
}

/* How many of them one launch takes. */
static int count_joined(const kni_gpu *g, const part *parts, int n)
{
    const kni_ir_caps *caps = &g->driver->caps;
    const uint32_t room = caps->param_bytes ? caps->param_bytes : KNI_SCHED_PARAM_BYTES;
    uint32_t bytes = 3 * sizeof(int64_t);
    int i = 0;
    for (; i < n && i < KNI_COPY_PARTS; i++) {
        bytes += (3 + 3 * (uint32_t)parts[i].rank) * (uint32_t)sizeof(int64_t);
        const bool fits = bytes <= room && (!caps->max_buffers || (uint32_t)i + 2 <= caps->max_buffers);
        if (i && (!fits || parts[i].bytes != parts[0].bytes)) break;
    }
    return i;
}

/* ---- tiles */

/* Axes 0 and 1 become those along which x and y lie side by side; false where a tile would not pay. */
static bool turn_axes(part *p)
{
    int along[2] = {-1, -1}, order[KN_MAX_RANK], n = 2;
    for (int a = 0; a < p->rank; a++)
        for (int k = 0; k < 2; k++)
            if (p->strides[k][a] == 1 && p->dims[a] >= LEAST_SIDE) along[k] = a;
    if (along[0] < 0 || along[1] < 0 || along[0] == along[1] || p->items < LEAST_TILED || p->bytes > 8)
        return false;
    order[0] = along[0];
    order[1] = along[1];
    for (int a = 0; a < p->rank; a++)
        if (a != along[0] && a != along[1]) order[n++] = a;
    const part from = *p;
    for (int a = 0; a < p->rank; a++) {
        p->dims[a] = from.dims[order[a]];
        for (int k = 0; k < 2; k++) p->strides[k][a] = from.strides[k][order[a]];
    }
    return true;
}

/* Elements of an access on one side. */
static uint8_t choose_lanes(const kni_gpu *g, const part *p, int side)
{
    const uint32_t bytes = g->driver->caps.vector_bytes;
    int64_t lanes = bytes > p->bytes ? (int64_t)(bytes / p->bytes) : 1;
    if (lanes > 8) lanes = 8;
    for (; lanes > 1; lanes /= 2) {
        bool even = p->dims[side] % lanes == 0 && (side ? p->start : p->offset) % lanes == 0;
        for (int a = 0; a < p->rank; a++) even &= a == side || p->strides[side][a] % lanes == 0;
        if (even) break;
    }
    return (uint8_t)lanes;
}

/* KN_ERROR_UNSUPPORTED without a text: it is no copy for tiles. */
static kn_status launch_tiles(kni_gpu *g, const part *given, kni_gpu_block *to)
{
    const kni_ir_caps *caps = &g->driver->caps;
    part p = *given;
    kni_copy_tiles kind;
    int64_t numbers[5 + 3 * KN_MAX_RANK] = {0, p.offset, p.start};
    memset(&kind, 0, sizeof kind);
    const int side = p.bytes < 8 ? 64 : 32;
    if (kni_ir_wants_narrow(caps) || (caps->max_workgroup && caps->max_workgroup < KNI_COPY_WORKGROUP) ||
        caps->shared_bytes < (uint32_t)(side * (side + 4)) * p.bytes || !turn_axes(&p))
        return KN_ERROR_UNSUPPORTED;
    memcpy(kind.name, "turn", sizeof kind.name);
    kind.rank = (uint8_t)p.rank;
    kind.bytes = (uint8_t)p.bytes;
    kind.index = is_narrow(&p) ? KN_I32 : KN_I64;
    kind.side = (uint8_t)side;
    for (int k = 0; k < 2; k++) kind.lanes[k] = choose_lanes(g, &p, k);
    int64_t groups = 1;
    for (int a = 0; a < p.rank; a++) {
        const int64_t tiles = a < 2 ? (p.dims[a] + side - 1) / side : p.dims[a];
        if (a < 2) numbers[3 + a] = tiles;
        groups *= tiles;
    }
    if (groups > INT32_MAX) return KN_ERROR_UNSUPPORTED;
    int n = 5;
    numbers[0] = groups;
    push(numbers, &n, p.dims, p.rank);
    for (int k = 0; k < 2; k++) push(numbers, &n, p.strides[k], p.rank);
    kni_gpu_kernel *k = kni_gpu_find(g, &kind, sizeof kind);
    if (!k) k = kni_gpu_add(g, &kind, sizeof kind, kni_copy_build_tiles(&kind));
    if (!k) return kni_latest_code();
    kni_launch_shape shape = {{(uint32_t)groups, 1, 1}, k->workgroup, 0};
    return kni_gpu_launch(g, k, &shape, (kni_gpu_block *[]){p.from, to}, 2, -1, numbers);
}

/* ---- all of them */

/* Those for tiles are launched; the others come first. */
static kn_status launch_turned(kni_gpu *g, part *parts, int *n, kni_gpu_block *to)
{
    int left = 0;
    for (int i = 0; i < *n; i++) {
        kn_status s = launch_tiles(g, &parts[i], to);
        if (s && s != KN_ERROR_UNSUPPORTED) return s;
        if (s) parts[left++] = parts[i];
    }
    *n = left;
    return KN_OK;
}

static kn_status launch_all(kni_gpu *g, part *parts, int n, kni_gpu_block *to)
{
    kni_driver *d = g->driver;
    size_t total = 0, least = 16;
    kn_status s = launch_turned(g, parts, &n, to);
    if (s) return s;
    if (n == 1 && parts[0].rank == 1 && is_dense(&parts[0], 0) && is_dense(&parts[0], 1)) {
        const part *p = &parts[0];
        return kni_gpu_checked(g, d->copy(d, to->memory, (size_t)p->start * p->bytes, p->from->memory,
                                          (size_t)p->offset * p->bytes, (size_t)p->items * p->bytes));
    }
    for (int i = 0; i < n; i++) {
        part wide = parts[i];
        total += (size_t)wide.items * wide.bytes;
        widen(&wide, least);
        if (n == 1 || wide.bytes < least) least = wide.bytes;
    }
    for (int i = 0; i < n; i++) widen(&parts[i], total <= FEW_BYTES ? least : 16);
    for (int i = 0, joined; i < n && s == KN_OK; i += joined) {
        joined = count_joined(g, parts + i, n - i);
        s = launch_parts(g, parts + i, joined, to);
    }
    return s;
}

kn_status kni_gpu_place_all(kni_gpu *g, const kni_gpu_part *given, int n, kni_gpu_block *to)
{
    kn_status s = KN_OK;
    for (int done = 0; done < n && s == KN_OK;) {
        part parts[KNI_COPY_PARTS];
        int count = 0, some = 0;
        for (; done < n && count < KNI_COPY_PARTS && s == KN_OK; done++) {
            parts[count].made = NULL;
            if (kni_count(&given[done].x->type)) s = measure(g, &given[done], &parts[count++]);
        }
        part left[KNI_COPY_PARTS];
        if (s == KN_OK) memcpy(left, parts, (size_t)count * sizeof *parts);
        if (s == KN_OK && count) s = launch_all(g, left, count, to);
        for (; some < count; some++)
            if (parts[some].made) kni_gpu_give(parts[some].made);
    }
    return s;
}

kn_status kni_gpu_place(kni_gpu *g, kni_tensor *x, kni_gpu_block *to, int64_t start, const int64_t *places)
{
    const kni_gpu_part one = {x, start, places};
    return kni_gpu_place_all(g, &one, 1, to);
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
