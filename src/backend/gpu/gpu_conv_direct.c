/* Convolutions without tiles: which ones, and how their work is cut. */
#include "backend/gpu/conv_direct.h"
#include "ops/conv.h"
#include <string.h>

enum { ROW = KNI_DIRECT_ROW, COLUMN = KNI_DIRECT_COLUMN };

static void three(int64_t *to, const int64_t *from, int axes, int64_t fill)
{
    for (int i = 0; i < KNI_CONV_AXES; i++)
        to[i] = i < KNI_CONV_AXES - axes ? fill : from[i - (KNI_CONV_AXES - axes)];
}

static bool lies_last(const kni_tensor *x)
{
    return !kni_gpu_contiguous(x) &&
           kni_lies_in_order(KNI_ORDER_CHANNELS, x->type.rank, x->type.dims, x->strides);
}

static bool is_aligned(const kni_tensor *x) { return x->offset % KNI_DIRECT_LANES == 0; }

void kni_gpu_conv_measure(const kn_record *r, int what, kni_conv_shape *c)
{
    const kni_conv_attributes *at = r->attributes;
    const kni_type *x = &kni_in(r, 0)->type, *other = &kni_in(r, 1)->type, *out = &kni_out(r, 0)->type;
    const kni_type *w = what == KNI_CONV_WEIGHT ? out : other, *y = what == KNI_CONV_WEIGHT ? other : out;
    memset(c, 0, sizeof *c);
    c->what = what;
    c->dtype = out->dtype;
    c->axes = x->rank - 2;
    c->images = x->dims[0];
    c->groups = at->groups;
    c->channels = x->dims[1] / at->groups;
    c->outs = y->dims[1] / at->groups;
    c->x_last = lies_last(kni_in(r, 0));
    c->y_last =
        what == KNI_CONV_WEIGHT ? lies_last(kni_in(r, 1)) : kni_out(r, 0)->order == KNI_ORDER_CHANNELS;
    c->aligned = is_aligned(kni_in(r, 0)) && (what != KNI_CONV_WEIGHT || is_aligned(kni_in(r, 1)));
    three(c->x_size, x->dims + 2, c->axes, 1);
    three(c->kernel, w->dims + 2, c->axes, 1);
    three(c->y_size, y->dims + 2, c->axes, 1);
    three(c->stride, at->stride.dims, c->axes, 1);
    three(c->padding, at->padding.dims, c->axes, 0);
    three(c->dilation, at->dilation.dims, c->axes, 1);
}

/* ---- which ones */

/* Terms of a result that one invocation may add up while few results keep the device busy. */
enum { FEW_TERMS = 64, FEW = 4, SOME = 12 };

static bool fits(const kni_conv_shape *c)
{
    for (int i = 0; i < KNI_CONV_AXES; i++)
        if (c->kernel[i] > UINT8_MAX || c->stride[i] > UINT8_MAX || c->y_size[i] < 1) return false;
    /* All taps of an output are sums of one invocation. */
    if (c->what == KNI_CONV_WEIGHT && kni_count_dims(KNI_CONV_AXES, c->kernel) > KNI_DIRECT_TAPS)
        return false;
    return c->outs > 0 && c->channels > 0;
}

static int64_t count_positions(const kni_conv_shape *c)
{
    return c->images * kni_count_dims(KNI_CONV_AXES, c->y_size);
}

bool kni_gpu_conv_wants_direct(const kni_gpu *g, const kni_conv_shape *c)
{
    if (!fits(c) || g->convolutions == KNI_CONV_BY_TILED) return false;
    if (g->convolutions == KNI_CONV_BY_DIRECT) return true;
    /* A tile has 16 rows or more; those of one group are its outputs. */
    if (c->outs > FEW && (c->outs > SOME || c->channels > FEW)) return false;
    /* A weight gradient sums over all positions, in parts, and reads the image once for each pair of output and channel. */
    if (c->what == KNI_CONV_WEIGHT) return c->channels <= FEW && c->outs <= FEW;
    const int64_t terms = c->channels * kni_count_dims(KNI_CONV_AXES, c->kernel);
    const int64_t busy = (int64_t)g->driver->processors * KNI_DIRECT_WORKGROUP;
    return terms <= FEW_TERMS || count_positions(c) * c->groups >= busy;
}

bool kni_gpu_conv_direct_first(const kni_gpu *g, const kn_record *r, int what)
{
    kni_conv_shape c;
    if (g->convolutions == KNI_CONV_BY_LIBRARY) return false;
    kni_gpu_conv_measure(r, what, &c);
    return c.channels == 1 && c.outs <= FEW && kni_gpu_conv_wants_direct(g, &c);
}

/* ---- how the work is cut */

/* Positions of an invocation along an axis of so many: pieces of nearly equal size, not too few of them. */
static int64_t choose_run(int64_t size, int64_t most, int64_t lines, int64_t busy)
{
    while (most > 2 && (size + most - 1) / most * lines < busy) most /= 2;
    const int64_t pieces = (size + most - 1) / most;
    return (size + pieces - 1) / pieces;
}

static int64_t choose_outs(const kni_conv_shape *c)
{
    int64_t n = c->outs < KNI_DIRECT_OUTS ? c->outs : KNI_DIRECT_OUTS;
    const int64_t taps = kni_count_dims(KNI_CONV_AXES, c->kernel);
    if (c->what == KNI_CONV_WEIGHT && n * taps > KNI_DIRECT_TAPS) n = KNI_DIRECT_TAPS / taps;
    while (c->outs % n) n--;
    return n;
}

static bool goes_down(const kni_conv_shape *c)
{
    return c->axes > 1 && c->kernel[ROW] <= KNI_DIRECT_ROW_TAPS && c->dilation[ROW] <= UINT8_MAX &&
           (c->what != KNI_CONV_TRANSPOSED || c->stride[ROW] <= KNI_DIRECT_RUN);
}

/* Vectors of channels beside each other in a workgroup: so many that each block of them is full. 0: none fit. */
static int64_t choose_across(const kni_gpu *g, const kni_conv_shape *c)
{
    enum { MOST = 32, SHARED = 40 << 10 /* bytes for weights */ };
    const int64_t vectors = c->groups / KNI_DIRECT_LANES, taps = kni_count_dims(KNI_CONV_AXES, c->kernel);
    const int64_t room = g->driver->caps.shared_bytes ? g->driver->caps.shared_bytes : SHARED;
    const int64_t each = taps * KNI_DIRECT_LANES * (int64_t)sizeof(float);
    int64_t n = vectors < MOST ? vectors : MOST;
    while (n && (vectors % n || (n + 1) * each > (room < SHARED ? room : SHARED))) n--;
    return n;
}

/* More where weights are many, which a workgroup brings to shared memory first. */
static int64_t lanes_workgroup(const kni_gpu *g, const kni_conv_shape *c)
{
    enum { FEW_TAPS = 16 };
    const int64_t most = g->driver->caps.max_workgroup;
    const bool small = c->what == KNI_CONV_WEIGHT || kni_count_dims(KNI_CONV_AXES, c->kernel) <= FEW_TAPS;
    const int64_t wanted = small ? KNI_DIRECT_WORKGROUP : 2 * KNI_DIRECT_WORKGROUP;
    return most && most < wanted ? most : wanted;
}

/* Rows of x that the positions of one invocation read, from the first to the last. */
static int64_t rows_read(const kni_conv_shape *c)
{
    const int64_t step = c->what == KNI_CONV_TRANSPOSED ? 1 : c->stride[ROW];
    return (KNI_DIRECT_RUN - 1) * step + (c->kernel[ROW] - 1) * c->dilation[ROW] + 1;
}

bool kni_gpu_conv_takes_lanes(const kni_gpu *g, const kni_conv_shape *c)
{
    if (!c->x_last || (c->what == KNI_CONV_WEIGHT && !c->y_last) || !c->aligned) return false;
    if (c->axes != 2 || c->channels != 1 || c->outs != 1 || c->groups % KNI_DIRECT_LANES || !goes_down(c))
        return false;
    if (c->dtype != KN_F32 && !kni_is_half(c->dtype)) return false;
    if (!c->x_size[ROW] || !c->x_size[COLUMN]) return false;
    if (rows_read(c) > KNI_DIRECT_RUN * KNI_DIRECT_ROW_TAPS) return false;
    const uint32_t room = g->driver->caps.shared_bytes;
    const int64_t meeting =
        lanes_workgroup(g, c) * KNI_DIRECT_SUMS * KNI_DIRECT_LANES * (int64_t)sizeof(float);
    if (c->what == KNI_CONV_WEIGHT && room && meeting > room) return false;
    const int64_t across = choose_across(g, c);
    return across > 0 && across <= lanes_workgroup(g, c);
}

int kni_gpu_conv_rows_lanes(const kni_conv_shape *c)
{
    const int64_t taps = kni_count_dims(KNI_CONV_AXES, c->kernel);
    if (c->x_last || c->y_last || !c->aligned || c->axes != 2 || c->channels != 1 || c->outs != 1) return 0;
    if (c->dtype != KN_F32 && !kni_is_half(c->dtype)) return 0;
    if (taps > KNI_ROWS_TAPS || !goes_down(c) || c->kernel[COLUMN] > KNI_ROWS_COLUMNS || !c->x_size[ROW])
        return 0;
    for (int axis = ROW; axis <= COLUMN; axis++)
        if (c->stride[axis] != 1 || c->dilation[axis] != 1 || c->padding[axis] < 0 ||
            c->padding[axis] >= c->kernel[axis])
            return 0;
    for (int lanes = KNI_DIRECT_LANES; lanes > 1; lanes /= 2)
        if (c->x_size[COLUMN] % lanes == 0 && c->y_size[COLUMN] % lanes == 0) return lanes;
    return 0;
}

static int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static kni_direct_signature sign(const kni_gpu *g, const kni_conv_shape *c, bool wide, bool leaves_out,
                                 bool biased)
{
    kni_direct_signature s;
    memset(&s, 0, sizeof s);
    s.kind = 'd';
    s.what = (uint8_t)c->what;
    s.dtype = (uint8_t)c->dtype;
    s.axes = (uint8_t)c->axes;
    s.has_bias = biased;
    s.wide = wide;
    s.leaves_out = leaves_out;
    s.one_channel = c->channels == 1;
    s.x_last = c->x_last;
    s.y_last = c->y_last;
    s.down = goes_down(c);
    s.outs = (uint8_t)choose_outs(c);
    s.one_block = s.outs == c->outs;
    if (kni_gpu_conv_takes_lanes(g, c)) {
        s.kind = 'l';
        s.across = (uint8_t)choose_across(g, c);
        s.columns = (uint8_t)(KNI_DIRECT_SUMS / c->kernel[ROW]);
        if (s.columns > c->kernel[COLUMN]) s.columns = (uint8_t)c->kernel[COLUMN];
    } else if (kni_gpu_conv_rows_lanes(c)) {
        s.kind = 'r';
        s.across = (uint8_t)kni_gpu_conv_rows_lanes(c);
        s.columns = c->y_size[COLUMN] <= c->x_size[COLUMN];
        s.padding = (uint8_t)c->padding[COLUMN];
    }
    const int axis = s.down ? ROW : COLUMN;
    const int64_t lines = count_positions(c) / c->y_size[axis] * c->groups * (c->outs / s.outs) /
                          (s.kind == 'l' ? KNI_DIRECT_LANES
                           : s.across    ? s.across
                                         : 1);
    const int64_t busy = (int64_t)g->driver->processors * 2 * KNI_DIRECT_WORKGROUP;
    int64_t run = choose_run(c->y_size[axis], s.outs > 2 ? KNI_DIRECT_RUN / 2 : KNI_DIRECT_RUN, lines, busy);
    if (s.down && c->what == KNI_CONV_TRANSPOSED) {
        const int64_t stride = c->stride[ROW];
        run = rounded_up(run, stride);
        if (run > KNI_DIRECT_RUN) run -= stride;
        s.phase = (uint8_t)((c->padding[ROW] % stride + stride) % stride);
    }
    s.run = (uint8_t)run;
    s.uneven = c->y_size[axis] % run != 0;
    if (s.down) s.dilation = (uint8_t)c->dilation[ROW];
    for (int i = 0; i < KNI_CONV_AXES; i++) {
        s.kernel[i] = (uint8_t)c->kernel[i];
        s.stride[i] = (uint8_t)c->stride[i];
    }
    const uint32_t most = g->driver->caps.max_workgroup;
    s.workgroup = most && most < KNI_DIRECT_WORKGROUP ? (uint16_t)most : KNI_DIRECT_WORKGROUP;
    if (s.kind == 'l') s.workgroup = (uint16_t)(lanes_workgroup(g, c) / s.across * s.across);
    return s;
}

static int64_t pieces(int64_t size, int64_t each) { return (size + each - 1) / each; }

static void number(const kni_direct_signature *s, const kni_conv_shape *c, kni_gpu_product_launch *l)
{
    int64_t *n = l->numbers;
    n[KNI_DIRECT_GROUPS] = c->groups;
    n[KNI_DIRECT_CHANNELS] = c->channels;
    n[KNI_DIRECT_GROUP_OUTS] = c->outs;
    n[KNI_DIRECT_BLOCKS] =
        s->kind == 'l' ? c->groups / ((int64_t)s->across * KNI_DIRECT_LANES) : c->outs / s->outs;
    n[KNI_DIRECT_LINES] = s->down ? pieces(c->y_size[ROW], s->run) : c->y_size[ROW];
    n[KNI_DIRECT_COLUMNS] = s->kind == 'r' ? c->y_size[COLUMN] / s->across
                            : s->down      ? c->y_size[COLUMN]
                                           : pieces(c->y_size[COLUMN], s->run);
    n[KNI_DIRECT_ITEMS] = n[KNI_DIRECT_COLUMNS] * n[KNI_DIRECT_LINES] * c->y_size[0] * c->images;
    l->n_numbers = KNI_DIRECT_NUMBERS;
    const int64_t *const arrays[KNI_DIRECT_ARRAYS] = {c->x_size, c->y_size, c->padding, c->dilation};
    for (int i = 0; i < KNI_DIRECT_ARRAYS; i++, l->n_numbers += KNI_CONV_AXES)
        memcpy(n + l->n_numbers, arrays[i], KNI_CONV_AXES * sizeof *n);
}

/* Gradients of the weight: a workgroup for each group, block of outputs, channel and part of the items; in lanes for each block of
   channels, piece of the taps' columns and part. */
static kn_status run_weight(kni_gpu *g, const kni_conv_shape *c, kni_direct_signature s,
                            kni_gpu_product_launch *l)
{
    enum {
        LEAST = 2 /* items of an invocation */,
        BUSY = 8 /* workgroups of a processor, to hide latency */
    };
    int64_t *n = l->numbers;
    int64_t at_once = s.workgroup, busy = BUSY;
    const int64_t results = c->groups * c->outs * c->channels * kni_count_dims(KNI_CONV_AXES, c->kernel);
    l->tiles = c->groups * n[KNI_DIRECT_BLOCKS] * c->channels;
    if (s.kind == 'l') {
        l->tiles = n[KNI_DIRECT_BLOCKS] * pieces(c->kernel[COLUMN], s.columns);
        at_once /= s.across;
        busy *= 2; /* for the most parts; few blocks of channels have many items each */
    }
    int64_t parts = kni_gpu_choose_parts(g, busy, l->tiles, n[KNI_DIRECT_ITEMS], at_once * LEAST, results);
    n[KNI_DIRECT_PART] = pieces(n[KNI_DIRECT_ITEMS], parts);
    n[KNI_DIRECT_RESULTS] = results;
    if (n[KNI_DIRECT_PART]) parts = pieces(n[KNI_DIRECT_ITEMS], n[KNI_DIRECT_PART]);
    s.parted = parts > 1;
    l->key = &s;
    l->key_bytes = sizeof s;
    l->build = s.kind == 'l'   ? kni_lanes_build_weight
               : s.kind == 'r' ? kni_rows_build_weight
                               : kni_direct_build_weight;
    l->batches = parts;
    return kni_gpu_launch_parts(g, c->dtype, parts, results, l);
}

kn_status kni_gpu_run_conv_direct(kni_gpu *g, const kni_conv_shape *c, bool wide, bool leaves_out,
                                  bool biased, kni_gpu_product_launch *l)
{
    if (!fits(c)) return KN_ERROR_UNSUPPORTED;
    const kni_direct_signature s = sign(g, c, wide, leaves_out, biased);
    number(&s, c, l);
    if (c->what == KNI_CONV_WEIGHT) return run_weight(g, c, s, l);
    const int64_t items = l->numbers[KNI_DIRECT_ITEMS];
    if (s.kind != 'l') l->numbers[KNI_DIRECT_ITEMS] *= c->groups * l->numbers[KNI_DIRECT_BLOCKS];
    if (!l->numbers[KNI_DIRECT_ITEMS]) return KN_OK;
    l->key = &s;
    l->key_bytes = sizeof s;
    l->build = s.kind == 'r' ? kni_rows_build : kni_direct_build;
    l->tiles = pieces(l->numbers[KNI_DIRECT_ITEMS], s.workgroup);
    if (s.kind == 'l') {
        l->build = kni_lanes_build;
        l->tiles = pieces(items, s.workgroup / s.across) * l->numbers[KNI_DIRECT_BLOCKS];
    }
    l->batches = 1;
    return kni_gpu_launch_product(g, l);
}
