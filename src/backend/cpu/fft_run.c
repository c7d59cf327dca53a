/* fft on the CPU: tables of roots for the length, then all lines on all threads. f32 and the halves are computed in
   f32, f64 in f64. */
#include "backend/cpu/fft_kernels.h"
#include "backend/cpu/isa.h"
#include "backend/host/host.h"
#include "core/math/math.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include <stdatomic.h>

/* e^(2 pi i k / n) as the product of a coarse and a fine root, each exact to the last bit. */
typedef struct roots {
    int64_t n, fine; /* how many fine ones */
    double *re, *im; /* fine ones, then coarse ones */
    size_t bytes;
} roots;

/* cos(2 pi k / n), n a multiple of 4, 0 <= k < n, from an angle of at most pi / 4. */
static double turn_cos(int64_t k, int64_t n)
{
    int64_t quarter = n / 4;
    double unit = 6.283185307179586 / (double)n;
    switch (8 * k / n) {
    case 0:
        return kni_cos_f64(unit * (double)k);
    case 1:
        return kni_sin_f64(unit * (double)(quarter - k));
    case 2:
        return -kni_sin_f64(unit * (double)(k - quarter));
    case 3:
        return -kni_cos_f64(unit * (double)(2 * quarter - k));
    case 4:
        return -kni_cos_f64(unit * (double)(k - 2 * quarter));
    case 5:
        return -kni_sin_f64(unit * (double)(3 * quarter - k));
    case 6:
        return kni_sin_f64(unit * (double)(k - 3 * quarter));
    default:
        return kni_cos_f64(unit * (double)(n - k));
    }
}

static bool roots_make(roots *r, int64_t n)
{
    int64_t fine = 1;
    while (fine * fine < n) fine *= 2;
    int64_t count = fine + n / fine + 1;
    r->n = n;
    r->fine = fine;
    r->bytes = (size_t)count * 2 * sizeof(double);
    r->re = kni_allocate(r->bytes);
    if (!r->re) return false;
    r->im = r->re + count;
    for (int64_t i = 0; i < count; i++) {
        int64_t k = i < fine ? i : (i - fine) * fine;
        k = k % n;
        r->re[i] = turn_cos(4 * k, 4 * n);
        r->im[i] = turn_cos((4 * k + 3 * n) % (4 * n), 4 * n);
    }
    return true;
}

static void roots_at(const roots *r, int64_t k, double *re, double *im)
{
    int64_t low = k % r->fine, high = r->fine + k / r->fine;
    *re = r->re[low] * r->re[high] - r->im[low] * r->im[high];
    *im = r->re[low] * r->im[high] + r->im[low] * r->re[high];
}

static void put(void *to, bool wide, int64_t at, double value)
{
    if (wide)
        ((double *)to)[at] = value;
    else
        ((float *)to)[at] = (float)value;
}

/* All tables of one run in one allocation. */
typedef struct setup {
    kni_fft_line line;
    bool wide;
    void *memory;
    size_t bytes;
} setup;

static int64_t twiddle_count(const kni_fft_plan *p)
{
    int64_t count = 0, l = 1;
    for (int i = 0; p->factors[i] > 1; i++) {
        int64_t f = p->factors[i];
        count += 2 * (f - 1) * l + (f > 5 ? 2 * f : 0);
        l *= f;
    }
    return count;
}

static void fill_twiddles(const kni_fft_plan *p, const roots *r, void *to, bool wide)
{
    int64_t at = 0, l = 1, m = p->length;
    double re, im;
    for (int i = 0; p->factors[i] > 1; i++) {
        int64_t f = p->factors[i];
        m /= f;
        for (int64_t q = 1; q < f; q++, at += 2 * l)
            for (int64_t j = 0; j < l; j++) {
                roots_at(r, q * j * m, &re, &im);
                put(to, wide, at + j, re);
                put(to, wide, at + l + j, -im);
            }
        for (int64_t k = 0; k < f && f > 5; k++) {
            roots_at(r, k * (p->length / f), &re, &im);
            put(to, wide, at + k, re);
            put(to, wide, at + f + k, -im);
        }
        if (f > 5) at += 2 * f;
        l *= f;
    }
}

static bool setup_make(setup *s, const kni_fft_kernels *kernels)
{
    const kni_fft_plan *p = &s->line.plan;
    bool chirps = p->length != p->n;
    size_t element = s->wide ? sizeof(double) : sizeof(float);
    int64_t twiddles = twiddle_count(p), count = twiddles + (chirps ? 2 * p->n + 6 * p->length : 0);
    roots r;
    s->bytes = (size_t)count * element;
    s->memory = kni_allocate(s->bytes ? s->bytes : element);
    if (!s->memory) return false;
    if (!s->bytes) s->bytes = element;
    char *at = s->memory;
    bool good = roots_make(&r, p->length);
    if (good) {
        fill_twiddles(p, &r, s->memory, s->wide);
        kni_free(r.re, r.bytes);
    }
    s->line.twiddles = at;
    if (!good || !chirps) return good;
    s->line.chirp = at + (size_t)twiddles * element;
    s->line.spectrum = (char *)s->line.chirp + (size_t)(2 * p->n) * element;
    if (!roots_make(&r, 2 * p->n)) return false;
    for (int64_t k = 0; k < p->n; k++) {
        double re, im;
        roots_at(&r, k * k % (2 * p->n), &re, &im);
        put(s->line.chirp, s->wide, k, re);
        put(s->line.chirp, s->wide, p->n + k, im);
    }
    kni_free(r.re, r.bytes);
    kernels->spectrum(&s->line, (char *)s->line.spectrum + (size_t)(2 * p->length) * element);
    return true;
}

/* ---- lines */

typedef struct job {
    const setup *setup;
    const kni_fft_kernels *kernels;
    const char *xr, *xi;
    char *yr, *yi;
    int64_t lines, block;
    _Atomic bool failed;
} job;

static void run_lines(void *argument, int64_t task, int worker)
{
    (void)worker;
    job *j = argument;
    const kni_fft_line *t = &j->setup->line;
    size_t element = j->setup->wide ? sizeof(double) : sizeof(float),
           bytes = (size_t)(4 * t->plan.length) * element;
    void *scratch = kni_allocate(bytes);
    if (!scratch) {
        atomic_store_explicit(&j->failed, true, memory_order_relaxed);
        return;
    }
    int64_t end = (task + 1) * j->block < j->lines ? (task + 1) * j->block : j->lines;
    for (int64_t i = task * j->block; i < end; i++) {
        size_t from = (size_t)(i / t->inner * t->size * t->inner + i % t->inner) * element;
        size_t to = (size_t)(i / t->inner * t->plan.n * t->inner + i % t->inner) * element;
        j->kernels->line(t, j->xr + from, j->xi ? j->xi + from : NULL, j->yr + to, j->yi + to, scratch);
    }
    kni_free(scratch, bytes);
}

static const kni_fft_kernels *kernels_for(bool wide)
{
    static const kni_fft_kernels *const f32[] = KNI_TIER_TABLE(&kni_fft_f32);
    static const kni_fft_kernels *const f64[] = KNI_TIER_TABLE(&kni_fft_f64);
    return (wide ? f64 : f32)[kni_cpu_tier()];
}

static kn_status no_memory(const kn_record *r)
{
    return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the tables of roots and the lines");
}

/* Outputs of the compute type are written in place, the halves through a copy. */
static kn_status run_outputs(const kn_record *r, job *j, int dtype)
{
    kni_tensor *re = kni_out(r, 0), *im = kni_out(r, 1);
    int64_t count = kni_count(&re->type), bytes = kn_dtype_bytes((kn_dtype)dtype, count);
    bool direct = re->type.dtype == dtype;
    char *copy = direct                               ? NULL
                 : bytes < 0 || bytes > INT64_MAX / 2 ? NULL
                                                      : kni_allocate((size_t)(2 * bytes));
    if (!direct && !copy) return no_memory(r);
    j->yr = direct ? re->storage->data : copy;
    j->yi = direct ? im->storage->data : copy + bytes;
    kni_parallel_for((j->lines + j->block - 1) / j->block, run_lines, j);
    if (!direct) {
        kni_convert(re->storage->data, re->type.dtype, 1, j->yr, dtype, 1, count);
        kni_convert(im->storage->data, im->type.dtype, 1, j->yi, dtype, 1, count);
        kni_free(copy, (size_t)(2 * bytes));
    }
    return atomic_load(&j->failed) ? no_memory(r) : KN_OK;
}

static kn_status run_fft(const kn_record *r)
{
    enum { TASK = 1 << 15 }; /* elements of a task */
    const kni_fft_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *imag = r->n_in > 1 ? kni_in(r, 1) : NULL;
    const kni_type *y = &kni_out(r, 0)->type;
    int64_t n = y->dims[a->axis], count = kni_count(y);
    if (count == 0) return KN_ERROR_UNSUPPORTED;
    setup s = {.wide = y->dtype == KN_F64};
    int dtype = s.wide ? KN_F64 : KN_F32;
    const kni_fft_kernels *kernels = kernels_for(s.wide);
    s.line = (kni_fft_line){.plan = kni_fft_plan_of(n),
                            .size = x->type.dims[a->axis],
                            .inner = kni_infer_product(y, (int)a->axis + 1, y->rank),
                            .inverse = a->inverse != 0,
                            .scale = kni_fft_scale(a, n)};
    kn_status status = kni_host_allocate(kni_out(r, 0));
    if (status == KN_OK) status = kni_host_allocate(kni_out(r, 1));
    if (status) return status;
    kni_borrowed re = {0}, im = {0};
    bool good = kni_host_borrow(x, dtype, &re) && (!imag || kni_host_borrow(imag, dtype, &im)) &&
                setup_make(&s, kernels);
    job j = {&s,   kernels, re.data,   im.data,
             NULL, NULL,    count / n, s.line.plan.length < TASK ? TASK / s.line.plan.length : 1,
             false};
    status = good ? run_outputs(r, &j, dtype) : no_memory(r);
    if (s.memory) kni_free(s.memory, s.bytes);
    kni_host_unborrow(&im);
    kni_host_unborrow(&re);
    return status;
}

const kni_native kni_cpu_fft = {.run = run_fft};
