/* Products of the driver beside a plain product on the host in f64: shapes, dtypes, transposes, batches, distances,
   epilogues; by the vendor's library and, with it switched off, by Kiln's own kernels. And how fast they are. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "driver_check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct operand {
    double *values; /* as the dtype holds them */
    void *memory;
    int64_t count;
} operand;

/* Random numbers, rounded to the dtype, on the host and on the device after `offset` elements of something else. */
static operand make_operand(kni_driver *d, int dtype, int64_t count, int64_t offset, uint64_t seed)
{
    size_t size = kni_bytes_of(dtype);
    operand o = {malloc((size_t)count * sizeof *o.values), NULL, count};
    char *stored = malloc((size_t)(count + offset) * size);
    uint64_t state = seed;
    memset(stored, 0xff, (size_t)offset * size); /* NaN, should it be read */
    for (int64_t i = 0; i < count; i++) o.values[i] = check_random(&state);
    kni_convert(stored + (size_t)offset * size, dtype, 1, o.values, KN_F64, 1, count);
    kni_convert(o.values, KN_F64, 1, stored + (size_t)offset * size, dtype, 1, count);
    o.memory = d->allocate(d, (size_t)(count + offset) * size);
    CHECK(o.memory && d->upload(d, o.memory, 0, stored, (size_t)(count + offset) * size) == KN_OK);
    free(stored);
    return o;
}

static void free_operand(kni_driver *d, operand *o)
{
    d->free(d, o->memory);
    free(o->values);
}

static double gelu(double x) { return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

static double gelu_slope(double x)
{
    double s = 1 / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
    return s + x * s * (1 - s) * (1.5957691216057308 + 0.21406444881780073 * x * x);
}

static double apply_epilogue(int epilogue, double x, double bias, double aux)
{
    if (epilogue & KNI_EPILOGUE_BIAS) x += bias;
    if (epilogue & KNI_EPILOGUE_RELU) return x > 0 ? x : 0;
    if (epilogue & KNI_EPILOGUE_GELU) return gelu(x);
    return epilogue & KNI_EPILOGUE_GELU_GRAD ? x * gelu_slope(aux) : x;
}

/* Error of one element, in units of what the dtypes allow. */
static double compare_element(const kni_product *p, const operand *const *in, double got, int64_t z,
                              int64_t i, int64_t j)
{
    const operand *a = in[0], *b = in[1], *c = in[2], *bias = in[3], *aux = in[4];
    double eps = p->out_dtype == KN_F64   ? 4e-16
                 : p->out_dtype == KN_F32 ? 2e-7
                 : p->out_dtype == KN_F16 ? 1e-3
                                          : 8e-3;
    double inner = p->dtype == KN_F64 ? 1e-15 : p->tf32 ? 2e-3 : 5e-7, sum = 0, size = 0;
    for (int64_t k = 0; k < p->k; k++) {
        int64_t x = z * p->step_a + (p->transpose_a ? k * p->row_a + i : i * p->row_a + k);
        int64_t y = z * p->step_b + (p->transpose_b ? j * p->row_b + k : k * p->row_b + j);
        sum += a->values[x] * b->values[y];
        size += fabs(a->values[x] * b->values[y]);
    }
    double add = p->beta != 0 ? p->beta * c->values[z * p->step_c + i * p->row_c + j] : 0;
    double want = apply_epilogue(p->epilogue, p->alpha * sum + add, bias->values[j],
                                 aux->values[z * p->step_d + i * p->row_d + j]);
    return fabs(got - want) / (eps * fabs(want) + inner * (size * fabs(p->alpha) + fabs(add) + 1));
}

/* The largest error. Large products are looked at in a pattern whose distances no tile has, and at their edges. */
static double compare(const kni_product *p, const operand *const *in, const double *got)
{
    int64_t work = p->m * p->n * p->k * p->batch, pace = work > 100000000 ? 37 : work > 2000000 ? 7 : 1;
    double worst = 0;
    for (int64_t z = 0; z < p->batch; z++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = i + 1 == p->m ? 0 : i % pace; j < p->n; j += i + 1 == p->m ? 1 : pace) {
                double error = compare_element(p, in, got[z * p->step_d + i * p->row_d + j], z, i, j);
                /* Written so that NaN counts. */
                if (!(error <= worst)) worst = error;
            }
    return worst;
}

/* How often each answer came, for the line at the end. */
typedef struct tally {
    int done, refused;
    double worst;
} tally;

static void try_product(kni_driver *d, kni_product *p, int64_t offset, bool must, tally *t)
{
    size_t size = kni_bytes_of(p->out_dtype);
    int64_t rows_a = p->transpose_a ? p->k : p->m, rows_b = p->transpose_b ? p->n : p->k;
    operand a = make_operand(d, p->dtype, p->batch * rows_a * p->row_a, offset, 1);
    operand b = make_operand(d, p->dtype, p->batch * rows_b * p->row_b, offset, 2);
    operand c = make_operand(d, p->out_dtype, p->batch * p->m * p->row_c, offset, 3);
    operand y = make_operand(d, p->out_dtype, p->batch * p->m * p->row_d, offset, 4);
    operand bias = make_operand(d, p->out_dtype, p->n, offset, 5);
    operand aux = make_operand(d, p->out_dtype, p->batch * p->m * p->row_d, offset, 6);
    const operand *in[] = {&a, &b, &c, &bias, &aux};
    p->a = (kni_place){a.memory, offset}, p->b = (kni_place){b.memory, offset},
    p->c = (kni_place){c.memory, offset};
    p->d = (kni_place){y.memory, offset}, p->bias = (kni_place){bias.memory, offset};
    p->aux = (kni_place){aux.memory, offset};
    kn_status status = d->product(d, p);
    char *stored = malloc((size_t)(y.count + offset) * size);
    double *got = malloc((size_t)y.count * sizeof *got);
    CHECK(d->download(d, stored, y.memory, 0, (size_t)(y.count + offset) * size) == KN_OK);
    kni_convert(got, KN_F64, 1, stored + (size_t)offset * size, p->out_dtype, 1, y.count);
    if (status == KN_OK) {
        double worst = compare(p, in, got);
        bool good = worst <= 1;
        /* What lies between the rows stays as it was. */
        for (int64_t i = 0; i < p->batch * p->m; i++)
            for (int64_t j = p->n; j < p->row_d; j++)
                good = good && got[i * p->row_d + j] == y.values[i * p->row_d + j];
        t->done++;
        if (!(worst <= t->worst)) t->worst = worst;
        if (!CHECK(good))
            printf("  product %lldx%lldx%lld batch %lld dtype %d to %d%s%s epilogue %#x beta %g: error %g\n",
                   (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->batch, p->dtype,
                   p->out_dtype, p->transpose_a ? " a'" : "", p->transpose_b ? " b'" : "", p->epilogue,
                   p->beta, worst);
    } else {
        t->refused++;
        if (status != KN_ERROR_UNSUPPORTED || must) {
            CHECK(status == KN_ERROR_UNSUPPORTED);
            printf("  status %d: product %lldx%lldx%lld dtype %d to %d epilogue %d\n", status,
                   (long long)p->m, (long long)p->n, (long long)p->k, p->dtype, p->out_dtype, p->epilogue);
        }
    }
    free(stored);
    free(got);
    operand *all[] = {&a, &b, &c, &y, &bias, &aux};
    for (int i = 0; i < 6; i++) free_operand(d, all[i]);
}

static const int64_t shapes[][4] = {
    {1, 1, 1, 1},      {8, 8, 8, 1},       {16, 32, 64, 1},    {128, 256, 64, 1},  {128, 128, 128, 1},
    {130, 264, 72, 1}, {33, 65, 17, 1},    {1, 64, 300, 1},    {300, 1, 64, 1},    {64, 64, 64, 5},
    {24, 40, 136, 3},  {256, 512, 320, 1}, {200, 200, 200, 2}, {128, 512, 784, 1}, {128, 10, 512, 1}};
static const int epilogues[] = {KNI_EPILOGUE_NONE,     KNI_EPILOGUE_BIAS,
                                KNI_EPILOGUE_RELU,     KNI_EPILOGUE_BIAS | KNI_EPILOGUE_RELU,
                                KNI_EPILOGUE_GELU,     KNI_EPILOGUE_BIAS | KNI_EPILOGUE_GELU,
                                KNI_EPILOGUE_GELU_GRAD};
static const int types[][2] = {{KN_F64, KN_F64}, {KN_F32, KN_F32},   {KN_F16, KN_F16},
                               {KN_F16, KN_F32}, {KN_BF16, KN_BF16}, {KN_BF16, KN_F32}};

static kni_product plain(const int64_t *s, const int *type, bool ta, bool tb, int64_t pad)
{
    kni_product p = {.dtype = type[0],
                     .out_dtype = type[1],
                     .m = s[0],
                     .n = s[1],
                     .k = s[2],
                     .batch = s[3],
                     .transpose_a = ta,
                     .transpose_b = tb,
                     .alpha = 1};
    p.row_a = (ta ? p.m : p.k) + pad, p.row_b = (tb ? p.k : p.n) + pad, p.row_c = p.n, p.row_d = p.n + pad;
    p.step_a = p.row_a * (ta ? p.k : p.m), p.step_b = p.row_b * (tb ? p.n : p.k);
    p.step_c = p.row_c * p.m, p.step_d = p.row_d * p.m;
    return p;
}

/* Our own kernels take seconds to compile, so they are tried with two of the pairs of types. */
static bool tried(size_t type, bool vendor) { return vendor || type == 3 || type == 4; }

static tally run_products(kni_driver *d, bool vendor)
{
    tally t = {0};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            for (int way = 0; way < 4 && tried(k, vendor); way++) {
                kni_product p = plain(shapes[s], types[k], way & 1, way & 2, way == 3 ? 8 : 0);
                try_product(d, &p, 0, vendor, &t);
            }
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (size_t e = 0; e < sizeof epilogues / sizeof *epilogues; e++)
            for (int way = 0; way < 4; way++) {
                if (!vendor && (k != 4 || way == 1 || way == 2)) continue; /* ours take long to compile */
                bool adds = way & 1, many = way & 2;
                kni_product p = plain((int64_t[]){192, 328, 96, many ? 3 : 1}, types[k], many, adds, 0);
                p.epilogue = epilogues[e], p.beta = adds ? 0.5 : 0, p.alpha = adds ? 2 : 1;
                try_product(d, &p, 0, false, &t);
                p.row_d += 8, p.step_d = p.row_d * p.m;
                try_product(d, &p, p.epilogue ? 8 : 3, false, &t);
            }
    /* Large enough for each width of our tiles. */
    for (int way = 0; way < 4; way++) {
        kni_product p = plain((int64_t[]){2104, 2056, 200, 1}, types[4], way & 1, way & 2, 0);
        try_product(d, &p, 0, true, &t);
        p = plain((int64_t[]){1496, 1504, 136, 1}, types[4], way & 1, way & 2, 0);
        try_product(d, &p, 0, true, &t);
    }
    kni_product shared = plain((int64_t[]){64, 96, 64, 4}, types[4], false, true, 0);
    shared.step_b = 0;
    try_product(d, &shared, 0, false, &t);
    kni_product fast = plain((int64_t[]){128, 128, 256, 1}, types[1], false, false, 0);
    fast.tf32 = true;
    try_product(d, &fast, 0, false, &t);
    return t;
}

/* A driver with or without the vendor's libraries. */
static kni_driver *open_driver(bool vendor)
{
    setenv("KN_VENDOR", vendor ? "on" : "off", 1);
    kni_driver *d = kni_cuda_driver_open(0);
    unsetenv("KN_VENDOR");
    CHECK(d != NULL);
    return d;
}

void check_products(void)
{
    for (int vendor = 1; vendor >= 0; vendor--) {
        kni_driver *d = open_driver(vendor);
        if (!d) return;
        tally t = run_products(d, vendor);
        printf("products, %s: %d done, %d not taken, largest error %.3f of what is allowed\n",
               vendor ? "as shipped" : "KN_VENDOR=off", t.done, t.refused, t.worst);
        d->close(d);
    }
}

/* ---- timing */

static double time_product(kni_driver *d, int dtype, int64_t n, bool tb, bool tf32)
{
    size_t bytes = (size_t)(n * n) * kni_bytes_of(dtype);
    enum { PIECE = 1 << 20 };
    double *values = malloc(PIECE * sizeof *values);
    char *stored = malloc(bytes);
    uint64_t state = 9;
    void *memory[3];
    for (int i = 0; i < 3; i++) memory[i] = d->allocate(d, bytes);
    for (int64_t done = 0; done < n * n; done += PIECE) {
        int64_t count = n * n - done < PIECE ? n * n - done : PIECE;
        for (int64_t k = 0; k < count; k++) values[k] = check_random(&state);
        kni_convert(stored + (size_t)done * kni_bytes_of(dtype), dtype, 1, values, KN_F64, 1, count);
    }
    d->upload(d, memory[0], 0, stored, bytes);
    d->upload(d, memory[1], 0, stored, bytes);
    kni_product p = plain((int64_t[]){n, n, n, 1}, (int[]){dtype, dtype}, false, tb, 0);
    p.a.memory = memory[0], p.b.memory = memory[1], p.d.memory = memory[2], p.tf32 = tf32;
    kn_status status = KN_OK;
    for (int i = 0; i < 5 && !status; i++) status = d->product(d, &p);
    double best = 0;
    for (int turn = 0; turn < 5 && !status; turn++) {
        int count = n >= 8192 ? 10 : 40;
        d->sync(d);
        double t = check_seconds();
        for (int i = 0; i < count && !status; i++) status = d->product(d, &p);
        d->sync(d);
        double rate = 2.0 * (double)n * (double)n * (double)n * count / (check_seconds() - t) / 1e12;
        if (rate > best) best = rate;
    }
    for (int i = 0; i < 3; i++) d->free(d, memory[i]);
    free(values);
    free(stored);
    return status ? 0 : best;
}

void time_products(void)
{
    kni_driver *drivers[2] = {open_driver(false), open_driver(true)};
    if (!drivers[0] || !drivers[1]) return;
    static const struct {
        const char *name;
        int dtype;
        bool transposed, tf32;
    } rows[] = {{"bf16", KN_BF16, false, false},
                {"bf16 b'", KN_BF16, true, false},
                {"f16", KN_F16, false, false},
                {"f32", KN_F32, false, false},
                {"tf32", KN_F32, false, true}};
    printf("%-8s %6s %14s %14s %8s\n", "product", "n", "cuBLASLt", "own", "ratio");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int64_t n = 2048; n <= 8192; n *= 2) {
            double rate[2];
            if (rows[i].dtype == KN_F32 && n > 4096) continue;
            for (int vendor = 0; vendor < 2; vendor++)
                rate[vendor] =
                    time_product(drivers[vendor], rows[i].dtype, n, rows[i].transposed, rows[i].tf32);
            printf("%-8s %6lld %10.1f TF/s %10.1f TF/s %7.3f\n", rows[i].name, (long long)n, rate[1], rate[0],
                   rate[1] > 0 ? rate[0] / rate[1] : 0);
        }
    for (int i = 0; i < 2; i++) drivers[i]->close(drivers[i]);
}
