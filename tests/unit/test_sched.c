/* Schedules against the CPU: random elementwise groups with views, broadcasts and all dtypes bit by bit, reductions and
   row-shaped groups within their tolerance, updates of many tensors, on devices of several makes. Runs in the IR
   interpreter, which also finds races. */
#include "../support/check.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/softmax.h"
#include "ops/update_rules.h"
#include "test_sched_leaf.h"
#include <math.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static kn_device cpu, leaf;

static uint64_t seed = 88172645463325252u;
static uint64_t below(uint64_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % n;
}

/* A value on both devices. */
typedef struct pair {
    kn_tensor cpu, leaf;
} pair;

enum { POOL = 40, PIECES = 1 << 18 };

static pair both_from(const double *values, kn_shape shape, kn_dtype dtype)
{
    pair p;
    p.cpu = kn_keep(kn_cast(kn_from(values, KN_F64, shape), dtype));
    p.leaf = kn_keep(kn_to(p.cpu, leaf));
    return p;
}

/* The same values with axis 1 innermost in memory, on both devices. */
static kn_tensor turned(kn_tensor x)
{
    int32_t rank = kn_rank(x);
    kn_ints there = {rank, {0}}, back = {rank, {0}};
    for (int i = 0; i < rank; i++) there.dims[i] = !i ? 0 : i == rank - 1 ? 1 : i + 1;
    for (int i = 0; i < rank; i++) back.dims[there.dims[i]] = i;
    kn_tensor y = kn_permute(x, there);
    kn_shape shape = kn_shape_of_tensor(y);
    return kn_keep(kn_permute(kn_reshape(kn_reshape(y, KN_SHAPE(-1)), shape), back));
}

static pair channels_last(pair p)
{
    pair q = {turned(p.cpu), turned(p.leaf)};
    kn_drop(p.cpu);
    kn_drop(p.leaf);
    return q;
}

static bool specials = true; /* some floats are infinite or NaN */

static pair random_pair(kn_shape shape, kn_dtype dtype)
{
    static double values[PIECES];
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    for (int64_t i = 0; i < n; i++) {
        values[i] = (double)(int64_t)below(2000) / 128 - 7;
        if (specials && kn_dtype_is_float(dtype) && below(40) == 0) values[i] = below(2) ? NAN : INFINITY;
    }
    pair p = both_from(values, shape, dtype);
    return shape.rank > 2 && below(2) ? channels_last(p) : p;
}

static void drop_pair(pair p)
{
    kn_drop(p.cpu);
    kn_drop(p.leaf);
}

/* Compares bits, or floats within a tolerance relative to the largest. */
static bool same(pair p, double tolerance, const char *what)
{
    static double a[PIECES], b[PIECES];
    int64_t n = kn_count(p.cpu);
    char text[300];
    if (!kn_ok(p.cpu) || n > PIECES || kn_read_as(p.cpu, KN_F64, a, (size_t)n * 8) != KN_OK ||
        kn_read_as(p.leaf, KN_F64, b, (size_t)n * 8) != KN_OK) {
        kn_error_text(p.leaf, text, sizeof text);
        printf("%s: cannot read: %s %s\n", what, text, kn_last_error());
        return false;
    }
    double size = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(a[i]) && fabs(a[i]) > size) size = fabs(a[i]);
    for (int64_t i = 0; i < n; i++) {
        bool equal = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
        if (!equal && tolerance > 0) equal = fabs(a[i] - b[i]) <= tolerance * (size > 1 ? size : 1);
        if (equal) continue;
        printf("%s: element %lld of %lld is %.17g, expected %.17g\n", what, (long long)i, (long long)n, b[i],
               a[i]);
        return false;
    }
    return true;
}

/* ---- elementwise groups */

static const kn_dtype dtypes[] = {KN_F32, KN_F32, KN_F16, KN_BF16, KN_F64, KN_I32, KN_I64,
                                  KN_U8,  KN_I8,  KN_U32, KN_BOOL, KN_I16, KN_U16, KN_U64};

static kn_tensor step_one(int op, kn_tensor a, kn_tensor b, kn_dtype dtype)
{
    bool real = kn_dtype_is_float(kn_dtype_of(a));
    switch (op) {
    case 0:
        return kn_add(a, b);
    case 1:
        return kn_sub(a, b);
    case 2:
        return kn_mul(a, b);
    case 3:
        return kn_maximum(a, b);
    case 4:
        return kn_where(kn_less(a, b), a, b);
    case 5:
        return kn_cast(a, dtype);
    case 6:
        return real ? kn_exp(a) : kn_abs(a);
    case 7:
        return kn_mul_scalar(a, 1.5);
    case 8:
        /* Of halves gelu is a shorter formula on such a device: short_gelu looks at it. */
        return !real                                                  ? kn_minimum(a, b)
               : kn_dtype_of(a) == KN_F32 || kn_dtype_of(a) == KN_F64 ? kn_gelu(a)
                                                                      : kn_silu(a);
    case 9:
        return kn_clamp(a, -2, 3);
    case 10:
        return kn_add_scalar(a, 3);
    case 11:
        return real ? kn_dropout(a, 0.3, true) : kn_add(a, a);
    case 12:
        return kn_div(a, b);
    default:
        return real ? kn_sigmoid(a) : kn_square(a);
    }
}

static kn_tensor view_one(int op, kn_tensor a, kn_shape shape)
{
    int rank = shape.rank;
    switch (op) {
    case 0:
        return kn_reshape(kn_reshape(a, KN_SHAPE(-1)), shape);
    case 1:
        return rank > 1 ? kn_transpose(kn_transpose(a, 0, rank - 1), 0, rank - 1) : kn_flip(a, KN_AXES(0));
    case 2:
        return kn_flip(a, KN_AXES(rank - 1));
    default:
        return kn_expand(kn_narrow(a, 0, shape.dims[0] / 2, 1), shape);
    }
}

static bool group_once(int trial)
{
    char what[64];
    pair pool[POOL];
    int n = 0, kept;
    kn_shape shape = {1 + (int)below(3), {0}};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = 1 + (int64_t)below(i == shape.rank - 1 ? 70 : 9);
    if (below(3) == 0) shape.dims[shape.rank - 1] = 8 * (1 + (int64_t)below(8));
    snprintf(what, sizeof what, "group %d", trial);
    for (int i = 0; i < 4; i++) {
        kn_shape s = shape;
        kn_dtype dtype = dtypes[below(sizeof dtypes / sizeof *dtypes)];
        for (int a = 0; i && a < s.rank; a++)
            if (below(4) == 0) s.dims[a] = 1;
        pool[n++] = random_pair(s, dtype);
    }
    pool[n] = (pair){kn_keep(kn_flip(pool[0].cpu, KN_AXES(0))), kn_keep(kn_flip(pool[0].leaf, KN_AXES(0)))};
    n++;
    kept = n;
    leaf_holds = true;
    int steps = 1 + (int)below(12);
    for (int i = 0; i < steps && n < POOL - 4; i++) {
        int x = (int)below((uint64_t)n), y = (int)below((uint64_t)n);
        kn_dtype dtype = dtypes[below(sizeof dtypes / sizeof *dtypes)];
        bool view = below(4) == 0 && kn_count(pool[x].cpu) == kn_count(pool[0].cpu);
        int op = (int)below(view ? 4 : 14);
        pair p;
        uint64_t counter = 1000 * (uint64_t)trial + (uint64_t)i;
        kn_seed(cpu, counter);
        kn_seed(leaf, counter);
        p.cpu = view ? view_one(op, pool[x].cpu, shape) : step_one(op, pool[x].cpu, pool[y].cpu, dtype);
        if (!kn_ok(p.cpu)) {
            kn_drop(p.cpu);
            continue;
        }
        p.cpu = kn_keep(p.cpu);
        p.leaf = kn_keep(view ? view_one(op, pool[x].leaf, shape)
                              : step_one(op, pool[x].leaf, pool[y].leaf, dtype));
        pool[n++] = p;
    }
    kn_tensor results[POOL];
    int count = 0;
    for (int i = kept; i < n; i++)
        if (i == n - 1 || below(3) == 0) results[count++] = pool[i].leaf;
    bool good = true;
    kn_status s = count ? leaf_release(KNI_GROUP_POINTWISE, results, count) : KN_OK;
    leaf_holds = false;
    if (s == KN_ERROR_UNSUPPORTED) {
        leaf_missing++;
    } else if (s) {
        printf("%s: %s\n", what, leaf_text);
        good = false;
    }
    for (int i = kept, k = 0; i < n && s == KN_OK; i++)
        if (k < count && results[k].bits == pool[i].leaf.bits) {
            good &= same(pool[i], 0, what);
            k++;
        }
    for (int i = 0; i < n; i++) drop_pair(pool[i]);
    return good;
}

/* ---- rows */

static kn_tensor row_one(int op, kn_tensor x, kn_tensor b, int axis, int steps)
{
    kn_ints axes = KN_AXES(axis);
    switch (op) {
    case 0: { /* a norm by hand */
        kn_tensor d = kn_keep(kn_sub(x, kn_mean(x, axes, true)));
        kn_tensor v = kn_mean(kn_square(d), axes, true);
        kn_tensor y = kn_mul(d, kn_rsqrt(kn_add_scalar(v, 1e-5)));
        kn_drop(d);
        return y;
    }
    case 1:
        return kn_softmax(kn_add(kn_mul_scalar(x, 0.5), b), axis);
    case 2:
        return kn_log_softmax(x, axis);
    case 3:
        return kn_sqrt(kn_sum(kn_square(x), axes, steps & 1));
    case 4:
        return kn_max(kn_add(x, b), axes, steps & 1);
    case 5:
        return kn_argmax(x, axis, steps & 1);
    case 6:
        return kn_logsumexp(x, axes, steps & 1);
    case 7:
        return kn_relu(kn_softmax(kn_neg(x), axis));
    case 8:
        return kn_var(x, axes, steps & 1, NULL);
    case 9:
        return kn_div(x, kn_sum(kn_abs(x), axes, true));
    case 10:
        return kn_argmin(kn_mul(x, b), axis, false);
    case 11:
        return kn_mul_scalar(kn_prod(kn_cast(kn_greater_scalar(x, 0), KN_I32), axes, false), 3);
    case 12:
        return kn_any(kn_greater_scalar(x, 6.9), axes, false);
    default:
        return kn_sum(x, axes, true);
    }
}

static bool rows_once(int trial, int op, kn_shape shape, int axis, kn_dtype dtype, bool swapped)
{
    char what[128];
    snprintf(what, sizeof what, "rows %d: op %d, [%lld, %lld], axis %d, dtype %d%s", trial, op,
             (long long)shape.dims[0], (long long)shape.dims[1], axis, (int)dtype,
             swapped ? ", swapped" : "");
    kn_shape other = shape;
    other.dims[below((uint64_t)shape.rank)] = 1;
    pair x = random_pair(shape, dtype), b = random_pair(other, dtype), y;
    if (swapped) {
        pair t = x;
        x = (pair){kn_keep(kn_transpose(t.cpu, 0, shape.rank - 1)),
                   kn_keep(kn_transpose(t.leaf, 0, shape.rank - 1))};
        drop_pair(t);
        t = b;
        b = (pair){kn_keep(kn_transpose(t.cpu, 0, shape.rank - 1)),
                   kn_keep(kn_transpose(t.leaf, 0, shape.rank - 1))};
        drop_pair(t);
    }
    y.cpu = kn_keep(row_one(op, x.cpu, b.cpu, axis, trial));
    leaf_holds = true;
    y.leaf = kn_keep(row_one(op, x.leaf, b.leaf, axis, trial));
    kn_status s = leaf_release(KNI_GROUP_ROWS, &y.leaf, 1);
    bool good = s == KN_OK;
    if (s == KN_ERROR_UNSUPPORTED) {
        leaf_missing++;
        printf("%s: no schedule\n", what);
    } else if (s) {
        printf("%s: %s\n", what, leaf_text);
    }
    double width = (double)kn_size(x.cpu, axis);
    double eps = dtype == KN_F16 ? 1e-3 : dtype == KN_BF16 ? 8e-3 : 2.4e-7;
    if (s == KN_OK) good = same(y, op == 5 || op == 10 ? 0 : 8 * eps * sqrt(width), what);
    drop_pair(x);
    drop_pair(b);
    drop_pair(y);
    return good;
}

static int many_rows(int trials)
{
    static const kn_dtype floats[] = {KN_F32, KN_BF16, KN_F16, KN_F64, KN_F32};
    static const int64_t widths[] = {1,   2,   7,    16,   33,   64,   128,   200,
                                     256, 777, 1024, 2048, 4100, 9000, 65536, 70001};
    int bad = 0;
    for (int i = 0; i < trials && bad < 5; i++) {
        int64_t width = widths[below(16)], rows = 1 + (int64_t)below(width > 3000  ? 3
                                                                     : width > 500 ? 20
                                                                                   : 90);
        if (width < 8 && below(2)) rows = 2048 + (int64_t)below(100);
        int axis = (int)below(2), op = (int)below(14);
        kn_shape shape = axis ? KN_SHAPE(rows, width) : KN_SHAPE(width, rows);
        bool swapped = below(3) == 0;
        leaf_caps.max_workgroup = below(2) ? 64 : 256;
        leaf_caps.subgroups = below(2) == 0;
        leaf_target.processors = below(2) ? 2 : 16;
        specials = below(5) == 0;
        bad += !CHECK(rows_once(i, op, shape, swapped ? 1 - axis : axis, floats[below(5)], swapped));
    }
    return bad;
}

/* ---- updates of many tensors, and gradients of a norm together */

static void updates(kn_dtype dtype)
{
    static const int64_t sizes[] = {1, 10, 512, 700, 64, 3, 4096, 33, 8, 128, 16, 5, 1000, 9, 64, 256, 40};
    enum { N = sizeof sizes / sizeof *sizes };
    pair in[N][4], out[N][4];
    kni_adam_attributes a = {0.01, 0.9, 0.999, 1e-8, 0.1, 3, 1, 0};
    kn_tensor results[3 * N];
    specials = false;
    leaf_caps.max_workgroup = 256;
    for (int i = 0; i < N; i++) {
        if (i == N / 2) a.lr = 0.02;
        kn_tensor operands[6] = {{0}}, got[4];
        for (int k = 0; k < 4; k++) in[i][k] = random_pair(KN_SHAPE(sizes[i]), dtype);
        in[i][3] = (pair){kn_keep(kn_square(in[i][3].cpu)), kn_keep(kn_square(in[i][3].leaf))};
        for (int k = 0; k < 4; k++) operands[k] = in[i][k].cpu;
        kni_apply_many(&kni_op_adam_update, operands, 4, &a, got, 4);
        for (int k = 0; k < 4; k++) out[i][k].cpu = kn_keep(got[k]);
        for (int k = 0; k < 4; k++) operands[k] = in[i][k].leaf;
        leaf_holds = true;
        kni_apply_many(&kni_op_adam_update, operands, 4, &a, got, 4);
        leaf_holds = false;
        for (int k = 0; k < 4; k++) out[i][k].leaf = kn_keep(got[k]);
        for (int k = 0; k < 3; k++) results[i * 3 + k] = out[i][k].leaf;
    }
    CHECK(leaf_release(KNI_GROUP_MANY, results, 3 * N) == KN_OK);
    if (leaf_text[0]) printf("%s\n", leaf_text);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 4; k++) {
            if (k < 3) CHECK(same(out[i][k], dtype == KN_F32 ? 1e-6 : 8e-3, "adam"));
            drop_pair(in[i][k]);
            drop_pair(out[i][k]);
        }
}

static void norm_gradients(kn_dtype dtype, int64_t rows, int64_t width)
{
    kni_layer_norm_attributes a = {1, 1e-5};
    specials = false;
    pair dy = random_pair(KN_SHAPE(rows, width), dtype), x = random_pair(KN_SHAPE(rows, width), dtype),
         w = random_pair(KN_SHAPE(width), dtype), out[3];
    kn_tensor got[2];
    for (int side = 0; side < 2; side++) {
        kn_tensor in[3] = {side ? dy.leaf : dy.cpu, side ? x.leaf : x.cpu, side ? w.leaf : w.cpu};
        leaf_holds = side;
        kn_tensor dx = kn_keep(kni_apply(&kni_op_layer_norm_grad, in, 3, &a));
        kni_apply_many(&kni_op_layer_norm_affine_grad, in, 2, &a, got, 2);
        *(side ? &out[0].leaf : &out[0].cpu) = dx;
        for (int k = 0; k < 2; k++) *(side ? &out[k + 1].leaf : &out[k + 1].cpu) = kn_keep(got[k]);
    }
    kn_tensor results[3] = {out[0].leaf, out[1].leaf, out[2].leaf};
    CHECK(leaf_release(KNI_GROUP_ROWS, results, 3) == KN_OK);
    if (leaf_text[0]) printf("%s\n", leaf_text);
    double eps = dtype == KN_F32 ? 1e-6 : dtype == KN_F64 ? 1e-13 : 1e-2;
    for (int k = 0; k < 3; k++) CHECK(same(out[k], eps * sqrt((double)(k ? rows : width)), "norm"));
    for (int k = 0; k < 3; k++) drop_pair(out[k]);
    drop_pair(dy);
    drop_pair(x);
    drop_pair(w);
}

/* A norm's gradient, those of its weights and the sum of the rounded result over the rows: one walk over the rows. */
static void sums_across(int64_t rows, int64_t width)
{
    kni_layer_norm_attributes a = {1, 1e-5};
    specials = false;
    pair dy = random_pair(KN_SHAPE(rows, width), KN_BF16), x = random_pair(KN_SHAPE(rows, width), KN_F32),
         w = random_pair(KN_SHAPE(width), KN_F32), out[5];
    for (int side = 0; side < 2; side++) {
        kn_tensor got[5];
        leaf_holds = side;
        kn_tensor in[3] = {kn_keep(kn_cast(side ? dy.leaf : dy.cpu, KN_F32)), side ? x.leaf : x.cpu,
                           side ? w.leaf : w.cpu};
        got[0] = kn_keep(kni_apply(&kni_op_layer_norm_grad, in, 3, &a));
        kni_apply_many(&kni_op_layer_norm_affine_grad, in, 2, &a, got + 1, 2);
        got[3] = kn_keep(kn_cast(got[0], KN_BF16));
        got[4] = kn_cast(kn_sum(got[3], KN_AXES(0), false), KN_F32);
        for (int k = 0; k < 5; k++) *(side ? &out[k].leaf : &out[k].cpu) = kn_keep(got[k]);
        leaf_holds = false;
        if (!side) kn_drop(in[0]);
    }
    kn_tensor results[5];
    for (int k = 0; k < 5; k++) results[k] = out[k].leaf;
    CHECK(leaf_release(KNI_GROUP_ROWS, results, 5) == KN_OK);
    if (leaf_text[0]) printf("%s\n", leaf_text);
    static const double eps[5] = {1e-6, 1e-6, 1e-6, 8e-3, 8e-3};
    for (int k = 0; k < 5; k++) CHECK(same(out[k], eps[k] * sqrt((double)rows), "sums across"));
    for (int k = 0; k < 5; k++) drop_pair(out[k]);
    drop_pair(dy);
    drop_pair(x);
    drop_pair(w);
}

/* Rows too long to be held: the largest and the sum below it are found in one walk. Rows of nothing but -inf, rows that
   begin with it, and NaN give what two walks give. */
static void long_losses(kn_dtype dtype)
{
    enum { ROWS = 6, WIDTH = 20000 };
    static double values[ROWS * WIDTH];
    double targets[ROWS] = {5, WIDTH - 1, 7, -100, 3, 0};
    for (int64_t i = 0; i < (int64_t)ROWS * WIDTH; i++) {
        int64_t row = i / WIDTH, k = i % WIDTH;
        values[i] = (double)(int64_t)below(2000) / 128 - 7;
        if (row == 2 || (row == 1 && k < WIDTH / 2)) values[i] = -INFINITY;
        if (row == 4 && k == 999) values[i] = NAN;
        if (row == 5) values[i] += (double)(k * 80 / WIDTH); /* ever larger */
    }
    kni_cross_entropy_attributes a = {-100, 0};
    pair x = both_from(values, KN_SHAPE(ROWS, WIDTH), dtype), t = both_from(targets, KN_SHAPE(ROWS), KN_I64),
         out[4];
    leaf_caps.max_workgroup = 256;
    leaf_target.processors = 2;
    for (int side = 0; side < 2; side++) {
        kn_tensor got[4], in[3] = {side ? x.leaf : x.cpu, side ? t.leaf : t.cpu, KN_NONE};
        kni_apply_many(&kni_op_cross_entropy, in, 3, &a, got, 3);
        for (int k = 0; k < 3; k++) got[k] = kn_keep(got[k]);
        kn_tensor grad[5] = {kn_ones(KN_SHAPE(ROWS), KN_F32), in[0], in[1], got[1], KN_NONE};
        if (side) grad[0] = kn_to(grad[0], leaf);
        got[3] = kn_keep(kni_apply(&kni_op_cross_entropy_grad, grad, 5, &a));
        for (int k = 0; k < 4; k++) *(side ? &out[k].leaf : &out[k].cpu) = got[k];
    }
    for (int k = 0; k < 4; k++)
        CHECK(same(out[k], k < 3 ? 4e-7 : dtype == KN_F32 ? 1e-6 : 8e-3, "a loss over long rows"));
    for (int k = 0; k < 4; k++) drop_pair(out[k]);
    drop_pair(x);
    drop_pair(t);
}

/* Gradients of both softmaxes, and the bits of random numbers that take two words each. */
static void softmax_gradients(kn_dtype dtype)
{
    static const kn_op *const rows[] = {&kni_op_softmax_grad, &kni_op_log_softmax_grad};
    kni_softmax_attributes a = {.axis = 1};
    specials = false;
    for (int row = 0; row < 2; row++) {
        pair dy = random_pair(KN_SHAPE(9, 40), dtype), x = random_pair(KN_SHAPE(9, 40), dtype), y, dx;
        y.cpu = kn_keep(row ? kn_log_softmax(x.cpu, 1) : kn_softmax(x.cpu, 1));
        y.leaf = kn_keep(kn_to(y.cpu, leaf));
        kn_tensor in[2] = {dy.cpu, y.cpu}, on[2] = {dy.leaf, y.leaf};
        dx.cpu = kn_keep(kni_apply(rows[row], in, 2, &a));
        dx.leaf = kn_keep(kni_apply(rows[row], on, 2, &a));
        CHECK(same(dx, dtype == KN_F64 ? 1e-13 : 2e-6, rows[row]->name));
        drop_pair(dy), drop_pair(x), drop_pair(y), drop_pair(dx);
    }
    specials = true;
}

static void random_numbers(kn_dtype dtype)
{
    pair x;
    kn_seed(cpu, 77);
    kn_seed(leaf, 77);
    kn_device_use(cpu);
    x.cpu = kn_keep(kn_random_uniform(KN_SHAPE(500), -2, 5, dtype));
    kn_device_use(leaf);
    x.leaf = kn_keep(kn_random_uniform(KN_SHAPE(500), -2, 5, dtype));
    kn_device_use(cpu);
    CHECK(same(x, 0, "uniform numbers"));
    drop_pair(x);
}

/* gelu by its shorter formula: within the row's tolerance, relative, on all of its range. */
static void short_gelu(kn_dtype dtype)
{
    enum { N = 4096 };
    static double values[N], a[N], b[N];
    for (int i = 0; i < N; i++) values[i] = (i - N / 2) / 256.0;
    values[0] = INFINITY;
    values[1] = NAN;
    pair x = both_from(values, KN_SHAPE(N), dtype);
    static const kn_op *const rows[] = {&kni_op_gelu_approximate, &kni_op_gelu_approximate_grad, &kni_op_gelu,
                                        &kni_op_gelu_grad};
    for (int row = 0; row < 4; row++) {
        int gradient = row % 2;
        kn_tensor in[2] = {x.cpu, x.cpu}, on[2] = {x.leaf, x.leaf};
        pair y = {kn_keep(kni_apply(rows[row], in, 1 + gradient, NULL)),
                  kn_keep(kni_apply(rows[row], on, 1 + gradient, NULL))};
        CHECK(kn_read_as(y.cpu, KN_F64, a, sizeof a) == KN_OK &&
              kn_read_as(y.leaf, KN_F64, b, sizeof b) == KN_OK);
        double eps = dtype == KN_F32 ? 1.2e-7 : dtype == KN_BF16 ? 7.9e-3 : 9.8e-4, worst = 0;
        for (int i = 0; i < N; i++) {
            if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))) continue;
            /* A gradient's terms cancel where it is near 0; f16 has few digits below 6e-5. */
            double error = fabs(a[i] - b[i]) / fmax(fabs(a[i]), gradient          ? fabs(values[i])
                                                                : dtype == KN_F16 ? 6.2e-5
                                                                                  : 1e-37);
            if (!(error <= worst)) worst = error;
        }
        if (!CHECK(worst <= 5 * eps))
            printf("%s of %s: off by %g eps\n", rows[row]->name, kn_dtype_name(dtype), worst / eps);
        drop_pair(y);
    }
    drop_pair(x);
}

/* Under fusion: what belongs together is one group, casts of many tensors are one launch, and nothing is refused. */
static void under_fusion(void)
{
    enum { WEIGHTS = 12 };
    kn_device fused = kn_device_open("autodiff(fusion(leaf))");
    CHECK(fused != NULL);
    double expected[3] = {0};
    for (int side = 0; side < 2; side++) {
        kn_scope scope = kn_scope_begin();
        kn_device_use(side ? fused : kn_device_open("autodiff(cpu)"));
        seed = 4711;
        static double values[WEIGHTS * 60 + 5 * 7 * 12];
        for (size_t i = 0; i < sizeof values / sizeof *values; i++)
            values[i] = (double)(int64_t)below(2000) / 512 - 2;
        kn_tensor x = kn_require_grad(kn_cast(kn_from(values, KN_F64, KN_SHAPE(5, 7, 12)), KN_F32));
        kn_tensor gain = kn_require_grad(kn_cast(kn_from(values + 50, KN_F64, KN_SHAPE(12)), KN_F32)),
                  sum = KN_NONE;
        kn_tensor rounded[WEIGHTS];
        for (int i = 0; i < WEIGHTS; i++) {
            kn_tensor w = kn_keep(kn_cast(kn_from(values + 420 + i * 60, KN_F64, KN_SHAPE(5, 12)), KN_F32));
            CHECK(kn_sync(NULL) == KN_OK);
            rounded[i] = kn_keep(kn_cast(w, KN_BF16));
        }
        leaf_groups = leaf_refused = leaf_scheduled = 0;
        kn_tensor h = kn_layer_norm(kn_cast(x, KN_BF16), kn_cast(gain, KN_BF16), KN_NONE, 1, 1e-5);
        kn_tensor loss = kn_keep(kn_cross_entropy(kn_flatten(kn_mul(kn_cast(h, KN_F32), x), 0, 1),
                                                  kn_zeros(KN_SHAPE(35), KN_I64), NULL));
        kn_tensor wrt[2] = {x, gain}, grads[2];
        CHECK(kn_grad(&loss, NULL, 1, wrt, 2, 0, grads) == KN_OK);
        kn_tensor g = kn_keep(grads[0]);
        kn_tensor across = kn_sum(kn_flatten(g, 0, 1), KN_AXES(0), false);
        for (int i = 0; i < WEIGHTS; i++) {
            kn_tensor part = kn_sum(kn_cast(rounded[i], KN_F32), KN_AXES_ALL, false);
            sum = sum.bits ? kn_add(sum, part) : part;
        }
        double got[3] = {kn_item(kn_sum(kn_square(across), KN_AXES_ALL, false)),
                         kn_item(kn_sum(kn_square(grads[1]), KN_AXES_ALL, false)), kn_item(sum)};
        for (int k = 0; k < 3; k++) {
            if (side) CHECK(fabs(got[k] - expected[k]) <= 2e-3 * fmax(1, fabs(expected[k])));
            expected[k] = got[k];
        }
        CHECK(!side || leaf_refused == 0);
        CHECK(!side || leaf_groups > 2);
        kn_scope_end(scope, KN_NONE);
    }
    kn_device_use(cpu);
}

/* The sums of a group's rows are seen with another axis inside of the group: a view has all of its strides, at every rank. */
static void views_of_every_rank(void)
{
    kn_device fused = kn_device_open("fusion(leaf)");
    for (int rank = 2; rank <= KN_MAX_RANK; rank++) {
        kn_scope scope = kn_scope_begin();
        static double want[1 << 9];
        kn_shape shape = {rank, {2, 2, 2, 2, 2, 2, 2, 2}};
        int n = 4 << (rank - 1);
        shape.dims[rank - 1] = 4;
        for (int side = 0; side < 2; side++) {
            kn_device_use(side ? fused : cpu);
            kn_tensor x = kn_keep(kn_reshape(kn_sin(kn_arange(0, n, 1, KN_F32)), shape));
            CHECK(kn_sync(NULL) == KN_OK);
            leaf_refused = leaf_groups = 0;
            kn_tensor y = kn_keep(kn_sub(x, kn_unsqueeze(kn_sum(x, KN_AXES(-1), false), -1)));
            if (side)
                for (int i = 0; i < n; i += 256) {
                    kn_tensor part = kn_narrow(kn_reshape(y, KN_SHAPE(n)), 0, i, n - i < 256 ? n - i : 256);
                    check_values(part, want + i, n - i < 256 ? n - i : 256, 1e-5, __FILE__, __LINE__);
                }
            else
                CHECK(kn_read_as(y, KN_F64, want, (size_t)n * sizeof *want) == KN_OK);
        }
        CHECK(leaf_groups == 1 && leaf_refused == 0);
        kn_scope_end(scope, KN_NONE);
    }
    kn_device_use(cpu);
}

/* New memory has this in each byte; 0: what chance has left there. */
static void fill_new_memory(int byte)
{
#ifdef __GLIBC__
    (void)mallopt(M_PERTURB, byte ? ~byte & 255 : 0);
#else
    (void)byte;
#endif
}

/* Kernels read and write vectors of 16 bytes where all elements begin at a multiple of them, whatever was in the memory before in
   which they are laid out. */
static void vectors_are_wide(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(leaf);
    fill_new_memory(0x55);
    kn_tensor x = kn_keep(kn_arange(0, 1024, 1, KN_F32)), h = kn_keep(kn_arange(0, 1024, 1, KN_F16));
    CHECK(kn_ok(kn_add(x, kn_exp(x))) && leaf_aligned == 4);
    CHECK(kn_ok(kn_mul(h, h)) && leaf_aligned == 8);
    CHECK(kn_ok(kn_neg(kn_narrow(x, 0, 1, 1020))) && leaf_aligned == 1);
    fill_new_memory(0);
    kn_device_use(NULL);
    kn_scope_end(scope, KN_NONE);
}

int main(int argc, char **argv)
{
    kn_backend_register("leaf", leaf_open);
    cpu = kn_device_open("cpu");
    leaf = kn_device_open("leaf");
    CHECK(leaf != NULL);
    int trials = argc > 1 ? atoi(argv[1]) : 150;
    int bad = 0;
    for (int i = 0; i < trials && bad < 5; i++) bad += !CHECK(group_once(i));
    updates(KN_F32);
    updates(KN_BF16);
    norm_gradients(KN_F32, 37, 64);
    norm_gradients(KN_F64, 5, 33);
    norm_gradients(KN_BF16, 70, 512);
    sums_across(37, 64);
    sums_across(90, 200);
    long_losses(KN_F32);
    long_losses(KN_BF16);
    softmax_gradients(KN_F32);
    softmax_gradients(KN_F64);
    random_numbers(KN_F32);
    random_numbers(KN_F64);
    short_gelu(KN_F32);
    short_gelu(KN_BF16);
    short_gelu(KN_F16);
    under_fusion();
    views_of_every_rank();
    vectors_are_wide();
    if (argc <= 2) many_rows(argc > 1 ? trials : 80);
    printf("scheduled %d missing %d\n", leaf_scheduled, leaf_missing);
    return check_report();
}
