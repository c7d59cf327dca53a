/* The generator of random programs over the op table: what steps there are, how one is drawn, how one is run. */
#ifndef PROGRAM_MAKER_H
#define PROGRAM_MAKER_H

#include "support/check.h"
#include <kn/call.h>
#include <kn/op_info.h>
#include <stdlib.h>

enum { MOST = 48, LEAVES = 6, MOST_ROWS = 400 };

typedef enum what {
    ROW1,
    ROW2,
    ROW3,
    COMPARE,
    WHERE,
    NUMBER,
    CAST,
    SUM,
    MEAN,
    MAXIMUM,
    LOGSUMEXP,
    VARIANCE,
    SOFTMAX,
    LOG_SOFTMAX,
    LAYER_NORM,
    RMS_NORM,
    PERMUTE,
    RESHAPE,
    EXPAND,
    FLIP,
    SLICED,
    CONCAT,
    MATMUL,
    LINEAR,
    CUMSUM,
    ARGMAX,
    TAKE,
    DROPOUT,
    ROLL,
    TRIU,
    MSE,
    DETACH,
    WHATS
} what;
/* How often each kind is drawn. */
static const unsigned char weights[WHATS] = {
    [ROW1] = 40,   [ROW2] = 40,       [ROW3] = 6,       [COMPARE] = 4,  [WHERE] = 8,     [NUMBER] = 20,
    [CAST] = 6,    [SUM] = 8,         [MEAN] = 8,       [MAXIMUM] = 6,  [LOGSUMEXP] = 2, [VARIANCE] = 3,
    [SOFTMAX] = 5, [LOG_SOFTMAX] = 3, [LAYER_NORM] = 5, [RMS_NORM] = 3, [PERMUTE] = 8,   [RESHAPE] = 8,
    [EXPAND] = 6,  [FLIP] = 2,        [SLICED] = 6,     [CONCAT] = 4,   [MATMUL] = 6,    [LINEAR] = 3,
    [CUMSUM] = 2,  [ARGMAX] = 1,      [TAKE] = 3,       [DROPOUT] = 5,  [ROLL] = 1,      [TRIU] = 1,
    [MSE] = 2,     [DETACH] = 1};

typedef struct step {
    what what;
    int row;   /* of ROW1 to ROW3 */
    int in[3]; /* values: leaves first, then results */
    int uses;  /* of its result by later steps */
    int64_t number;
    double real;
    kn_shape list;
    bool keep, output, read, drop;
} step;

typedef struct program {
    int n_leaves, n_steps;
    kn_shape shapes[LEAVES];
    kn_dtype dtypes[LEAVES];
    step steps[MOST];
    uint64_t seed;
} program;

static uint64_t state;
static uint64_t draw(void)
{
    state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = state;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
static int below(int n) { return (int)(draw() % (uint64_t)n); }

/* ---- the rows of the table that compute elements */

static kn_op_info rows[MOST_ROWS];
static int row_lists[4][MOST_ROWS], row_counts[4];

static void list_rows(void)
{
    int n = 0;
    for (int32_t i = 0; i < kn_op_count() && n < MOST_ROWS; i++) {
        kn_op_info info;
        if (!kn_op_at(i, &info) || strcmp(info.kind, "elementwise") || !info.has_body) continue;
        if (info.n_out != 1 || info.min_in != info.max_in || info.max_in > 3 ||
            info.gradient == KN_GRADIENT_ERROR)
            continue;
        rows[n] = info;
        row_lists[info.max_in][row_counts[info.max_in]++] = n++;
    }
}

/* ---- values by place: leaves, then results */

typedef struct values {
    kn_tensor t[LEAVES + MOST];
    int n;
} values;

static int pick(const values *v) { return v->n - 1 - below(1 + below(v->n)); }

/* A value whose shape broadcasts with that of x; x itself where none is found. */
static int partner(const values *v, int x)
{
    for (int tries = 0; tries < 12; tries++) {
        int k = pick(v);
        kn_shape a = kn_shape_of_tensor(v->t[x]), b = kn_shape_of_tensor(v->t[k]);
        bool good = true;
        for (int i = 1; i <= a.rank && i <= b.rank; i++) {
            int64_t p = a.dims[a.rank - i], q = b.dims[b.rank - i];
            good = good && (p == q || p == 1 || q == 1);
        }
        if (good) return k;
    }
    return x;
}

static kn_ints some_axes(int rank)
{
    kn_ints axes = {0, {0}};
    for (int i = 0; i < rank; i++)
        if (below(2)) axes.dims[axes.rank++] = i;
    return axes;
}

static void shuffle_shape(step *s, kn_shape from)
{
    int64_t n = 1;
    for (int i = 0; i < from.rank; i++) n *= from.dims[i];
    s->list = (kn_shape){0, {0}};
    while (n > 1 && s->list.rank < 3) {
        int64_t d = 1 + below((int)(n < 40 ? n : 40));
        while (n % d) d--;
        s->list.dims[s->list.rank++] = d;
        n /= d;
    }
    s->list.dims[s->list.rank++] = n;
}

/* ---- one step, on any device */

static kn_tensor by_row(const kn_op_info *row, const kn_tensor *in, int n, double real)
{
    kn_attribute_value numbers[5] = {{0}};
    kn_tensor out;
    for (int i = 0; i < row->n_attributes && i < 4; i++) {
        kn_attribute_info a;
        if (!kn_op_attribute(row->number, i, &a)) continue;
        numbers[i].name = a.name;
        numbers[i].real = real * (i + 1) * (i + 1);
        numbers[i].integer = 1;
    }
    (void)kn_call(row->name, in, n, numbers, &out, 1);
    return out;
}

static kn_tensor run_step(const step *s, kn_tensor a, kn_tensor b, kn_tensor c)
{
    int32_t axis = (int32_t)s->number;
    kn_tensor in[3] = {a, b, c};
    switch (s->what) {
    case ROW1:
        return by_row(&rows[s->row], in, 1, s->real);
    case ROW2:
        return by_row(&rows[s->row], in, 2, s->real);
    case ROW3:
        return by_row(&rows[s->row], in, 3, s->real);
    case COMPARE:
        return kn_less(a, b);
    case WHERE:
        return kn_where(kn_greater(a, kn_scalar(s->real, kn_dtype_of(a))), b, c);
    case NUMBER:
        return s->number % 3 == 0   ? kn_mul_scalar(a, s->real)
               : s->number % 3 == 1 ? kn_add_scalar(a, s->real)
                                    : kn_div_scalar(a, 1 + s->real * s->real);
    case CAST:
        return kn_cast(a, (kn_dtype)s->number);
    case SUM:
        return kn_sum(a, s->list, s->number & 1);
    case MEAN:
        return kn_mean(a, s->list, s->number & 1);
    case MAXIMUM:
        return s->number & 2 ? kn_max(a, s->list, s->number & 1) : kn_min(a, s->list, s->number & 1);
    case LOGSUMEXP:
        return kn_logsumexp(a, s->list, s->number & 1);
    case VARIANCE:
        return kn_var(a, s->list, s->number & 1, NULL);
    case SOFTMAX:
        return kn_softmax(a, axis);
    case LOG_SOFTMAX:
        return kn_log_softmax(a, axis);
    case LAYER_NORM:
        return kn_layer_norm(a, KN_NONE, KN_NONE, 1, 1e-5);
    case RMS_NORM:
        return kn_rms_norm(a, KN_NONE, 1, 1e-5);
    case PERMUTE:
        return kn_permute(a, s->list);
    case RESHAPE:
        return kn_reshape(a, s->list);
    case EXPAND:
        return kn_expand(a, s->list);
    case FLIP:
        return kn_flip(a, s->list);
    case SLICED:
        return kn_narrow(a, axis, (int64_t)s->real, s->list.dims[0]);
    case CONCAT:
        return kn_concat(in, 2, axis);
    case MATMUL:
        return kn_matmul(a, b);
    case LINEAR:
        return kn_linear(a, b, KN_NONE);
    case CUMSUM:
        return kn_cumsum(a, axis);
    case ARGMAX:
        return kn_argmax(a, axis, false);
    case TAKE:
        return kn_take(a, kn_from((int64_t[]){0, 0}, KN_I64, KN_SHAPE(2)), axis);
    case DROPOUT:
        return kn_dropout(a, 0.3, true);
    case ROLL:
        return kn_roll_dim(a, 1, axis);
    case TRIU:
        return kn_triu(a, s->number);
    case MSE:
        return kn_mse_loss(a, b, KN_REDUCTION_MEAN);
    default:
        return kn_detach(kn_alias(a));
    }
}

/* ---- making programs: each step is tried on the CPU, and one that is an error is drawn again */

static what draw_what(void)
{
    int total = 0;
    for (int i = 0; i < WHATS; i++) total += weights[i];
    int at = below(total), k = 0;
    while (at >= weights[k]) at -= weights[k++];
    return (what)k;
}

static int arity(what w)
{
    return w == ROW3 || w == WHERE                                                              ? 3
           : w == ROW2 || w == COMPARE || w == CONCAT || w == MATMUL || w == LINEAR || w == MSE ? 2
                                                                                                : 1;
}

static void fill_step(step *s, const values *v)
{
    static const kn_dtype dtypes[] = {KN_F32,  KN_F32, KN_F32, KN_F64, KN_F16,
                                      KN_BF16, KN_I32, KN_I64, KN_U8,  KN_BOOL};
    memset(s, 0, sizeof *s);
    s->what = draw_what();
    s->in[0] = pick(v);
    kn_shape shape = kn_shape_of_tensor(v->t[s->in[0]]);
    s->in[1] = s->in[2] = s->in[0];
    if (arity(s->what) > 1) s->in[1] = partner(v, s->in[0]);
    if (arity(s->what) > 2) s->in[2] = partner(v, s->in[0]);
    if (s->what <= ROW3) s->row = row_lists[1 + s->what][below(row_counts[1 + s->what])];
    s->real = (double)(below(400) - 200) / 100;
    s->number = below(shape.rank ? shape.rank : 1);
    if (s->what >= SUM && s->what <= VARIANCE) {
        s->list = some_axes(shape.rank);
        s->number = below(4);
    }
    if (s->what == NUMBER) s->number = below(3);
    if (s->what == CAST) s->number = dtypes[below(10)];
    if (s->what == FLIP) s->list = some_axes(shape.rank);
    if (s->what == RESHAPE) shuffle_shape(s, shape);
    if (s->what == PERMUTE) {
        s->list = shape;
        for (int i = 0; i < shape.rank; i++) s->list.dims[i] = i;
        for (int i = shape.rank - 1; i > 0; i--) {
            int k = below(i + 1);
            int64_t swap = s->list.dims[i];
            s->list.dims[i] = s->list.dims[k], s->list.dims[k] = swap;
        }
    }
    if (s->what == EXPAND) {
        s->list = shape;
        for (int i = 0; i < shape.rank; i++)
            if (shape.dims[i] == 1) s->list.dims[i] = 1 + below(5);
        if (shape.rank < 3 && below(2)) {
            for (int i = s->list.rank++; i > 0; i--) s->list.dims[i] = s->list.dims[i - 1];
            s->list.dims[0] = 1 + below(4);
        }
    }
    if (s->what == SLICED && shape.rank) {
        int64_t size = shape.dims[s->number], start = size ? below((int)(size < 1000 ? size : 1000)) : 0;
        s->real = (double)start;
        s->list.dims[0] = size - start > 0 ? 1 + below((int)(size - start < 1000 ? size - start : 1000)) : 0;
    }
}

static kn_tensor leaf(const program *p, int i)
{
    kn_tensor x = kn_random_normal(p->shapes[i], 0, 1, KN_F32);
    return p->dtypes[i] == KN_F32 ? x : kn_cast(kn_mul_scalar(x, 3), p->dtypes[i]);
}

static void make_leaves(program *p)
{
    static const int sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 16, 33};
    static const kn_dtype dtypes[] = {KN_F32, KN_F32, KN_F32,  KN_F32, KN_F32,
                                      KN_F64, KN_F16, KN_BF16, KN_I32, KN_BOOL};
    bool large = below(25) == 0;
    p->n_leaves = 2 + below(LEAVES - 1);
    kn_shape base = {below(4), {0}};
    for (int i = 0; i < base.rank; i++) base.dims[i] = sizes[below(10)];
    if (large && base.rank) base.dims[base.rank - 1] = 1500 + below(3000);
    for (int i = 0; i < p->n_leaves; i++) {
        p->dtypes[i] = dtypes[below(10)];
        p->shapes[i] = base;
        for (int a = 0; a < base.rank; a++)
            if (below(5) == 0) p->shapes[i].dims[a] = 1;
        if (base.rank && below(4) == 0) {
            p->shapes[i].rank--;
            memmove(p->shapes[i].dims, base.dims + 1, (size_t)(base.rank - 1) * sizeof *base.dims);
        }
    }
}

static void make_program(program *p, uint64_t seed, kn_device cpu)
{
    memset(p, 0, sizeof *p);
    state = p->seed = seed;
    make_leaves(p);
    kn_device_use(cpu);
    kn_scope scope = kn_scope_begin();
    values v = {.n = 0};
    for (int i = 0; i < p->n_leaves; i++) v.t[v.n++] = kn_keep(leaf(p, i));
    int wanted = 3 + below(MOST - 3);
    for (int tries = 0; p->n_steps < wanted && tries < 200; tries++) {
        step *s = &p->steps[p->n_steps];
        fill_step(s, &v);
        kn_tensor y = kn_keep(run_step(s, v.t[s->in[0]], v.t[s->in[1]], v.t[s->in[2]]));
        if (!kn_ok(y) || kn_count(y) > 300000) continue;
        for (int k = 0; k < arity(s->what); k++)
            if (s->in[k] >= p->n_leaves) p->steps[s->in[k] - p->n_leaves].uses++;
        s->output = below(4) == 0;
        s->read = below(24) == 0;
        s->drop = below(8) == 0;
        v.t[v.n++] = y;
        p->n_steps++;
    }
    if (p->n_steps) p->steps[p->n_steps - 1].output = true;
    for (int i = 0; i < p->n_steps; i++)
        p->steps[i].keep = p->steps[i].uses > 1 || p->steps[i].output || below(3) == 0;
    kn_scope_end(scope, KN_NONE);
}

static void print_program(const program *p)
{
    char text[200];
    for (int i = 0; i < p->n_leaves; i++) {
        printf("  v%d = %s [", i, kn_dtype_name(p->dtypes[i]));
        for (int a = 0; a < p->shapes[i].rank; a++) printf(" %lld", (long long)p->shapes[i].dims[a]);
        printf(" ]\n");
    }
    for (int i = 0; i < p->n_steps; i++) {
        const step *s = &p->steps[i];
        snprintf(text, sizeof text, "%d", s->what);
        printf("  v%d = %s(", p->n_leaves + i, s->what <= ROW3 ? rows[s->row].name : text);
        for (int k = 0; k < arity(s->what); k++) printf("%sv%d", k ? ", " : "", s->in[k]);
        printf(") %lld %g%s%s%s\n", (long long)s->number, s->real, s->keep ? " kept" : "",
               s->output ? " output" : "", s->read ? " read" : "");
    }
}

#endif
