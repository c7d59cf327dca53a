/* Random programs give the same before and after the passes: the same bits, and close numbers where batch norm and its like are taken into
   weights. They have Ifs, loops, functions, ops that draw, constants that repeat, the same op twice, and much that nobody reads. */
#include "support/programs.h"
#include <kn/device.h>

enum { M, R, S, KINDS }; /* [n, 4], [4], [] */
enum { MOST = 400, PROGRAMS = 150 };

typedef struct making {
    kn_builder b;
    uint64_t state;
    value values[KINDS][MOST];
    int n[KINDS];
    int depth;
} making;

static uint32_t draw(making *m, uint32_t below)
{
    m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(m->state >> 33) % below;
}

static value any(making *m, int kind) { return m->values[kind][draw(m, (uint32_t)m->n[kind])]; }

static void keep(making *m, int kind, value v)
{
    if (v.id && m->n[kind] < MOST) m->values[kind][m->n[kind]++] = v;
}

static value weights(making *m, kn_shape shape)
{
    kn_tensor t = kn_random_uniform(shape, -0.25, 0.25, KN_F32);
    char name[32];
    snprintf(name, sizeof name, "w%u%d", (unsigned)draw(m, 1u << 30), (int)(m->state >> 60));
    return draw(m, 2) ? kn_builder_constant(m->b, t) : kn_builder_param(m->b, name, t);
}

static void add_constant(making *m)
{
    static const double numbers[] = {0.5, -0.25, 0.75};
    double x = numbers[draw(m, 3)];
    if (draw(m, 2))
        keep(m, S, kn_builder_constant(m->b, kn_scalar(x, KN_F32)));
    else
        keep(m, R, kn_builder_constant(m->b, kn_full(KN_SHAPE(4), x, KN_F32)));
}

static void add_pointwise(making *m)
{
    static const char *const one[] = {"tanh", "sin", "neg", "relu", "sigmoid", "cos"};
    static const char *const two[] = {"add", "sub", "mul", "maximum"};
    int kind = (int)draw(m, KINDS), other = (int)draw(m, KINDS);
    if (draw(m, 2)) {
        keep(m, kind, op1(m->b, one[draw(m, 6)], any(m, kind)));
        return;
    }
    value y = op2(m->b, two[draw(m, 4)], any(m, kind), any(m, other));
    keep(m, kind < other ? kind : other, op1(m->b, "tanh", y));
}

static void add_mean(making *m)
{
    const attribute first[] = {{"axes", "0", 0}, {0}}, last[] = {{"axes", "-1", 0}, {0}};
    if (draw(m, 2))
        keep(m, R, op(m->b, "mean", any(m, M), KN_NO_VALUE, first));
    else
        keep(m, S, op(m->b, "mean", any(m, R), KN_NO_VALUE, draw(m, 2) ? first : last));
}

static void add_product(making *m)
{
    value in[3] = {any(m, M), weights(m, KN_SHAPE(4, 4)), weights(m, KN_SHAPE(4))};
    value y = kn_builder_op(m->b, "linear", in, 2 + (int)draw(m, 2), NULL);
    for (uint32_t i = draw(m, 3); i > 0; i--) /* maps that a pass takes in */
        y = op2(m->b, draw(m, 2) ? "mul" : "add", y, draw(m, 2) ? weights(m, KN_SHAPE(4)) : any(m, S));
    if (draw(m, 3) == 0) {
        value n[3] = {y, weights(m, KN_SHAPE(4)), kn_builder_constant(m->b, kn_full(KN_SHAPE(4), 2, KN_F32))};
        y = kn_builder_op(m->b, "batch_norm", n, 3, (attribute[]){{"eps", NULL, 0.1}, {0}});
    }
    keep(m, M, y);
}

static void add_drawn(making *m)
{
    keep(m, R,
         kn_builder_op(
             m->b, "random_uniform", NULL, 0,
             (attribute[]){{"shape", "4", 0}, {"dtype", "2", 0}, {"high", NULL, 1}, {"top", NULL, 1}, {0}}));
}

/* The same op on the same values again. */
static void add_again(making *m)
{
    value x = any(m, M), y = any(m, R);
    const char *name = draw(m, 2) ? "mul" : "sub";
    keep(m, M, op2(m->b, name, x, y));
    keep(m, M, op2(m->b, name, x, y));
}

static void add_ops(making *m, int n);

static void add_if(making *m, value condition)
{
    int n[KINDS];
    value results[2], out[2];
    memcpy(n, m->n, sizeof n);
    value fixed = kn_builder_constant(m->b, kn_scalar_int(draw(m, 2), KN_BOOL));
    kn_builder_if(m->b, draw(m, 4) ? condition : fixed);
    for (int k = 0; k < 2; k++) {
        add_ops(m, 5);
        results[0] = any(m, M), results[1] = any(m, R);
        memcpy(m->n, n, sizeof n);
        if (k == 0) kn_builder_else(m->b, results, 2);
    }
    if (kn_builder_end(m->b, results, 2, out, 2)) return;
    keep(m, M, out[0]);
    keep(m, R, out[1]);
}

static void add_loop(making *m)
{
    int n[KINDS];
    value carried[3] = {any(m, M), any(m, R), any(m, R)}, inside[4], out[4];
    memcpy(n, m->n, sizeof n);
    kn_builder_loop(
        m->b, &(kn_loop_args){.trips = draw(m, 2) ? "2" : "n", .carried = carried, .n_carried = 3}, inside);
    keep(m, M, inside[1]);
    keep(m, R, inside[2]);
    keep(m, R, inside[3]);
    add_ops(m, 5);
    value results[4] = {any(m, M), any(m, R), any(m, R), any(m, S)};
    memcpy(m->n, n, sizeof n);
    if (kn_builder_end(m->b, results, 4, out, 4)) return;
    keep(m, M, out[0]);
    keep(m, R, out[1]);
    keep(m, R, out[2]); /* of the stack, [trips], nothing is made */
}

static void add_call(making *m)
{
    value in[2] = {any(m, R), any(m, R)}, out[2];
    if (kn_builder_call(m->b, "pair", in, 2, out, 2)) return;
    keep(m, R, out[draw(m, 2)]);
}

static value condition;

static void add_ops(making *m, int n)
{
    static void (*const adders[])(making *) = {add_pointwise, add_pointwise, add_pointwise,
                                               add_mean,      add_product,   add_again,
                                               add_constant,  add_call,      add_drawn};
    m->depth++;
    for (int i = 0; i < n; i++) {
        uint32_t choice = draw(m, 12);
        if (choice < 9)
            adders[choice](m);
        else if (m->depth < 4)
            choice & 1 ? add_if(m, condition) : add_loop(m);
    }
    m->depth--;
}

static void add_function(making *m, value like)
{
    value in[2], likes[2] = {like, like};
    making inner = {.b = m->b, .state = m->state, .depth = 9};
    kn_builder_function(m->b, "pair", likes, 2, in);
    value sum = op2(m->b, "add", in[0], in[1]);
    if (draw(m, 3) == 0) add_drawn(&inner);
    value results[2] = {draw(m, 2) ? op1(m->b, "tanh", sum) : in[0],
                        op1(m->b, "sin", op2(m->b, "add", in[0], in[1]))};
    kn_builder_end(m->b, results, 2, NULL, 0);
}

static kn_program made(uint64_t seed)
{
    making m = {.b = kn_builder_new(), .state = seed * 977 + 1};
    kn_seed(NULL, seed);
    kn_builder_size(m.b, "n", 1, 8);
    keep(&m, M, kn_builder_input(m.b, "x", KN_F32, "n, 4"));
    keep(&m, R, kn_builder_input(m.b, "y", KN_F32, "4"));
    condition = kn_builder_input(m.b, "c", KN_BOOL, "");
    keep(&m, S, kn_builder_constant(m.b, kn_scalar(0.5, KN_F32)));
    add_function(&m, m.values[R][0]);
    add_ops(&m, 14);
    value out[4] = {any(&m, M), any(&m, M), any(&m, R), any(&m, S)};
    return finished(m.b, out, 4);
}

/* How far the outputs of two runs are apart; 0: the same bits. */
static double apart(kn_program a, kn_program b, const kn_tensor *in)
{
    kn_tensor x[4], y[4];
    double most = 0;
    kn_seed(NULL, 11);
    if (kn_program_run(a, in, 3, x, 4) != KN_OK) return -1;
    kn_seed(NULL, 11);
    if (kn_program_run(b, in, 3, y, 4) != KN_OK) return -1;
    for (int i = 0; i < 4; i++) {
        x[i] = kn_keep(x[i]);
        y[i] = kn_keep(y[i]);
        if (same_bits(x[i], y[i])) continue;
        double gap = kn_item(kn_max(kn_abs(kn_sub(x[i], y[i])), KN_AXES_ALL, false));
        most = gap > most ? gap : gap != gap ? 1e9 : most;
        if (most == 0) most = 1e-30; /* zeros of another sign */
    }
    return most;
}

static void compare(uint64_t seed, uint32_t passes, double allowed, int *removed)
{
    kn_scope scope = kn_scope_begin();
    kn_program before = made(seed), after = made(seed);
    if (!before || !after) return;
    simplify(after, passes);
    *removed += count_nodes(before) - count_nodes(after);
    for (int n = 1; n < 4; n++) {
        kn_tensor in[3] = {kn_keep(counted(KN_SHAPE(n, 4))), kn_keep(counted(KN_SHAPE(4))),
                           kn_keep(kn_scalar_int(n & 1, KN_BOOL))};
        double gap = apart(before, after, in);
        if (!CHECK(gap >= 0 && gap <= allowed))
            printf("  seed %d, passes %u: %g apart: %s\n", (int)seed, (unsigned)passes, gap, kn_last_error());
    }
    kn_program_free(before);
    kn_program_free(after);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    static const uint32_t exact[] = {KN_PASS_CONSTANTS, KN_PASS_COMMON, KN_PASS_DEAD,
                                     KN_PASS_ALL & ~KN_PASS_BATCH_NORM};
    static const char *const devices[] = {"cpu", "fusion(cpu)"};
    for (size_t d = 0; d < 2; d++) {
        kn_device device = kn_device_open(devices[d]);
        kn_device_use(device);
        int removed[6] = {0};
        for (uint64_t seed = 0; seed < (d ? PROGRAMS / 5 : PROGRAMS); seed++) {
            for (int i = 0; i < 4; i++) compare(seed, exact[i], 0, &removed[i]);
            compare(seed, KN_PASS_BATCH_NORM, 1e-4, &removed[4]);
            compare(seed, KN_PASS_ALL, 1e-4, &removed[5]);
        }
        for (int i = 0; i < 6; i++) CHECK(removed[i] > 0); /* each pass found something to do */
        kn_device_use(NULL);
    }
    CHECK(kn_shutdown() == 0);
    return check_report();
}
