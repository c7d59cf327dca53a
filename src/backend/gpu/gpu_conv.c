/* Convolutions as products whose operands are gathered while they are fetched: nothing is unfolded in memory. With g
   groups the batch of the product is the groups; images lie along its columns, or along its terms for the gradient of
   the weight. */
#include "backend/gpu/gpu_conv.h"
#include "backend/gpu/product_kernel.h"
#include "ops/conv.h"
#include <string.h>

/* The kernel's numbers, and its arrays with an entry for each spatial axis. */
enum { M, N, K, GROUPS, CHANNELS, OUTS, IMAGES, TAPS, POSITIONS, PLANE, NUMBERS };
enum { X_SIZE, KERNEL, Y_SIZE, STRIDE, PADDING, DILATION, ARRAYS };

/* Kernels: the product itself, and what mends a library's results. */
enum { PRODUCT = 'v', MENDING = 'p', MENDED_AT_ONCE = 256 };
typedef struct signature {
    char kind;
    uint8_t what, dtype, axes, has_bias, wide, leaves_out;
    kni_tiled_shape shape;
} signature;

/* What the places know beside the product. */
typedef struct conv {
    kni_tiled tiled; /* first, so that the product's address is this one's */
    int what, axes;
    uint32_t numbers[NUMBERS], arrays[ARRAYS];
} conv;

static conv *of(kni_tiled *t) { return (conv *)t; }
static kni_ir_id word(kni_tiled *t, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(t->b, name, x, y);
}
static kni_ir_id number(kni_tiled *t, int which) { return kni_tiled_number(t, of(t)->numbers[which]); }
static kni_ir_id entry(kni_tiled *t, int array, int axis)
{
    kni_ir_id at = kni_ir_whole(t->b, KN_I64, axis);
    return kni_ir_cast(t->b, kni_ir_element(t->b, of(t)->arrays[array], at), t->index);
}

/* value = *high * size + the result */
static kni_ir_id split(kni_tiled *t, kni_ir_id value, kni_ir_id size, kni_ir_id *high)
{
    *high = word(t, "div", value, size);
    return word(t, "sub", value, word(t, "mul", *high, size));
}

/* high * size + low */
static kni_ir_id join(kni_tiled *t, kni_ir_id high, kni_ir_id size, kni_ir_id low)
{
    return word(t, "add", word(t, "mul", high, size), low);
}

/* The coordinates of a position in an array of sizes. */
static void coordinates(kni_tiled *t, int sizes, kni_ir_id position, kni_ir_id *out)
{
    for (int a = of(t)->axes - 1; a > 0; a--) out[a] = split(t, position, entry(t, sizes, a), &position);
    out[0] = position;
}

static kni_ir_id both(kni_tiled *t, kni_ir_id x, kni_ir_id y) { return x ? kni_ir_and(t->b, x, y) : y; }

/* Where tap `tap` reads for position `at`: its element in a plane of x, and whether it is there. */
static kni_ir_id tap_place(kni_tiled *t, kni_ir_id at, kni_ir_id tap, kni_ir_id *inside)
{
    const conv *c = of(t);
    kni_ir_id p[KNI_CONV_MAX_SPATIAL], k[KNI_CONV_MAX_SPATIAL], place = 0,
                                                                zero = kni_ir_whole(t->b, t->index, 0);
    coordinates(t, Y_SIZE, at, p);
    coordinates(t, KERNEL, tap, k);
    *inside = 0;
    for (int a = 0; a < c->axes; a++) {
        kni_ir_id moved = word(t, "mul", k[a], entry(t, DILATION, a)), size = entry(t, X_SIZE, a), i;
        if (c->what == KNI_CONV_TRANSPOSED) {
            kni_ir_id from = word(t, "sub", word(t, "add", p[a], entry(t, PADDING, a)), moved);
            i = word(t, "div", from, entry(t, STRIDE, a));
            *inside = both(t, *inside, word(t, "ge", from, zero));
            *inside = both(t, *inside, word(t, "eq", word(t, "mul", i, entry(t, STRIDE, a)), from));
        } else {
            i = word(t, "sub", word(t, "add", word(t, "mul", p[a], entry(t, STRIDE, a)), moved),
                     entry(t, PADDING, a));
            *inside = both(t, *inside, word(t, "ge", i, zero));
        }
        *inside = both(t, *inside, word(t, "lt", i, size));
        place = a ? join(t, place, size, i) : i;
    }
    return place;
}

/* x[image, group's channel, where the tap reads] */
static kni_ir_id place_x(kni_tiled *t, kni_ir_id channel_and_tap, kni_ir_id image_and_position,
                         kni_ir_id group, kni_ir_id *inside)
{
    kni_ir_id channel, image;
    kni_ir_id tap = split(t, channel_and_tap, number(t, TAPS), &channel);
    kni_ir_id at = split(t, image_and_position, number(t, POSITIONS), &image);
    kni_ir_id place = tap_place(t, at, tap, inside);
    kni_ir_id plane = join(t, join(t, image, number(t, GROUPS), group), number(t, CHANNELS), channel);
    return join(t, plane, number(t, PLANE), place);
}

/* y (or dy)[image, group's output, position] */
static kni_ir_id place_image(kni_tiled *t, kni_ir_id out, kni_ir_id image_and_position, kni_ir_id group)
{
    kni_ir_id image, at = split(t, image_and_position, number(t, POSITIONS), &image);
    kni_ir_id plane = join(t, join(t, image, number(t, GROUPS), group), number(t, OUTS), out);
    return join(t, plane, number(t, POSITIONS), at);
}

static kni_ir_id place_left(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id group, kni_ir_id *inside)
{
    *inside = 0;
    if (of(t)->what == KNI_CONV_WEIGHT) return place_image(t, row, column, group);
    if (of(t)->what == KNI_CONV_FORWARD)
        return join(t, join(t, group, number(t, OUTS), row), number(t, K), column);
    kni_ir_id channel, tap = split(t, column, number(t, TAPS), &channel);
    channel = join(t, group, number(t, CHANNELS), channel);
    return join(t, join(t, channel, number(t, OUTS), row), number(t, TAPS), tap);
}

static kni_ir_id place_right(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id group,
                             kni_ir_id *inside)
{
    return of(t)->what == KNI_CONV_WEIGHT ? place_x(t, column, row, group, inside)
                                          : place_x(t, row, column, group, inside);
}

static kni_ir_id place_result(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id group,
                              kni_ir_id *inside)
{
    *inside = 0;
    if (of(t)->what != KNI_CONV_WEIGHT) return place_image(t, row, column, group);
    return join(t, join(t, group, number(t, OUTS), row), number(t, N), column);
}

static kni_ir_id place_bias(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id group)
{
    (void)column;
    return join(t, group, number(t, OUTS), row);
}

/* Declares what both kernels have: operands, results, numbers, places. */
static bool declare(conv *c, const signature *s, kni_ir_builder *b, const kni_gpu_tail *tail,
                    const kni_sched_target *target)
{
    static const char *const names[NUMBERS] = {"m",    "n",      "k",    "groups",    "channels",
                                               "outs", "images", "taps", "positions", "plane"};
    static const char *const arrays[ARRAYS] = {"x_size", "kernel_size", "y_size",
                                               "stride", "padding",     "dilation"};
    kni_tiled *t = &c->tiled;
    t->compute = kni_tiled_compute(s->dtype);
    t->index = s->wide ? KN_I64 : KN_I32;
    t->shape = s->shape;
    t->dtype = s->dtype;
    t->b_along_rows = s->what == KNI_CONV_WEIGHT;
    t->leaves_out = s->leaves_out;
    t->b = b;
    t->a = kni_ir_buffer(b, "a", s->dtype, KNI_IR_READ);
    t->b_ = kni_ir_buffer(b, "b", s->dtype, KNI_IR_READ);
    if (s->has_bias) t->bias = kni_ir_buffer(b, "bias", s->dtype, KNI_IR_READ);
    if (s->kind == MENDING) {
        t->y = kni_ir_buffer(b, "y", s->dtype, KNI_IR_READ | KNI_IR_WRITE);
        kni_ir_add_item_params(b);
    } else if (!kni_tiled_results(t, s->dtype, tail, target)) {
        return false;
    }
    for (int i = 0; i < NUMBERS; i++) c->numbers[i] = kni_ir_param_add(b, names[i], KN_I64, 0);
    for (int i = 0; i < ARRAYS; i++) c->arrays[i] = kni_ir_param_add(b, arrays[i], KN_I64, s->axes);
    t->m = c->numbers[M];
    t->n = c->numbers[N];
    t->k = c->numbers[K];
    t->batches = c->numbers[GROUPS];
    t->place_a = place_left;
    t->place_b = place_right;
    t->place_y = place_result;
    t->place_bias = s->has_bias ? place_bias : NULL;
    return true;
}

static kni_ir *build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    const signature *s = key;
    conv c = {.what = s->what, .axes = s->axes};
    kni_ir_builder b = kni_ir_begin("convolution", kni_tiled_workgroup(&s->shape));
    if (!declare(&c, s, &b, tail, target)) return NULL;
    kni_tiled_build(&c.tiled);
    return kni_tiled_finish(&c.tiled);
}

/* ---- what a library made NaN by multiplying padding */

/* The row, column and group of a result in memory, against place_result. */
static void locate(kni_tiled *t, kni_ir_id at, kni_ir_id *row, kni_ir_id *column, kni_ir_id *group)
{
    kni_ir_id low = split(t, at, number(t, of(t)->what == KNI_CONV_WEIGHT ? N : POSITIONS), &at), image;
    *row = split(t, at, number(t, OUTS), group);
    *column = low;
    if (of(t)->what == KNI_CONV_WEIGHT) return;
    *group = split(t, *group, number(t, GROUPS), &image);
    *column = join(t, image, number(t, POSITIONS), low);
}

/* Looks at every result where it lies and sums those again that are NaN. */
static kni_ir *build_mending(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    const signature *s = key;
    conv c = {.what = s->what, .axes = s->axes};
    kni_tiled *t = &c.tiled;
    kni_ir_builder b = kni_ir_begin("convolution_padding", MENDED_AT_ONCE);
    if (!declare(&c, s, &b, tail, target)) return NULL;
    kni_ir_id row, column, group, zero = kni_ir_real(&b, t->compute, 0);
    kni_ir_id tile = kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, t->index);
    kni_ir_id at = join(t, tile, kni_ir_whole(&b, t->index, MENDED_AT_ONCE),
                        kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, t->index));
    kni_ir_id results = word(t, "mul", word(t, "mul", number(t, M), number(t, N)), number(t, GROUPS));
    kni_ir_id value = kni_ir_load_where(&b, t->y, at, t->compute, 1, word(t, "lt", at, results), zero);
    kni_ir_if(&b, word(t, "isnan", value, 0));
    locate(t, at, &row, &column, &group);
    value = kni_tiled_sum_again(t, row, column, group);
    if (t->place_bias)
        value =
            word(t, "add", value, kni_ir_load(&b, t->bias, place_bias(t, row, column, group), t->compute, 1));
    kni_ir_store(&b, t->y, at, value);
    kni_ir_end(&b);
    return kni_tiled_finish(t);
}

/* One run: operands made contiguous, in the order of the kernel's buffers. */
typedef struct run {
    kni_gpu_product_launch l;
    kni_gpu_block *made[3];
    int64_t numbers[NUMBERS], arrays[ARRAYS][KNI_CONV_MAX_SPATIAL];
    int axes;
    kni_conv_shape shape;
    bool direct; /* without tiles: such a kernel takes channels last */
} run;

/* `as_it_is`: the kernel knows how it lies. */
static kn_status give(kni_gpu *g, run *a, kni_tensor *x, bool as_it_is)
{
    int place = a->l.n_buffers++;
    if (as_it_is || kni_gpu_contiguous(x)) {
        a->l.offsets[place] = x->storage ? x->offset : 0;
        return kni_gpu_operand(g, x, &a->l.blocks[place], &a->made[place]);
    }
    kn_status s = kni_gpu_gather(g, x, &a->made[place]);
    a->l.blocks[place] = a->made[place];
    return s;
}

static void measure(run *a, int what, const kni_conv_attributes *at, const kni_type *x, const kni_type *w,
                    const kni_type *y)
{
    int64_t *n = a->numbers;
    a->axes = x->rank - 2;
    n[GROUPS] = at->groups;
    n[CHANNELS] = x->dims[1] / at->groups;
    n[OUTS] = y->dims[1] / at->groups;
    n[IMAGES] = x->dims[0];
    n[TAPS] = kni_count_dims(a->axes, w->dims + 2);
    n[POSITIONS] = kni_count_dims(a->axes, y->dims + 2);
    n[PLANE] = kni_count_dims(a->axes, x->dims + 2);
    n[M] = n[OUTS];
    n[N] = what == KNI_CONV_WEIGHT ? n[CHANNELS] * n[TAPS] : n[IMAGES] * n[POSITIONS];
    n[K] = what == KNI_CONV_WEIGHT ? n[IMAGES] * n[POSITIONS] : n[CHANNELS] * n[TAPS];
    const int64_t *from[ARRAYS] = {x->dims + 2,     w->dims + 2,      y->dims + 2,
                                   at->stride.dims, at->padding.dims, at->dilation.dims};
    for (int i = 0; i < ARRAYS; i++) memcpy(a->arrays[i], from[i], (size_t)a->axes * sizeof(int64_t));
}

/* Whether results have terms without an element of x: in the padding, or between the elements that a transposed
   convolution spreads. */
static bool misses_elements(const run *a, int what)
{
    for (int i = 0; i < a->axes; i++) {
        const int64_t stride = a->arrays[STRIDE][i], padding = a->arrays[PADDING][i];
        const int64_t reach = (a->arrays[KERNEL][i] - 1) * a->arrays[DILATION][i],
                      last = a->arrays[Y_SIZE][i] - 1;
        if (what == KNI_CONV_TRANSPOSED
                ? stride > 1 || padding < reach || last + padding >= a->arrays[X_SIZE][i]
                : padding > 0 || last * stride + reach - padding >= a->arrays[X_SIZE][i])
            return true;
    }
    return false;
}

static signature sign(const kn_record *r, const run *a, int what, bool has_bias, int64_t largest)
{
    const int64_t *n = a->numbers;
    signature s = {.kind = PRODUCT,
                   .what = (uint8_t)what,
                   .dtype = kni_out(r, 0)->type.dtype,
                   .axes = (uint8_t)a->axes,
                   .has_bias = has_bias,
                   .leaves_out = misses_elements(a, what)};
    s.wide = largest > INT64_C(1) << 29 || n[N] > INT64_C(1) << 29 || n[K] > INT64_C(1) << 29;
    for (int i = 0; i < a->axes; i++)
        s.wide |=
            a->arrays[STRIDE][i] * a->arrays[Y_SIZE][i] + a->arrays[DILATION][i] * a->arrays[KERNEL][i] >
                INT64_C(1) << 29 ||
            a->arrays[PADDING][i] > INT64_C(1) << 29 || -a->arrays[PADDING][i] > INT64_C(1) << 29;
    return s;
}

static kn_status launch(kni_gpu *g, const signature *s, run *a, int64_t tiles, int64_t batches)
{
    kni_gpu_product_launch *l = &a->l;
    l->key = s;
    l->key_bytes = sizeof *s;
    l->build = s->kind == PRODUCT ? build : build_mending;
    l->n_numbers = 0;
    for (int i = 0; i < NUMBERS; i++) l->numbers[l->n_numbers++] = a->numbers[i];
    for (int i = 0; i < ARRAYS; i++)
        for (int j = 0; j < a->axes; j++) l->numbers[l->n_numbers++] = a->arrays[i][j];
    l->tiles = tiles;
    l->batches = batches;
    return kni_gpu_launch_product(g, l);
}

static kn_status by_kernel(kni_gpu *g, run *a, signature s)
{
    const int64_t *n = a->numbers;
    if (a->direct) {
        kn_status status = kni_gpu_run_conv_direct(g, &a->shape, s.wide, s.leaves_out, s.has_bias, &a->l);
        if (status != KN_ERROR_UNSUPPORTED || a->shape.x_last || a->shape.y_last) return status;
    }
    s.shape = kni_tiled_choose(g->driver, kni_tiled_compute(s.dtype), n[M], n[N], n[K], n[GROUPS]);
    return launch(g, &s, a, kni_tiled_tiles(&s.shape, n[M], n[N]), n[GROUPS]);
}

static signature begin(const kn_record *r, int what, run *a)
{
    const kni_tensor *x = kni_in(r, 0), *other = kni_in(r, 1), *y = kni_out(r, 0);
    if (what == KNI_CONV_WEIGHT)
        measure(a, what, r->attributes, &x->type, &y->type, &other->type);
    else
        measure(a, what, r->attributes, &x->type, &other->type, &y->type);
    int64_t most = kni_count(&x->type);
    if (kni_count(&other->type) > most) most = kni_count(&other->type);
    if (kni_count(&y->type) > most) most = kni_count(&y->type);
    return sign(r, a, what, r->n_in > 2 && kni_in(r, 2), most);
}

static kn_status give_operands(kni_gpu *g, const kn_record *r, run *a)
{
    kn_status status = give(g, a, kni_in(r, 1), false);
    if (status == KN_OK) status = give(g, a, kni_in(r, 0), a->shape.x_last);
    if (status == KN_OK && r->n_in > 2 && kni_in(r, 2)) status = give(g, a, kni_in(r, 2), false);
    return status;
}

/* The result in the memory that it has. */
static void give_result(run *a, const kn_record *r)
{
    a->l.blocks[a->l.n_buffers++] = kni_gpu_block_of(kni_out(r, 0)->storage);
}

static void end(run *a)
{
    for (int i = 0; i < 3; i++)
        if (a->made[i]) kni_gpu_give(a->made[i]);
}

kn_status kni_gpu_conv_mend(kni_gpu *g, const kn_record *r, int what)
{
    const int64_t results = kni_count(&kni_out(r, 0)->type);
    run a;
    memset(&a, 0, sizeof a);
    signature s = begin(r, what, &a);
    if (!s.leaves_out) return KN_OK;
    s.kind = MENDING;
    kn_status status = give_operands(g, r, &a);
    if (status == KN_OK) {
        give_result(&a, r);
        status = launch(g, &s, &a, (results + MENDED_AT_ONCE - 1) / MENDED_AT_ONCE, 1);
    }
    end(&a);
    return status;
}

uint8_t kni_gpu_conv_way(const char *text)
{
    static const char *const names[] = {"", "direct", "tiled", "library"};
    for (int i = 0; text && i < KNI_COUNT(names); i++)
        if (!strcmp(text, names[i])) return (uint8_t)i;
    if (text) kni_log(KN_LOG_WARNING, "KN_CONV=%s says nothing: write direct, tiled or library", text);
    return KNI_CONV_BY_ANY;
}

static bool takes_library(const kni_gpu *g)
{
    return g->convolutions == KNI_CONV_BY_ANY || g->convolutions == KNI_CONV_BY_LIBRARY;
}

bool kni_gpu_conv_kernel_first(const kni_gpu *g, const kn_record *r, int what)
{
    return !g->driver->convolution || !takes_library(g) || !kni_is_half(kni_out(r, 0)->type.dtype) ||
           kni_gpu_conv_direct_first(g, r, what);
}

static kn_status by_library(kni_gpu *g, const kn_record *r, const kni_gpu_way *way, int what)
{
    if (!takes_library(g) || way->by == KNI_GPU_BY_KERNEL) return KN_ERROR_UNSUPPORTED;
    if (way->by == KNI_GPU_BY_ANY && kni_gpu_conv_direct_first(g, r, what)) return KN_ERROR_UNSUPPORTED;
    return kni_gpu_run_conv_library(g, r, way->tail, what);
}

/* Whether tiles are needed; they, and what follows a convolution, have row-major images. */
static void choose(const kni_gpu *g, const kn_record *r, int what, run *a)
{
    kni_gpu_conv_measure(r, what, &a->shape);
    a->direct = kni_gpu_conv_wants_direct(g, &a->shape);
    a->shape.x_last &= a->direct;
    a->shape.y_last &= a->direct && !a->l.tail;
}

static kn_status convolve(kni_gpu *g, const kn_record *r, const kni_gpu_way *way, int what)
{
    kn_status status = by_library(g, r, way, what);
    if (status != KN_ERROR_UNSUPPORTED || way->by == KNI_GPU_BY_LIBRARY) return status;
    run a;
    memset(&a, 0, sizeof a);
    a.l.tail = way->tail;
    const signature s = begin(r, what, &a);
    choose(g, r, what, &a);
    status = give_operands(g, r, &a);
    if (status == KN_OK && !way->tail) {
        kni_tensor *y = kni_out(r, 0);
        status = a.shape.y_last ? kni_gpu_allocate_promised(g, y) : kni_gpu_allocate(g, y);
        if (status == KN_OK) give_result(&a, r);
    }
    if (status == KN_OK) status = by_kernel(g, &a, s);
    if (status == KN_OK && !way->tail) kni_gpu_finish(g, r, -1);
    end(&a);
    return status;
}

kn_status kni_gpu_run_conv(kni_gpu *g, const kn_record *r, const kni_gpu_way *way)
{
    return convolve(g, r, way, KNI_CONV_FORWARD);
}
kn_status kni_gpu_run_conv_transpose(kni_gpu *g, const kn_record *r, const kni_gpu_way *way)
{
    return convolve(g, r, way, KNI_CONV_TRANSPOSED);
}
kn_status kni_gpu_run_conv_weight_grad(kni_gpu *g, const kn_record *r, const kni_gpu_way *way)
{
    return convolve(g, r, way, KNI_CONV_WEIGHT);
}
