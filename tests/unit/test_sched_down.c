/* Batch norm over channels that lie last, and sums of them: how many kernels a group takes on a large device and how they are laid over
   it, that every load of an image is 8 or 16 bytes, and the values of all forms in the IR interpreter. */
#include "../support/check.h"
#include "ops/norm.h"
#include "test_sched_leaf.h"
#include <math.h>

/* ---- plans: a device that lays kernels out and runs none */

static kni_ir_caps large_caps = {.dialect = KNI_IR_CUDA,
                                 .f64 = true,
                                 .i64 = true,
                                 .half_storage = true,
                                 .subgroups = true,
                                 .subgroup = 32,
                                 .max_workgroup = 1024,
                                 .shared_bytes = 48 << 10,
                                 .vector_bytes = 16};
static kni_sched_target large = {&large_caps, 132};

enum { MOST_PLANNED = 8 };
static struct planned {
    char name[48];
    uint32_t groups[2], threads;
    int narrow; /* loads of halves that are less than 8 bytes */
    int wide;
    int images;      /* buffers that those load from */
    uint32_t shared; /* bytes */
} planned[MOST_PLANNED];
static int n_planned;

static void look_at(const kni_sched_kernel *k, const kni_ir *ir)
{
    struct planned *p = &planned[n_planned++];
    *p = (struct planned){.groups = {k->shape.groups[0], k->shape.groups[1]}, .threads = k->shape.workgroup};
    snprintf(p->name, sizeof p->name, "%s", ir->name);
    bool seen[KNI_SCHED_MAX_BUFFERS] = {false};
    for (uint32_t block = 1; block < ir->n_blocks; block++)
        for (kni_ir_id i = ir->blocks[block].first; i; i = ir->nodes[i].next) {
            const kni_ir_node *n = &ir->nodes[i];
            if (n->code != KNI_IR_LOAD || !kni_is_half(ir->bindings[n->index].dtype)) continue;
            p->wide += n->type.lanes >= 4;
            p->narrow += n->type.lanes < 4;
            p->images += !seen[n->index];
            seen[n->index] = true;
        }
    for (uint32_t i = 0; i < ir->n_bindings; i++)
        if (ir->bindings[i].space == KNI_IR_SHARED)
            p->shared += (uint32_t)(ir->bindings[i].length * kni_bytes_of(ir->bindings[i].dtype));
}

static kn_status plan_group(kn_backend *b, const kni_group *g)
{
    static kni_sched sched;
    (void)b;
    kn_status s = kni_sched_prepare(g, &large, &sched);
    for (int i = 0; i < sched.n_kernels && s == KN_OK && n_planned < MOST_PLANNED; i++) {
        kni_ir *ir = kni_sched_build(g, &large, &sched, i);
        if (!ir) return KN_ERROR_INTERNAL;
        look_at(&sched.kernels[i], ir);
        kni_ir_free(ir);
    }
    for (int i = 0; i < g->n_outputs && s == KN_OK; i++) {
        s = kni_host_allocate(kni_slot(g->outputs[i]));
        kni_promised_strides(kni_slot(g->outputs[i]));
    }
    return s;
}

static kn_status plan_execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    kn_status s = KN_OK;
    (void)b;
    for (int32_t i = 0; i < n && s == KN_OK; i++) {
        const kn_record *r = records[i];
        if (r->flags & KN_RECORD_DROP) continue;
        if (r->row->view) {
            s = kni_host_view(r);
            continue;
        }
        for (int k = 0; k < r->n_out && s == KN_OK; k++) {
            s = kni_host_allocate(kni_slot(r->ids[k]));
            kni_promised_strides(kni_slot(r->ids[k]));
        }
    }
    return s;
}

static kn_backend plans_backend;
static kn_backend *plans_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument, (void)inner, (void)n_inner;
    plans_backend = leaf_backend;
    plans_backend.name = "plans";
    plans_backend.execute = plan_execute;
    plans_backend.run_group = plan_group;
    return &plans_backend;
}

/* A tensor whose channels lie last. */
static kn_tensor last(kn_tensor x)
{
    int rank = kn_rank(x);
    kn_ints axes = {rank, {0}};
    for (int i = 0; i < rank; i++) axes.dims[i] = !i ? 0 : i == 1 ? rank - 1 : i - 1;
    return kn_keep(kn_permute(x, axes));
}

typedef struct layout {
    int64_t n, c, h, w;
    bool add; /* something to the norm, which needs its gradient too */
    const char *forward, *backward, *sum;
} layout;

/* One launch where rows are short, two where rows have few parts, else three. Each: workgroups x parts x invocations. */
static const layout layouts[] = {
    {64, 64, 56, 56, false, "1x523x256 8x1x256 1x523x256", "1x523x256 8x1x256 1x523x256",
     "1x523x256 8x1x256"},
    {64, 16, 56, 56, false, "1x196x256 1x196x256", "1x196x256 1x196x256", "1x392x256 2x1x256"},
    {64, 144, 28, 28, true, "3x196x192 18x1x256 3x196x192", "3x196x192 18x1x256 3x196x192",
     "3x196x192 18x1x256"},
    {64, 256, 14, 14, false, "4x49x256 4x49x256", "4x49x256 4x49x256", "4x98x256 32x1x256"},
    {64, 1024, 14, 14, true, "16x33x256 16x33x256", "16x33x256 16x33x256", "16x33x256 128x1x256"},
    {64, 512, 7, 7, false, "8x25x256 8x25x256", "8x25x256 8x25x256", "8x25x256 64x1x128"},
    {64, 2048, 7, 7, true, "32x13x256 32x13x256", "32x13x256 32x13x256", "32x13x256 256x1x64"},
};

static void compare(const layout *l, const char *what, const char *expected)
{
    char got[200] = "";
    int wide = 0, narrow = 0;
    uint32_t shared = 0;
    for (int i = 0; i < n_planned; i++) {
        size_t at = strlen(got);
        snprintf(got + at, sizeof got - at, "%s%ux%ux%u", i ? " " : "", planned[i].groups[0],
                 planned[i].groups[1], planned[i].threads);
        bool joins = strstr(planned[i].name, "_join_") != NULL;
        wide += planned[i].wide;
        narrow += joins ? 0 : planned[i].narrow;
        if (planned[i].shared > shared) shared = planned[i].shared;
    }
    if (!CHECK(strcmp(got, expected) == 0) || !CHECK(wide > 0 && narrow == 0) || !CHECK(shared <= 48 << 10))
        printf("%s [%lld, %lld, %lld, %lld]: %s, not %s; %d wide loads, %d others\n", what, (long long)l->n,
               (long long)l->c, (long long)l->h, (long long)l->w, got, expected, wide, narrow);
    n_planned = 0;
}

static void lays_out(const layout *l)
{
    kn_scope scope = kn_scope_begin();
    kn_shape shape = KN_SHAPE(l->n, l->h, l->w, l->c);
    kn_tensor x = kn_keep(kn_require_grad(last(kn_zeros(shape, KN_BF16)))),
              dy = last(kn_zeros(shape, KN_BF16));
    kn_tensor w = kn_keep(kn_require_grad(kn_zeros(KN_SHAPE(l->c), KN_F32)));
    kn_tensor r = kn_keep(kn_require_grad(last(kn_zeros(shape, KN_BF16))));
    CHECK(kn_sync(NULL) == KN_OK);
    n_planned = 0;
    kn_batch_norm_result b = kn_batch_norm_train(x, w, KN_NONE, 1e-5);
    kn_tensor y = kn_keep(kn_relu(l->add ? kn_add(b.y, r) : b.y)), wrt[3] = {x, w, r}, grads[3];
    CHECK(kn_sync(NULL) == KN_OK);
    compare(l, "forward", l->forward);
    CHECK(kn_grad(&y, &dy, 1, wrt, l->add ? 3 : 2, 0, grads) == KN_OK);
    CHECK(kn_sync(NULL) == KN_OK);
    compare(l, "backward", l->backward);
    kn_tensor sum = kn_keep(kn_sum(kn_abs(dy), KN_AXES(0, 2, 3), false));
    CHECK(kn_ok(sum) && kn_sync(NULL) == KN_OK);
    compare(l, "sum", l->sum);
    kn_scope_end(scope, KN_NONE);
}

/* Where the gradient of a bound is a result beside what is summed, one kernel reads both operands once, writes it and sums. */
static void sums_what_it_writes(void)
{
    kn_scope scope = kn_scope_begin();
    kn_shape shape = KN_SHAPE(64, 56, 56, 64);
    kn_tensor x = last(kn_zeros(shape, KN_BF16)), z = last(kn_zeros(shape, KN_BF16));
    CHECK(kn_sync(NULL) == KN_OK);
    n_planned = 0;
    kn_tensor y = kn_keep(kn_mul(x, z)), sum = kn_keep(kn_sum(y, KN_AXES(0, 2, 3), false));
    CHECK(kn_ok(sum) && kn_sync(NULL) == KN_OK);
    CHECK(n_planned == 2 && planned[1].groups[1] == 1 && planned[1].wide == 0);
    kn_scope_end(scope, KN_NONE);
}

/* Two gradients are added up, bounded and written; the last kernel loads that instead of all three operands. */
static void loads_what_it_wrote(void)
{
    kn_scope scope = kn_scope_begin();
    kn_shape shape = KN_SHAPE(64, 14, 14, 1024);
    kn_tensor x = kn_keep(kn_require_grad(last(kn_zeros(shape, KN_BF16))));
    kn_tensor r = kn_keep(kn_require_grad(last(kn_zeros(shape, KN_BF16))));
    kn_tensor dy[2] = {last(kn_zeros(shape, KN_BF16)), last(kn_zeros(shape, KN_BF16))};
    kn_tensor y = kn_keep(kn_relu(kn_add(kn_batch_norm_train(x, KN_NONE, KN_NONE, 1e-5).y, r)));
    kn_tensor both[2] = {y, y}, wrt[2] = {x, r}, grads[2];
    CHECK(kn_sync(NULL) == KN_OK);
    n_planned = 0;
    CHECK(kn_grad(both, dy, 2, wrt, 2, 0, grads) == KN_OK && kn_sync(NULL) == KN_OK);
    if (!CHECK(n_planned == 2 && planned[0].images == 4 && planned[1].images == 2))
        for (int i = 0; i < n_planned; i++)
            printf("%s loads from %d images\n", planned[i].name, planned[i].images);
    kn_scope_end(scope, KN_NONE);
}

/* ---- values */

typedef struct value_case {
    const char *what;
    int64_t n, c, inner;
    uint32_t processors;
    int forward, backward; /* launches */
} value_case;

/* The leaf has workgroups of 64: two vectors of columns side by side, 32 lines. */
static const value_case value_cases[] = {
    {"one launch", 2, 8, 200, 16, 1, 1},
    {"parts that the last kernel joins", 2, 8, 4000, 16, 2, 2},
    {"parts with a kernel of their own, the last of them short", 2, 8, 20001, 64, 3, 3},
    {"columns that do not fill the workgroups", 1, 60, 7000, 16, 3, 3},
    {"single channels", 1, 3, 40001, 64, 3, 3},
};

static kn_tensor waves(int64_t n, int64_t inner, int64_t c, double step)
{
    kn_tensor place = kn_arange(0, (double)(n * inner * c), 1, KN_F64);
    kn_tensor x = kn_add_scalar(kn_sin(kn_mul_scalar(place, step)), 3);
    return kn_cast(kn_reshape(x, KN_SHAPE(n, inner, c)), KN_F32);
}

/* Sums over all but the channels, by which elements are compared too: each in turn with another weight. */
static kn_tensor few(kn_tensor x, int64_t n, int64_t inner, int64_t c)
{
    if (kn_rank(x) == 1) return kn_cast(x, KN_F64);
    kn_tensor weights = kn_transpose(
        kn_reshape(kn_cos(kn_arange(0, (double)(n * inner * c), 1, KN_F64)), KN_SHAPE(n, inner, c)), 1, 2);
    return kn_sum(kn_mul(kn_cast(x, KN_F64), weights), KN_AXES(0, 2), false);
}

/* A block of a residual network whose input has two users, so that the gradient of the bound is added up, bounds the norm's and is a
   result as well. */
static void block(const value_case *v)
{
    kn_device devices[2] = {kn_device_open("autodiff(cpu)"), kn_device_open("autodiff(fusion(leaf))")};
    static double want[6][64], got[6][64];
    leaf_target.processors = v->processors;
    for (int side = 0; side < 2; side++) {
        kn_scope scope = kn_scope_begin();
        kn_device_use(devices[side]);
        kn_tensor x = kn_require_grad(last(waves(v->n, v->inner, v->c, 0.7)));
        kn_tensor r = kn_require_grad(last(waves(v->n, v->inner, v->c, 1.1)));
        kn_tensor one = last(waves(v->n, v->inner, v->c, 0.3)),
                  other = last(waves(v->n, v->inner, v->c, 0.9));
        kn_tensor w = kn_require_grad(kn_arange(1, (double)v->c + 1, 1, KN_F32));
        x = kn_keep(x), r = kn_keep(r), w = kn_keep(w);
        CHECK(kn_sync(NULL) == KN_OK);
        leaf_refused = leaf_launched = 0;
        kn_batch_norm_result b = kn_batch_norm_train(x, w, KN_NONE, 1e-5);
        kn_tensor y = kn_keep(kn_relu(kn_sub(kn_add(b.y, r), kn_scalar(3.2, KN_F32))));
        kn_tensor mean = kn_keep(kn_detach(b.mean)), variance = kn_keep(kn_detach(b.variance));
        CHECK(kn_sync(NULL) == KN_OK);
        if (side && !CHECK(leaf_refused == 0 && leaf_launched == v->forward))
            printf("%s: %d launches forward\n", v->what, leaf_launched);
        leaf_refused = leaf_launched = 0;
        kn_tensor both[2] = {y, y}, dy[2] = {one, other}, wrt[3] = {x, r, w}, grads[3];
        CHECK(kn_grad(both, dy, 2, wrt, 3, 0, grads) == KN_OK);
        CHECK(kn_sync(NULL) == KN_OK);
        if (side && !CHECK(leaf_refused == 0 && leaf_launched == v->backward))
            printf("%s: %d launches backward\n", v->what, leaf_launched);
        kn_tensor results[6] = {mean, variance, y, grads[0], grads[1], grads[2]};
        kn_device_use(NULL);
        for (int i = 0; i < 6; i++) {
            double(*into)[64] = side ? got : want;
            kn_tensor sums =
                few(kn_keep(kn_to(kn_detach(results[i]), kn_device_cpu())), v->n, v->inner, v->c);
            CHECK(kn_read_as(sums, KN_F64, into[i], (size_t)v->c * 8) == KN_OK);
            double size = 1;
            for (int64_t k = 0; side && k < v->c; k++) size = fmax(size, fabs(want[i][k]));
            for (int64_t k = 0; side && k < v->c; k++)
                if (!CHECK(fabs(got[i][k] - want[i][k]) <= 1e-4 * size))
                    printf("%s, result %d: %g, not %g\n", v->what, i, got[i][k], want[i][k]);
        }
        kn_scope_end(scope, KN_NONE);
    }
    kn_device_use(NULL);
}

/* Places of extremes and values of several dtypes share workgroups and parts. */
static void extremes(int64_t n, int64_t c, int64_t inner)
{
    kn_scope scope = kn_scope_begin();
    static int64_t want[64], got[64];
    leaf_target.processors = 64;
    kn_tensor x = kn_keep(kn_reshape(waves(n, inner, c, 0.37), KN_SHAPE(n * inner, c)));
    kn_device leaf = kn_device_open("leaf");
    leaf_missing = 0;
    kn_tensor there = kn_argmax(kn_to(x, leaf), 0, false), here = kn_argmax(x, 0, false);
    CHECK(kn_read_as(here, KN_I64, want, (size_t)c * 8) == KN_OK);
    CHECK(kn_read_as(there, KN_I64, got, (size_t)c * 8) == KN_OK);
    CHECK(leaf_missing == 0 && memcmp(want, got, (size_t)c * 8) == 0);
    kn_scope_end(scope, KN_NONE);
}

/* What a variance is made better by is left with the other totals, for elements that wait for it. */
static void variance_of_elements(void)
{
    kn_scope scope = kn_scope_begin();
    enum { N = 2, C = 8, INNER = 20001 };
    static double want[C], got[C];
    leaf_target.processors = 64;
    kn_device leaf = kn_device_open("leaf");
    for (int side = 0; side < 2; side++) {
        kn_tensor there = waves(N, INNER, C, 0.37);
        kn_tensor x = last(side ? kn_to(there, leaf) : there);
        CHECK(kn_sync(leaf) == KN_OK);
        leaf_launched = 0;
        leaf_holds = side;
        kn_tensor y = kn_keep(kn_mul(x, kn_var(x, KN_AXES(0, 2), true, NULL)));
        if (side && !CHECK(leaf_release(KNI_GROUP_ROWS, &y, 1) == KN_OK && leaf_launched == 3))
            printf("%d launches: %s\n", leaf_launched, leaf_text);
        kn_tensor sums = few(kn_keep(kn_to(y, kn_device_cpu())), N, INNER, C);
        CHECK(kn_read_as(sums, KN_F64, side ? got : want, sizeof want) == KN_OK);
    }
    for (int c = 0; c < C; c++)
        if (!CHECK(fabs(got[c] - want[c]) <= 1e-5 * fmax(1, fabs(want[c]))))
            printf("%g, not %g\n", got[c], want[c]);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    kn_backend_register("leaf", leaf_open);
    kn_backend_register("plans", plans_open);
    kn_device_use(kn_device_open("autodiff(fusion(plans))"));
    for (int i = 0; i < (int)(sizeof layouts / sizeof *layouts); i++) lays_out(&layouts[i]);
    sums_what_it_writes();
    loads_what_it_wrote();
    kn_device_use(NULL);
    for (int i = 0; i < (int)(sizeof value_cases / sizeof *value_cases); i++) block(&value_cases[i]);
    extremes(2, 8, 20001);
    extremes(1, 5, 700);
    variance_of_elements();
    return check_report();
}
