/* Built-in rows along lines as programs of lines: each body gives what the row's own kernel gives, within its tolerance; all
   tiers give the same bits, and groups of fusion(cpu) those of cpu. Rows come from the table, so that a new one is tested too. */
#include "backend/cpu/isa.h"
#include "ops/body_parse.h"
#include "support/check.h"
#include "support/line_cases.h"

enum { MAX_RESULTS = 8 };

typedef struct values {
    double *v[MAX_RESULTS];
    int64_t n[MAX_RESULTS];
    int count;
} values;

static void free_values(values *v)
{
    for (int k = 0; k < v->count; k++) free(v->v[k]);
}

/* The results of a row, as f64. `chained`: with an elementwise op before the first operand and one behind each result. */
static values run(const kn_op *row, const line_row *l, const line_case *c, bool chained)
{
    values got = {.count = row->n_out};
    kn_scope scope = kn_scope_begin();
    line_operands o;
    kn_tensor out[MAX_RESULTS];
    line_start(l, c, &o);
    if (chained) o.in[0] = kn_keep(kn_mul_scalar(o.in[0], 0.75));
    kni_apply_many(row, o.in, row->body->n_in, &o.attributes, out, row->n_out);
    for (int k = 0; k < row->n_out; k++) {
        kn_tensor y = kn_keep(chained ? kn_abs(kn_add_scalar(out[k], 0.25)) : out[k]);
        got.n[k] = kn_ok(y) ? kn_count(y) : 0;
        got.v[k] = calloc((size_t)got.n[k] + 1, sizeof *got.v[k]);
        if (!got.v[k]) exit(1);
        if (!CHECK(kn_ok(y) && kn_read_as(y, KN_F64, got.v[k], sizeof(double) * (size_t)got.n[k]) == KN_OK))
            printf("%s: %s\n", row->name, kn_last_error());
    }
    kn_scope_end(scope, KN_NONE);
    return got;
}

static bool same_bits(const values *a, const values *b)
{
    for (int k = 0; k < a->count; k++)
        if (a->n[k] != b->n[k] || memcmp(a->v[k], b->v[k], sizeof(double) * (size_t)a->n[k])) return false;
    return true;
}

/* How far apart they are, in units of the row's tolerance; sums of terms as large as the largest result may be off by it. */
static double distance(const kn_op *row, const line_case *c, const values *a, const values *b)
{
    double eps = c->dtype == KN_F64    ? 0x1p-52
                 : c->dtype == KN_F16  ? 0x1p-10
                 : c->dtype == KN_BF16 ? 0x1p-7
                                       : 0x1p-23;
    double most = 0, terms = (double)(c->shape.dims[0] * c->shape.dims[1] * c->shape.dims[2]);
    bool half = c->dtype == KN_F16 || c->dtype == KN_BF16;
    double bound =
        half ? 2 * eps : eps * ((double)row->tolerance.ulps + (double)row->tolerance.roots * sqrt(terms));
    for (int k = 0; k < a->count; k++) {
        double scale = 0;
        if (a->n[k] != b->n[k]) return INFINITY;
        for (int64_t i = 0; i < a->n[k]; i++)
            scale = fmax(scale, isfinite(b->v[k][i]) ? fabs(b->v[k][i]) : 0);
        for (int64_t i = 0; i < a->n[k]; i++) {
            double x = a->v[k][i], y = b->v[k][i], off = fabs(x - y) / (bound * scale);
            if (x == y || (isnan(x) && isnan(y))) continue;
            if (!(off <= most)) most = off;
        }
    }
    return most;
}

static bool takes(const kn_op *row, kn_dtype dtype) { return row->dtypes >> dtype & 1; }

static const kn_shape shapes[] = {
    {3, {3, 4, 5}}, {3, {2, 33, 7}}, {3, {5, 1, 3}}, {3, {2, 9, 1500}}, {3, {3, 300, 17}}};

static void compare_one(const line_row *l, const line_case *c)
{
    values own = run(&l->own, l, c, false);
    int before = line_runs;
    values body = run(&l->copy, l, c, false);
    CHECK(line_runs > before);
    double off = distance(l->row, c, &body, &own);
    if (!CHECK(off <= 1))
        printf("%s %s [%d, %d, %d] axis %d variant %d: %g times the tolerance\n", l->row->name,
               kn_dtype_name(c->dtype), (int)c->shape.dims[0], (int)c->shape.dims[1], (int)c->shape.dims[2],
               c->axis, c->variant, off);
    free_values(&own);
    free_values(&body);
}

/* All shapes or every second one; axis 1 and the last one; attributes one way and the other. */
static void each_case(const line_row *l, size_t every, const kn_dtype *dtypes, int n,
                      void (*check)(const line_row *l, const line_case *c))
{
    for (size_t s = every - 1; s < sizeof shapes / sizeof *shapes; s += every)
        for (int d = 0; d < n; d++)
            for (int axis = 1; axis < 3; axis++)
                for (int variant = 0; variant < 2; variant++) {
                    line_case c = {shapes[s], axis, variant, dtypes[d]};
                    if (takes(l->row, dtypes[d])) check(l, &c);
                }
}

static void test_kernels(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_F16, KN_BF16, KN_I32, KN_U64};
    for (int i = 0; i < n_line_rows; i++) {
        if (!CHECK(!line_rows[i].why)) {
            printf("%s: %s\n", line_rows[i].row->name, line_rows[i].why);
            continue;
        }
        each_case(&line_rows[i], 1, dtypes, 6, compare_one);
    }
}

static void compare_tiers(const line_row *l, const line_case *c)
{
    kni_tier best = kni_cpu_tier();
    values want = run(&l->copy, l, c, false);
    for (int tier = KNI_ISA_SCALAR; tier < KNI_ISA_COUNT; tier++) {
        if (!kni_cpu_tier_available((kni_tier)tier) || tier == (int)best) continue;
        kni_cpu_set_tier((kni_tier)tier);
        values got = run(&l->copy, l, c, false);
        if (!CHECK(same_bits(&got, &want)))
            printf("%s: tier %s gives other bits\n", l->row->name, kni_cpu_tier_name((kni_tier)tier));
        free_values(&got);
    }
    kni_cpu_set_tier(best);
    free_values(&want);
}

static void test_tiers(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_BF16};
    for (int i = 0; i < n_line_rows; i++)
        if (!line_rows[i].why) each_case(&line_rows[i], 2, dtypes, 2, compare_tiers);
}

static kn_device cpu, fusion;

static void compare_groups(const line_row *l, const line_case *c)
{
    kn_device_use(cpu);
    values want = run(&l->copy, l, c, true);
    kn_device_use(fusion);
    int before = line_runs;
    values got = run(&l->copy, l, c, true);
    CHECK(line_runs > before);
    if (!CHECK(same_bits(&got, &want))) printf("%s: fusion(cpu) gives other bits\n", l->row->name);
    kn_device_use(cpu);
    free_values(&got);
    free_values(&want);
}

static void test_groups(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F16};
    fusion = kn_device_open("fusion(cpu)");
    CHECK(fusion != NULL);
    for (int i = 0; i < n_line_rows && fusion; i++)
        if (!line_rows[i].why) each_case(&line_rows[i], 2, dtypes, 2, compare_groups);
}

/* The number of lines in a block depends on the body: one that holds little has several long lines in one. */
static void test_long_lines_in_blocks(void)
{
    const kn_op *sum = kni_op_by_name("sum");
    for (int i = 0; i < n_line_rows; i++) {
        if (line_rows[i].row != sum) continue;
        line_case c = {{3, {2, 5, 1100}}, 2, false, KN_F32};
        compare_one(&line_rows[i], &c);
    }
}

/* The mean of numbers that lie close together far from 0 is rounded, which must not show in their variance. */
static void test_far_from_zero(void)
{
    enum { N = 999 };
    static float x[N];
    double mean = 0, square = 0, got[2];
    for (int i = 0; i < N; i++) x[i] = (float)(3e6 + i * 37 % 101);
    for (int i = 0; i < N; i++) mean += (double)x[i] / N;
    for (int i = 0; i < N; i++) square += ((double)x[i] - mean) * ((double)x[i] - mean) / (N - 1);
    kn_scope s = kn_scope_begin();
    kn_moments m = kn_var_mean(kn_from(x, KN_F32, KN_SHAPE(1, N)), KN_AXES(1), false, NULL);
    CHECK(kn_read_as(m.var, KN_F64, &got[0], 8) == KN_OK && kn_read_as(m.mean, KN_F64, &got[1], 8) == KN_OK);
    CHECK(fabs(got[0] - square) <= 1e-5 * square);
    CHECK(fabs(got[1] - mean) <= 1e-6 * mean);
    kn_scope_end(s, KN_NONE);
}

/* What cannot be a program says why: kiln-gen tells it to the author of a row. */
static void test_refusals(void)
{
    static const struct {
        const char *body, *out, *why;
    } bad[] = {{"y = x - down(x)", "y", "a sum over all lines"},
               {"y = down(x); z = x", "y@place z", NULL},
               {"y = weight + 1", "y@place", "no sum over lines"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        kni_body_draft draft;
        kni_body_names names = {.in = "x weight@place", .out = bad[i].out, .lines = true};
        if (!CHECK(kni_body_parse(bad[i].body, &names, &draft))) printf("%s: %s\n", bad[i].body, draft.error);
        kni_body body = kni_body_of_draft(&draft);
        const char *why;
        kni_line_program *p = kni_line_compile(&body, &why);
        if (!CHECK(bad[i].why ? !p && why && strstr(why, bad[i].why) : p && !why))
            printf("%s: %s\n", bad[i].body, why ? why : "a program");
        if (p) kni_free(p, p->bytes);
    }
}

int main(void)
{
    cpu = kn_device_open("cpu");
    kn_device_use(cpu);
    if (CHECK(line_rows_find())) {
        test_kernels();
        test_tiers();
        test_groups();
        test_long_lines_in_blocks();
        test_refusals();
        test_far_from_zero();
    }
    line_rows_free();
    return check_report();
}
