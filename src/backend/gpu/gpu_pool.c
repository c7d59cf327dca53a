/* Pools over windows: which kernels make them (pool_kernel.h), in rows or with channels last. What these do not know, large windows
   and steps above all, is left to the reference kernels. */
#include "backend/gpu/gpu_pool.h"
#include "backend/gpu/pool_kernel.h"
#include "ops/pooling.h"
#include <string.h>

enum {
    DEPTH,
    ROW,
    COLUMN,
    AXES,
    MOST_TAPS = 96,  /* of the elements of an item, along the last axis */
    MOST_SPAN = 48,  /* elements that their windows hold there */
    MOST_TOTALS = 40 /* sums of an item of a gradient */
};

typedef struct pool {
    kni_gpu *gpu;
    const kn_record *record;
    const kni_pool_attributes *attributes;
    kni_pool_signature s;
    kni_tensor *x, *y, *places; /* x and y are dx and dy of a gradient; NULL: there are none */
    bool gradient;
    int64_t sx[AXES], sy[AXES], end[AXES], planes, channels;
    kni_gpu_block *blocks[3], *made[3];
    int64_t offsets[3];
} pool;

static bool lies(const kni_tensor *x, int order)
{
    return x->storage && kni_lies_in_order(order, x->type.rank, x->type.dims, x->strides);
}

/* Channels last where the images are promised so, or are read so and pooled to one position, where both orders are one. */
static bool goes_last(const pool *p)
{
    const kni_tensor *image = p->x, *result = kni_out(p->record, 0);
    const int rank = image->type.rank;
    if (rank != p->attributes->axes + 2 || image->type.dims[1] < 2) return false;
    if (p->places && !p->gradient && p->places->order != p->y->order) return false;
    if (result->order == KNI_ORDER_CHANNELS) return true;
    return !p->gradient && kni_count_dims(AXES, p->sy) == 1 && !lies(image, KNI_ORDER_ROWS) &&
           lies(image, KNI_ORDER_CHANNELS);
}

/* Lists of attributes have an entry for each axis by now. */
static bool take_list(const kn_ints *list, int64_t absent, uint8_t *to)
{
    for (int i = 0; i < AXES; i++) {
        const int64_t value = i < AXES - list->rank ? absent : list->dims[i - (AXES - list->rank)];
        if (value < 0 || value > UINT8_MAX) return false;
        to[i] = (uint8_t)value;
    }
    return true;
}

/* What holds of all windows along each axis. */
static void examine(pool *p)
{
    kni_pool_signature *s = &p->s;
    for (int a = 0; a < AXES; a++) {
        const int64_t last = (p->sy[a] - 1) * s->stride[a] - s->padding[a];
        const int64_t end = last + (s->window[a] - 1) * (int64_t)s->dilation[a] + 1;
        if (s->padding[a]) s->before |= (uint8_t)(1 << a);
        if (end > p->sx[a]) s->behind |= (uint8_t)(1 << a);
        if (s->counted ? end <= p->sx[a] + p->end[a] : !s->padding[a] && end <= p->sx[a])
            s->whole |= (uint8_t)(1 << a);
    }
}

static bool measure(pool *p)
{
    const kni_pool_attributes *a = p->attributes;
    kni_pool_signature *s = &p->s;
    const kni_type *x = &p->x->type;
    const bool max = s->what != KNI_POOL_MEAN && s->what != KNI_POOL_MEAN_GRAD;
    kni_pool_sizes(x, (int)a->axes, p->sx);
    kni_pool_sizes(&p->y->type, (int)a->axes, p->sy);
    p->planes = kni_count_dims(x->rank - (int)a->axes, x->dims);
    s->kind = 'p';
    s->dtype = x->dtype;
    s->places = p->places ? p->places->type.dtype : 0;
    s->axes = (uint8_t)a->axes;
    s->counted = !max && !a->exclude_padding;
    s->divisor = !max && a->divisor > 0;
    for (int i = 0; i < AXES; i++)
        p->end[i] =
            i < AXES - a->padding_end.rank ? 0 : a->padding_end.dims[i - (AXES - a->padding_end.rank)];
    if (!take_list(&a->window, 1, s->window) || !take_list(&a->stride, 1, s->stride) ||
        !take_list(&a->padding, 0, s->padding) || !take_list(&a->dilation, 1, s->dilation))
        return false;
    /* Places are computed in 32 bits, a little beyond the ends too. */
    const int64_t most = INT32_MAX / 4;
    for (int i = 0; i < AXES; i++)
        if (p->sx[i] > most / 4 || p->sy[i] > most / 1024 || p->end[i] > most / 4) return false;
    if (kni_count(x) > most || kni_count(&p->y->type) > most || a->divisor > INT32_MAX) return false;
    examine(p);
    return kni_dtypes[x->dtype].kind == KNI_KIND_FLOAT && kni_bytes_of(x->dtype) > 1;
}

/* ---- how much an item makes */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Elements of an access of at most 16 bytes to memory of so many elements in a row, which begins at a multiple of it. */
static int64_t choose_lanes(const pool *p, int64_t elements, size_t bytes)
{
    const kni_ir_caps *caps = &p->gpu->driver->caps;
    int64_t lanes = caps->vector_bytes > bytes ? (int64_t)(caps->vector_bytes / bytes) : 1;
    if (kni_ir_wants_narrow(caps)) lanes = 1;
    if (lanes > 8) lanes = 8;
    while (lanes > 1 && elements % lanes) lanes /= 2;
    return lanes;
}

static int64_t least_offset(const pool *p) { return p->offsets[0] | p->offsets[1] | p->offsets[2]; }

static size_t widest(const pool *p)
{
    const size_t bytes = kni_bytes_of(p->s.dtype), at = p->places ? kni_bytes_of(p->s.places) : 0;
    return bytes > at ? bytes : at;
}

static bool fits_forward(const pool *p, int64_t run)
{
    const kni_pool_signature *s = &p->s;
    const int64_t span =
        (run - 1) * s->stride[COLUMN] + (s->window[COLUMN] - 1) * (int64_t)s->dilation[COLUMN] + 1;
    return run <= KNI_POOL_WIDEST && span <= MOST_SPAN && run * s->window[COLUMN] <= MOST_TAPS;
}

/* The windows of an item read a row together: it begins where an access may. */
static bool cut_forward(pool *p)
{
    kni_pool_signature *s = &p->s;
    const int64_t stride = s->stride[COLUMN], columns = p->sy[COLUMN];
    int64_t lanes, run;
    s->rows = 1;
    if (s->last) {
        const bool overlap = (s->window[COLUMN] - 1) * s->dilation[COLUMN] >= stride;
        lanes = choose_lanes(p, p->channels | least_offset(p), widest(p));
        run = overlap && columns > 1 ? 2 : 1;
        s->window_lanes = 1;
    } else {
        lanes = choose_lanes(p, p->sx[COLUMN] | least_offset(p), kni_bytes_of(s->dtype));
        for (run = 0; !run; lanes = run ? lanes : lanes / 2) {
            const int64_t least = lanes / common_divisor(lanes, stride);
            if (lanes == 1 || (fits_forward(p, least) && least <= columns)) run = least;
        }
        while (run < 4 && 2 * run <= columns && fits_forward(p, 2 * run)) run *= 2;
        s->window_lanes = (uint8_t)choose_lanes(p, columns | run, widest(p));
    }
    s->lanes = (uint8_t)lanes;
    s->run = (uint8_t)run;
    return fits_forward(p, run);
}

/* Whole steps of the windows, so that it is known which windows hold which element of an item. */
static bool cut_backward(pool *p)
{
    kni_pool_signature *s = &p->s;
    const int64_t stride = s->stride[COLUMN], rows = s->stride[ROW];
    int64_t lanes, run;
    if (s->last) {
        run = stride;
        lanes = choose_lanes(p, p->channels | least_offset(p), widest(p));
        while (lanes > 1 && lanes * run * rows > MOST_TOTALS) lanes /= 2;
        s->window_lanes = 1;
    } else {
        lanes = choose_lanes(p, p->sx[COLUMN], kni_bytes_of(s->dtype));
        for (;; lanes /= 2) {
            run = lanes / common_divisor(lanes, stride) * stride;
            if (lanes == 1 || (run <= KNI_POOL_WIDEST && run * rows <= MOST_TOTALS)) break;
        }
        while (run < 4 && 2 * run <= p->sx[COLUMN] && 2 * run * rows <= MOST_TOTALS) run *= 2;
        s->window_lanes = (uint8_t)choose_lanes(p, p->sy[COLUMN] | run / stride | least_offset(p), widest(p));
    }
    s->lanes = (uint8_t)lanes;
    s->run = (uint8_t)run;
    s->rows = (uint8_t)rows;
    const int64_t reach = (s->window[COLUMN] - 1) * (int64_t)s->dilation[COLUMN],
                  down = (s->window[ROW] - 1) * (int64_t)s->dilation[ROW];
    return run <= KNI_POOL_WIDEST && run * rows <= MOST_TOTALS && (run + reach) / stride + 2 <= MOST_SPAN &&
           (rows + down) / s->stride[ROW] + 2 <= MOST_SPAN && s->window[ROW] * s->window[COLUMN] <= MOST_TAPS;
}

static int64_t pieces(int64_t n, int64_t each) { return (n + each - 1) / each; }

static bool cut(pool *p)
{
    kni_pool_signature *s = &p->s;
    if (p->gradient ? !cut_backward(p) : !cut_forward(p)) return false;
    const int64_t *made = p->gradient ? p->sx : p->sy;
    if (made[COLUMN] % s->run) s->ragged |= 1 << COLUMN;
    if (made[ROW] % s->rows) s->ragged |= 1 << ROW;
    /* Windows of elements that do not exist may lie behind the end. */
    if (!p->gradient && (s->ragged >> COLUMN & 1)) s->behind |= 1 << COLUMN;
    return true;
}

/* ---- running */

static int order_of(const pool *p) { return p->s.last ? KNI_ORDER_CHANNELS : KNI_ORDER_ROWS; }

/* Memory of an operand in the order of the launch: its own, or a copy. */
static kn_status give(pool *p, int i, kni_tensor *x)
{
    const int order = order_of(p);
    int64_t strides[KN_MAX_RANK], n = kni_count(&x->type);
    if (lies(x, order)) return kni_gpu_operand(p->gpu, x, &p->blocks[i], &p->made[i]);
    p->blocks[i] = p->made[i] = kni_gpu_take(p->gpu, (size_t)n * kni_gpu_element_bytes(x));
    if (!p->made[i]) return kni_latest_code();
    kni_order_strides(order, x->type.rank, x->type.dims, strides);
    return kni_gpu_place(p->gpu, x, p->made[i], 0, strides);
}

static kn_status launch(pool *p)
{
    const kni_pool_signature *s = &p->s;
    const int64_t *made = p->gradient ? p->sx : p->sy;
    int64_t numbers[1 + 3 + 3 * AXES + KNI_POOL_NUMBERS], each[KNI_POOL_NUMBERS];
    const int n_blocks = p->places ? 3 : 2;
    int n = 1;
    each[KNI_POOL_CHANNELS] = s->last ? p->channels : 1;
    each[KNI_POOL_CHANNEL_BLOCKS] = s->last ? p->channels / s->lanes : 1;
    each[KNI_POOL_COLUMNS] = pieces(made[COLUMN], s->run);
    each[KNI_POOL_ROWS] = pieces(made[ROW], s->rows);
    each[KNI_POOL_DEPTHS] = made[DEPTH];
    each[KNI_POOL_DIVISOR] = p->attributes->divisor;
    numbers[0] = p->planes / each[KNI_POOL_CHANNELS] * each[KNI_POOL_CHANNEL_BLOCKS] *
                 each[KNI_POOL_COLUMNS] * each[KNI_POOL_ROWS] * each[KNI_POOL_DEPTHS];
    for (int i = 0; i < n_blocks; i++) numbers[n++] = p->offsets[i];
    const int64_t *const sizes[] = {p->sx, p->sy, p->end};
    for (int i = 0; i < KNI_COUNT(sizes); i++, n += AXES)
        memcpy(numbers + n, sizes[i], AXES * sizeof *numbers);
    memcpy(numbers + n, each, sizeof each);
    kni_gpu_kernel *k = kni_gpu_find(p->gpu, s, sizeof *s);
    if (!k) k = kni_gpu_add(p->gpu, s, sizeof *s, kni_pool_build(s));
    if (!k) return kni_latest_code();
    kni_launch_shape shape = kni_gpu_item_shape(p->gpu, k, numbers[0]);
    return kni_gpu_launch(p->gpu, k, &shape, p->blocks, (uint32_t)n_blocks, -1, numbers);
}

static kn_status allocate(pool *p, int i, kni_tensor *y)
{
    kn_status s = p->s.last ? kni_gpu_allocate_promised(p->gpu, y) : kni_gpu_allocate(p->gpu, y);
    if (s == KN_OK) p->blocks[i] = kni_gpu_block_of(y->storage);
    return s;
}

/* Buffers in the order of the kernel: images first where they are read, results of gradients last. */
static kn_status run(pool *p)
{
    const kn_record *r = p->record;
    kn_status s = KN_OK;
    for (int i = 0; i < r->n_in; i++)
        p->offsets[i] = lies(kni_in(r, i), order_of(p)) ? kni_in(r, i)->offset : 0;
    if (!cut(p)) return KN_ERROR_UNSUPPORTED;
    for (int i = 0; i < r->n_in && s == KN_OK; i++) s = give(p, i, kni_in(r, i));
    for (int i = 0; i < r->n_out && s == KN_OK; i++) s = allocate(p, r->n_in + i, kni_out(r, i));
    if (s == KN_OK) s = launch(p);
    if (s == KN_OK) kni_gpu_finish(p->gpu, r, -1);
    return s;
}

static kn_status run_kind(kni_gpu *g, const kn_record *r, int what)
{
    pool p = {.gpu = g, .record = r, .attributes = r->attributes, .gradient = what >= KNI_POOL_MAX_GRAD};
    p.s.what = (uint8_t)what;
    p.x = p.gradient ? kni_out(r, 0) : kni_in(r, 0);
    p.y = p.gradient ? kni_in(r, 0) : kni_out(r, 0);
    if (what == KNI_POOL_MAX) p.places = kni_out(r, 1);
    if (what == KNI_POOL_MAX_GRAD) p.places = kni_in(r, 1);
    if (!measure(&p)) return KN_ERROR_UNSUPPORTED;
    p.s.last = goes_last(&p);
    p.channels = p.s.last ? p.x->type.dims[1] : 1;
    kn_status s = run(&p);
    for (int i = 0; i < KNI_COUNT(p.made); i++)
        if (p.made[i]) kni_gpu_give(p.made[i]);
    return s;
}

kn_status kni_gpu_run_max_pool(kni_gpu *g, const kn_record *r) { return run_kind(g, r, KNI_POOL_MAX); }
kn_status kni_gpu_run_max_pool_values(kni_gpu *g, const kn_record *r)
{
    return run_kind(g, r, KNI_POOL_VALUES);
}
kn_status kni_gpu_run_avg_pool(kni_gpu *g, const kn_record *r) { return run_kind(g, r, KNI_POOL_MEAN); }
kn_status kni_gpu_run_max_pool_grad(kni_gpu *g, const kn_record *r)
{
    return run_kind(g, r, KNI_POOL_MAX_GRAD);
}
kn_status kni_gpu_run_avg_pool_grad(kni_gpu *g, const kn_record *r)
{
    return run_kind(g, r, KNI_POOL_MEAN_GRAD);
}
