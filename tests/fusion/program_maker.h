/* The generator of random programs over the op table: how a step is drawn, how a program is made and told. */
#ifndef PROGRAM_MAKER_H
#define PROGRAM_MAKER_H

#include "program_layers.h"

/* ---- values by place: leaves, then results */

enum { MOST_ELEMENTS = 300000 };

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

/* A value of the same shape and dtype; x itself where none is found. */
static int twin(const values *v, int x)
{
    kn_shape a = kn_shape_of_tensor(v->t[x]);
    for (int tries = 0; tries < 12; tries++) {
        int k = pick(v);
        kn_shape b = kn_shape_of_tensor(v->t[k]);
        bool good = a.rank == b.rank && kn_dtype_of(v->t[x]) == kn_dtype_of(v->t[k]);
        for (int i = 0; i < a.rank && good; i++) good = a.dims[i] == b.dims[i];
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
    int64_t n = count_of(from);
    s->list = (kn_shape){0, {0}};
    while (n > 1 && s->list.rank < 3) {
        int64_t d = 1 + below((int)(n < 40 ? n : 40));
        while (n % d) d--;
        s->list.dims[s->list.rank++] = d;
        n /= d;
    }
    s->list.dims[s->list.rank++] = n;
}

/* ---- making programs: each step is tried on the CPU, and one that is an error is drawn again */

static what draw_what(void)
{
    int total = 0;
    for (int i = 0; i < WHATS; i++) total += kinds[i].weight;
    int at = below(total), k = 0;
    while (at >= kinds[k].weight) at -= kinds[k++].weight;
    return (what)k;
}

static void draw_order(step *s, kn_shape shape)
{
    s->list = shape;
    for (int i = 0; i < shape.rank; i++) s->list.dims[i] = i;
    for (int i = shape.rank - 1; i > 0; i--) {
        int k = below(i + 1);
        int64_t swap = s->list.dims[i];
        s->list.dims[i] = s->list.dims[k], s->list.dims[k] = swap;
    }
}

static void draw_larger(step *s, kn_shape shape)
{
    s->list = shape;
    for (int i = 0; i < shape.rank; i++)
        if (shape.dims[i] == 1) s->list.dims[i] = 1 + below(5);
    if (shape.rank < 3 && below(2)) {
        for (int i = s->list.rank++; i > 0; i--) s->list.dims[i] = s->list.dims[i - 1];
        s->list.dims[0] = 1 + below(4);
    }
}

/* A part of the axis: where it begins, and how long it is. */
static void draw_part(step *s, int64_t size)
{
    s->choice = size ? below((int)(size < 1000 ? size : 1000)) : 0;
    int64_t rest = size - s->choice;
    s->list.dims[0] = rest > 0 ? 1 + below((int)(rest < 1000 ? rest : 1000)) : 0;
}

/* False where the kind does not suit the value that was picked. */
static bool fill_step(program *p, step *s, const values *v)
{
    static const kn_dtype dtypes[] = {KN_F32,  KN_F32, KN_F32, KN_F64, KN_F16,
                                      KN_BF16, KN_I32, KN_I64, KN_U8,  KN_BOOL};
    memset(s, 0, sizeof *s);
    s->what = draw_what();
    s->in[0] = pick(v);
    kn_shape shape = kn_shape_of_tensor(v->t[s->in[0]]);
    bool alike = s->what == SELF_ATTENTION || s->what == SCATTER || s->what == MSE || s->what == BCE;
    for (int k = 1; k < 3; k++)
        s->in[k] = k >= kinds[s->what].arity ? s->in[0] : alike ? twin(v, s->in[0]) : partner(v, s->in[0]);
    if (s->what <= ROW3) s->row = row_lists[1 + s->what][below(row_counts[1 + s->what])];
    s->real = (double)(below(400) - 200) / 100;
    s->number = below(shape.rank ? shape.rank : 1);
    if (s->what >= LINEAR) return fill_layer(p, s, shape, kn_dtype_of(v->t[s->in[0]]));
    if (s->what >= SUM && s->what <= VARIANCE) {
        s->list = some_axes(shape.rank);
        s->number = below(4);
    }
    if (s->what == NUMBER) s->number = below(3);
    if (s->what == CAST) s->number = dtypes[below(10)];
    if (s->what == FLIP) s->list = some_axes(shape.rank);
    if (s->what == RESHAPE) shuffle_shape(s, shape);
    if (s->what == PERMUTE) draw_order(s, shape);
    if (s->what == EXPAND) draw_larger(s, shape);
    if (s->what == SLICED || s->what == TOPK) draw_part(s, shape.rank ? shape.dims[s->number] : 0);
    if (s->what == SORT || s->what == TOPK) s->choice = below(16);
    if (s->what == SPLIT) s->choice = 1 + below(4);
    if (s->what == SCATTER) s->choice = below(5);
    if (s->what >= DEFINED1 && s->what <= DEFINED_LINE) s->choice = below(BODIES);
    return true;
}

/* The value of a leaf in a round. */
static kn_tensor leaf(const program *p, int i, int round)
{
    if (p->uploaded[i]) {
        draw_for(p, round, MOST + i);
        return from_host(p->shapes[i], p->dtypes[i], p->dtypes[i] == KN_F32 ? 1 : 3);
    }
    kn_tensor x = kn_random_normal(p->shapes[i], 0, 1, KN_F32);
    return p->dtypes[i] == KN_F32 ? x : kn_cast(kn_mul_scalar(x, 3), p->dtypes[i]);
}

/* What a param is at first. Weights of norms and biases are not small either, so that they count. */
static kn_tensor param_value(const program *p, int i)
{
    draw_for(p, 0, MOST + LEAVES + i);
    return from_host(p->param_shapes[i], p->param_dtypes[i], 0.5);
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
    for (int i = 0; i < base.rank && count_of(base) > MOST_ELEMENTS; i++) base.dims[i] = 1 + below(3);
    for (int i = 0; i < p->n_leaves; i++) {
        p->dtypes[i] = dtypes[below(10)];
        p->uploaded[i] = below(2);
        p->shapes[i] = base;
        for (int a = 0; a < base.rank; a++)
            if (below(5) == 0) p->shapes[i].dims[a] = 1;
        if (base.rank && below(4) == 0) {
            p->shapes[i].rank--;
            memmove(p->shapes[i].dims, base.dims + 1, (size_t)(base.rank - 1) * sizeof *base.dims);
        }
    }
}

/* The step as far as it goes on the CPU; a temporary. The numbers that it draws are not those of the generator. */
static kn_tensor try_step(const program *p, const step *s, const values *v)
{
    kn_tensor params[PARAMS] = {{0}};
    uint64_t here = state;
    for (int i = 0; i < s->n_params; i++) params[s->params[i]] = kn_keep(param_value(p, s->params[i]));
    surroundings at = {p, params, 0, p->n_steps};
    kn_tensor y = kn_keep(run_step(s, &at, v->t[s->in[0]], v->t[s->in[1]], v->t[s->in[2]]));
    for (int i = 0; i < s->n_params; i++) kn_drop(params[s->params[i]]);
    state = here;
    return y;
}

/* Whether all is finite: what follows a NaN or an infinity tells little, so few programs have them. */
static bool finite_value(kn_tensor y)
{
    double total = 0;
    if (!kn_dtype_is_float(kn_dtype_of(y))) return true;
    kn_tensor sum = kn_sum(kn_cast(y, KN_F64), KN_AXES_ALL, false);
    return kn_read_as(sum, KN_F64, &total, sizeof total) == KN_OK && total - total == 0;
}

static void make_program(program *p, uint64_t seed, int most_steps, kn_device cpu)
{
    memset(p, 0, sizeof *p);
    state = p->seed = seed;
    kn_seed(cpu, seed); /* what is finite decides what is drawn */
    make_leaves(p);
    p->optimiser = (optimiser)below(OPTIMISERS);
    kn_device_use(cpu);
    kn_scope scope = kn_scope_begin();
    values v = {.n = 0};
    uint64_t here = state;
    for (int i = 0; i < p->n_leaves; i++) v.t[v.n++] = kn_keep(leaf(p, i, 0));
    state = here;
    int wanted = 3 + below(most_steps - 3);
    for (int tries = 0; p->n_steps < wanted && tries < 200; tries++) {
        step *s = &p->steps[p->n_steps];
        if (!fill_step(p, s, &v)) continue;
        kn_tensor y = try_step(p, s, &v);
        if (!kn_ok(y) || kn_count(y) > MOST_ELEMENTS || (!finite_value(y) && below(16))) continue;
        for (int k = 0; k < kinds[s->what].arity; k++)
            if (s->in[k] >= p->n_leaves) p->steps[s->in[k] - p->n_leaves].uses++;
        s->output = below(4) == 0;
        s->read = below(24) == 0;
        v.t[v.n++] = y;
        p->n_params += s->n_params;
        p->n_steps++;
    }
    if (p->n_steps) p->steps[p->n_steps - 1].output = true;
    for (int i = 0; i < p->n_steps; i++)
        p->steps[i].keep = p->steps[i].uses > 1 || p->steps[i].output || below(3) == 0;
    kn_scope_end(scope, KN_NONE);
}

static void print_value(const char *letter, int i, kn_dtype dtype, kn_shape shape)
{
    printf("  %s%d = %s [", letter, i, kn_dtype_name(dtype));
    for (int a = 0; a < shape.rank; a++) printf(" %lld", (long long)shape.dims[a]);
    printf(" ]\n");
}

static void print_program(const program *p)
{
    for (int i = 0; i < p->n_leaves; i++) print_value("v", i, p->dtypes[i], p->shapes[i]);
    for (int i = 0; i < p->n_params; i++) print_value("p", i, p->param_dtypes[i], p->param_shapes[i]);
    for (int i = 0; i < p->n_steps; i++) {
        const step *s = &p->steps[i];
        printf("  v%d = %s(", p->n_leaves + i, s->what <= ROW3 ? rows[s->row].name : kinds[s->what].name);
        for (int k = 0; k < kinds[s->what].arity; k++) printf("%sv%d", k ? ", " : "", s->in[k]);
        for (int k = 0; k < s->n_params; k++) printf(", p%d", s->params[k]);
        printf(") %lld %lld %g [", (long long)s->number, (long long)s->choice, s->real);
        for (int k = 0; k < s->list.rank; k++) printf(" %lld", (long long)s->list.dims[k]);
        printf(" ]%s%s%s\n", s->keep ? " kept" : "", s->output ? " output" : "", s->read ? " read" : "");
    }
    printf("  optimiser %d\n", (int)p->optimiser);
}

#endif
