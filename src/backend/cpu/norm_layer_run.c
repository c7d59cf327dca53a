/* The CPU entries of layer norm, RMS norm and their gradients: rows on all threads. */
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/fetch_ahead.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/norm_kernels.h"
#include "ops/native.h"
#include "ops/norm.h"
#include <string.h>

static const kni_norm_kernels *const f32_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_norm_f32);
static const kni_norm_kernels *const f64_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_norm_f64);

const kni_norm_kernels *kni_norm_kernels_for(int dtype)
{
    return (dtype == KN_F64 ? f64_kernels : f32_kernels)[kni_cpu_tier()];
}

typedef struct layer_context {
    const kni_norm_kernels *kernels;
    const void *weight, *bias;
    int64_t n;
    bool centre;
    double eps;
    /* Sums of blocks of rows, for the gradients of weight and bias: [blocks][2][n]. */
    char *partial;
    int64_t block, bytes;
} layer_context;

static void forward_row(void *context, int64_t position, const void *const *in, void *out)
{
    (void)position;
    const layer_context *c = context;
    c->kernels->row(out, in[0], c->weight, c->bias, c->n, c->centre, c->eps);
}

static void backward_row(void *context, int64_t position, const void *const *in, void *out)
{
    (void)position;
    const layer_context *c = context;
    c->kernels->grad_row(out, in[0], in[1], c->weight, c->n, c->centre, c->eps);
}

/* Operands 0 .. n_rows - 1 are rows of x's dtype, the rest vectors of the compute type. */
typedef struct operands {
    kni_borrowed borrowed[3];
    int n;
} operands;

static bool borrow(const kn_record *r, int n_rows, int dtype, operands *o)
{
    memset(o, 0, sizeof *o);
    for (o->n = 0; o->n < r->n_in; o->n++) {
        kni_tensor *x = kni_in(r, o->n);
        int want = o->n < n_rows ? dtype : kni_norm_dtype(dtype);
        if (x && !kni_host_borrow(x, want, &o->borrowed[o->n])) return false;
    }
    return true;
}

static void unborrow(operands *o)
{
    for (int i = 0; i < 3; i++) kni_host_unborrow(&o->borrowed[i]);
}

static layer_context context_of(const kn_record *r, bool centre, int dtype, kni_norm_view v)
{
    const kni_layer_norm_attributes *a = r->attributes;
    layer_context c = {.kernels = kni_norm_kernels_for(dtype), .n = v.n, .centre = centre, .eps = a->eps};
    return c;
}

static kn_status run_rows(const kn_record *r, bool centre, int n_rows)
{
    const kni_layer_norm_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, n_rows - 1), *y = kni_out(r, 0);
    kni_norm_view v = kni_norm_view_of(&x->type, a->n_axes);
    layer_context context = context_of(r, centre, x->type.dtype, v);
    operands o;
    kn_status s = borrow(r, n_rows, x->type.dtype, &o) ? KN_OK : KN_ERROR_MEMORY;
    if (s == KN_OK) s = kni_host_allocate_or_reuse(r, y, (UINT64_C(1) << n_rows) - 1);
    if (s == KN_OK && v.n > 0) {
        context.weight = o.borrowed[n_rows].data;
        if (n_rows == 1 && r->n_in > 2) context.bias = o.borrowed[2].data;
        kni_norm_job job = {.outer = v.rows, .axis = v.n, .inner = 1, .dtype = x->type.dtype, .n_in = n_rows};
        job.in[0] = o.borrowed[0].data;
        job.in[1] = o.borrowed[1].data;
        job.out = y->storage->data;
        job.context = &context;
        job.row = n_rows == 1 ? forward_row : backward_row;
        s = kni_norm_run(&job);
    }
    unborrow(&o);
    return s;
}

static kn_status run_layer_norm(const kn_record *r) { return run_rows(r, true, 1); }
static kn_status run_rms_norm(const kn_record *r) { return run_rows(r, false, 1); }
static kn_status run_layer_norm_grad(const kn_record *r) { return run_rows(r, true, 2); }
static kn_status run_rms_norm_grad(const kn_record *r) { return run_rows(r, false, 2); }

const kni_native kni_cpu_layer_norm = {.run = run_layer_norm, KNI_AHEAD(KNI_WORK_STATISTICS)};
const kni_native kni_cpu_rms_norm = {.run = run_rms_norm, KNI_AHEAD(KNI_WORK_STATISTICS)};
const kni_native kni_cpu_layer_norm_grad = {.run = run_layer_norm_grad};
const kni_native kni_cpu_rms_norm_grad = {.run = run_rms_norm_grad};

/* ---- gradients of weight and bias */

enum { MOST_BLOCKS = 32, LEAST_ROWS = 16 };

typedef struct affine_job {
    layer_context *context;
    const char *dy, *x;
    int dtype;
    int64_t rows, row_bytes;
    _Atomic bool failed;
} affine_job;

/* Sums the rows of one block into its partial sums, in order. */
static void affine_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    affine_job *j = argument;
    const layer_context *c = j->context;
    char *dweight = c->partial + task * 2 * c->bytes, *dbias = dweight + c->bytes;
    memset(dweight, 0, (size_t)(2 * c->bytes));
    bool converts = j->dtype != kni_norm_dtype(j->dtype);
    size_t scratch_bytes = 2 * (size_t)c->n * sizeof(float);
    float *scratch = converts ? kni_allocate(scratch_bytes) : NULL;
    if (converts && !scratch) {
        atomic_store(&j->failed, true);
        return;
    }
    int64_t begin = task * c->block, end = begin + c->block < j->rows ? begin + c->block : j->rows;
    for (int64_t row = begin; row < end; row++) {
        const void *dy = j->dy + row * j->row_bytes, *x = j->x + row * j->row_bytes;
        if (converts) {
            kni_cpu_convert(scratch, KN_F32, 1, dy, j->dtype, 1, c->n);
            kni_cpu_convert(scratch + c->n, KN_F32, 1, x, j->dtype, 1, c->n);
            dy = scratch;
            x = scratch + c->n;
        }
        c->kernels->affine_row(dweight, dbias, dy, x, c->n, c->centre, c->eps);
    }
    if (scratch) kni_free(scratch, scratch_bytes);
}

static kn_status sum_blocks(const kn_record *r, affine_job *j)
{
    layer_context *c = j->context;
    c->block = (j->rows + MOST_BLOCKS - 1) / MOST_BLOCKS;
    if (c->block < LEAST_ROWS) c->block = LEAST_ROWS;
    int64_t blocks = j->rows ? (j->rows + c->block - 1) / c->block : 1;
    size_t bytes = (size_t)(blocks * 2 * c->bytes);
    c->partial = kni_allocate(bytes);
    if (!c->partial)
        return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    kni_norm_share(j->rows * c->n, blocks, affine_task, j);
    kn_status s = KN_OK;
    if (atomic_load(&j->failed))
        s = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    for (int k = 0; k < r->n_out && s == KN_OK; k++) {
        char *to = kni_out(r, k)->storage->data;
        memcpy(to, c->partial + k * c->bytes, (size_t)c->bytes);
        for (int64_t b = 1; b < blocks; b++) c->kernels->add(to, c->partial + (2 * b + k) * c->bytes, c->n);
    }
    kni_free(c->partial, bytes);
    return s;
}

static kn_status run_affine(const kn_record *r, bool centre)
{
    const kni_layer_norm_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 1);
    int dtype = x->type.dtype;
    kni_norm_view v = kni_norm_view_of(&x->type, a->n_axes);
    layer_context context = context_of(r, centre, dtype, v);
    context.bytes = v.n * kni_bytes_of(kni_norm_dtype(dtype));
    operands o;
    kn_status s = borrow(r, 2, dtype, &o) ? KN_OK : KN_ERROR_MEMORY;
    for (int k = 0; k < r->n_out && s == KN_OK; k++) s = kni_host_allocate(kni_out(r, k));
    if (s == KN_OK && v.n > 0) {
        affine_job job = {
            .context = &context, .dy = o.borrowed[0].data, .x = o.borrowed[1].data, .dtype = dtype};
        job.rows = v.rows;
        job.row_bytes = v.n * kni_bytes_of(dtype);
        s = sum_blocks(r, &job);
    }
    unborrow(&o);
    return s;
}

static kn_status run_layer_affine(const kn_record *r) { return run_affine(r, true); }
static kn_status run_rms_affine(const kn_record *r) { return run_affine(r, false); }

const kni_native kni_cpu_layer_norm_affine_grad = {.run = run_layer_affine};
const kni_native kni_cpu_rms_norm_affine_grad = {.run = run_rms_affine};
