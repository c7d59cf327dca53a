/* A stand-in for libcublasLt, linked into the same object as fake_cuda.c: column-major products in f64 over host memory,
   with the layouts, transposes, batches and epilogues that Kiln sets. It runs when it is called, after all that is
   queued, so products are in order with the rest of the stream. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuStreamSynchronize(void *stream);
void fake_cuda_pass(int64_t time);

enum { F32 = 0, F64 = 1, F16 = 2, BF16 = 14, INVALID = 7, NOT_SUPPORTED = 15 };

typedef struct layout {
    int dtype;
    uint64_t rows, columns;
    int64_t leading, step;
    int32_t batch;
} layout;

typedef struct desc {
    int compute, scale;
    int32_t values[16];
    void *bias, *aux;
    int64_t aux_leading, aux_step;
} desc;

static double load(const void *memory, int dtype, int64_t i)
{
    const uint16_t *halves = memory;
    if (dtype == F64) return ((const double *)memory)[i];
    if (dtype == F32) return ((const float *)memory)[i];
    if (dtype == BF16) {
        uint32_t bits = (uint32_t)halves[i] << 16;
        float value;
        memcpy(&value, &bits, 4);
        return value;
    }
    int exponent = halves[i] >> 10 & 31;
    double mantissa = halves[i] & 1023;
    double value = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
    return halves[i] >> 15 ? -value : value;
}

static void store(void *memory, int dtype, int64_t i, double value)
{
    if (dtype == F64)
        ((double *)memory)[i] = value;
    else if (dtype == F32)
        ((float *)memory)[i] = (float)value;
    else if (dtype == BF16) {
        float narrow = (float)value;
        uint32_t bits;
        memcpy(&bits, &narrow, 4);
        ((uint16_t *)memory)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    } else {
        int exponent;
        double size = fabs(value);
        frexp(size, &exponent);
        if (exponent < -13) exponent = -13;
        int64_t steps = (int64_t)nearbyint(ldexp(size, 11 - exponent)),
                bits = steps + ((int64_t)(exponent + 13) << 10);
        ((uint16_t *)memory)[i] = (uint16_t)((size == 0 ? 0 : bits) | (value < 0 ? 0x8000 : 0));
    }
}

enum { SLOW = 41, FAST = 42 /* algorithms */ };
static long runs[2];
/* How often products were computed by the slower and by the faster algorithm. */
long fake_cublaslt_runs(bool fast) { return runs[fast]; }

size_t cublasLtGetVersion(void) { return 130000; }
int cublasLtCreate(void **handle)
{
    static int object;
    *handle = &object;
    return getenv("FAKE_CUBLASLT_BROKEN") ? 1 : 0;
}
int cublasLtDestroy(void *handle) { return handle ? 0 : INVALID; }
int cublasLtMatmulDescCreate(void **made, int compute, int scale)
{
    desc *d = calloc(1, sizeof *d);
    d->compute = compute;
    d->scale = scale;
    *made = d;
    return 0;
}
int cublasLtMatmulDescDestroy(void *d)
{
    free(d);
    return 0;
}
int cublasLtMatmulDescSetAttribute(void *given, int attribute, const void *value, size_t bytes)
{
    desc *d = given;
    if (attribute == 8 && bytes == 8)
        memcpy(&d->bias, value, 8);
    else if (attribute == 11 && bytes == 8)
        memcpy(&d->aux, value, 8);
    else if (attribute == 12 && bytes == 8)
        memcpy(&d->aux_leading, value, 8);
    else if (attribute == 13 && bytes == 8)
        memcpy(&d->aux_step, value, 8);
    else if (attribute >= 0 && attribute < 16 && bytes == 4)
        memcpy(&d->values[attribute], value, 4);
    else
        return INVALID;
    return 0;
}
int cublasLtMatrixLayoutCreate(void **made, int dtype, uint64_t rows, uint64_t columns, int64_t leading)
{
    layout *l = calloc(1, sizeof *l);
    *l = (layout){dtype, rows, columns, leading, 0, 1};
    *made = l;
    return 0;
}
int cublasLtMatrixLayoutDestroy(void *l)
{
    free(l);
    return 0;
}
int cublasLtMatrixLayoutSetAttribute(void *given, int attribute, const void *value, size_t bytes)
{
    layout *l = given;
    if (attribute == 5 && bytes == 4)
        memcpy(&l->batch, value, 4);
    else if (attribute == 6 && bytes == 8)
        memcpy(&l->step, value, 8);
    else
        return INVALID;
    return 0;
}
int cublasLtMatmulPreferenceCreate(void **made)
{
    *made = malloc(8);
    return 0;
}
int cublasLtMatmulPreferenceDestroy(void *p)
{
    free(p);
    return 0;
}
int cublasLtMatmulPreferenceSetAttribute(void *p, int attribute, const void *value, size_t bytes)
{
    (void)p, (void)value;
    return attribute == 1 ? bytes != 8 : bytes != 4;
}

static int fits(const desc *d, const layout *a, const layout *b, const layout *c, const layout *out)
{
    uint64_t m = d->values[3] ? a->columns : a->rows, k = d->values[3] ? a->rows : a->columns;
    uint64_t n = d->values[4] ? b->rows : b->columns, inner = d->values[4] ? b->columns : b->rows;
    return k == inner && out->rows == m && out->columns == n && c->rows == m && c->columns == n &&
           a->leading >= (int64_t)a->rows && b->leading >= (int64_t)b->rows && out->leading >= (int64_t)m &&
           a->batch == out->batch && b->batch == out->batch && c->batch == out->batch && d->values[7] > 0;
}

struct choice {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

/* As the library: no epilogue but the plain one in f64. */
int cublasLtMatmulAlgoGetHeuristic(void *handle, void *given, void *a, void *b, void *c, void *d,
                                   void *preference, int wanted, struct choice *choices, int *found)
{
    const desc *e = given;
    (void)handle, (void)preference;
    *found = 0;
    if (wanted < 1 || !fits(e, a, b, c, d)) return INVALID;
    if (((const layout *)d)->dtype == F64 && e->values[7] != 1) return NOT_SUPPORTED;
    if (e->values[7] & 128 && (!e->aux || e->aux_leading % 8 || e->aux_step % 8)) return NOT_SUPPORTED;
    /* The slower one comes first. */
    const int count = wanted < 2 ? 1 : 2;
    for (int i = 0; i < count; i++) {
        memset(&choices[i], 0, sizeof *choices);
        choices[i].algorithm[0] = (uint64_t)(count == 1 ? FAST : SLOW + i);
        choices[i].workspace = 1024;
    }
    *found = count;
    return 0;
}

static double gelu_slope(double x)
{
    double s = 1 / (1 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
    return s + x * s * (1 - s) * (1.5957691216057308 + 0.21406444881780073 * x * x);
}

static double finish(const desc *d, int dtype, int64_t row, int64_t column, int32_t matrix, double x)
{
    int64_t at = matrix * d->aux_step + row + column * d->aux_leading;
    int epilogue = d->values[7];
    if (epilogue & 4) x += load(d->bias, dtype, row);
    if (epilogue & 2) x = x > 0 ? x : 0;
    if (epilogue & 32) x = 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    if (epilogue & 64) x *= gelu_slope(load(d->aux, dtype, at));
    return x;
}

int cublasLtMatmul(void *handle, void *given, const void *alpha, const void *a, void *layout_a, const void *b,
                   void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d,
                   const uint64_t *algorithm, void *workspace, size_t bytes, void *stream)
{
    const desc *e = given;
    const layout *la = layout_a, *lb = layout_b, *lc = layout_c, *ld = layout_d;
    (void)handle, (void)workspace, (void)bytes;
    int failed = cuStreamSynchronize(stream);
    if (failed) return 13;
    if (!fits(e, la, lb, lc, ld) || (algorithm[0] != SLOW && algorithm[0] != FAST)) return INVALID;
    runs[algorithm[0] == FAST]++;
    fake_cuda_pass(algorithm[0] == FAST ? 1 : 2);
    double scale = load(alpha, e->scale, 0), add = load(beta, e->scale, 0);
    int64_t inner = (int64_t)(e->values[3] ? la->rows : la->columns);
    for (int32_t z = 0; z < ld->batch; z++)
        for (int64_t j = 0; j < (int64_t)ld->columns; j++)
            for (int64_t i = 0; i < (int64_t)ld->rows; i++) {
                double sum = 0;
                for (int64_t k = 0; k < inner; k++)
                    sum += load(a, la->dtype,
                                z * la->step + (e->values[3] ? k + i * la->leading : i + k * la->leading)) *
                           load(b, lb->dtype,
                                z * lb->step + (e->values[4] ? j + k * lb->leading : k + j * lb->leading));
                sum *= scale;
                if (add != 0) sum += add * load(c, lc->dtype, z * lc->step + i + j * lc->leading);
                store(d, ld->dtype, z * ld->step + i + j * ld->leading, finish(e, ld->dtype, i, j, z, sum));
            }
    return 0;
}
