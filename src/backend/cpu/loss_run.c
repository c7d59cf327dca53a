/* The CPU entries of cross entropy and its gradient. */
#include "backend/cpu/isa.h"
#include "backend/cpu/loss_table.h"
#include "backend/cpu/norm_drive.h"
#include "ops/loss.h"
#include "ops/native.h"
#include <stdatomic.h>

static const kni_loss_kernels *const f32_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_loss_f32);
static const kni_loss_kernels *const f64_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_loss_f64);

typedef struct loss_context {
    const kni_loss_kernels *kernels;
    const kni_cross_entropy_attributes *a;
    const int64_t *target;
    const void *weight;                   /* of the compute type, or NULL */
    const void *dy, *lse;                 /* backward, of the compute type */
    void *loss_out, *lse_out, *share_out; /* forward, of the compute type */
    double weight_sum;                    /* of all classes */
    int64_t classes;
    int compute;
    _Atomic bool bad;
    _Atomic int64_t bad_index;
} loss_context;

static double number(const loss_context *c, const void *x, int64_t i)
{
    return c->compute == KN_F64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

static void set_number(const loss_context *c, void *y, int64_t i, double value)
{
    if (c->compute == KN_F64)
        ((double *)y)[i] = value;
    else
        ((float *)y)[i] = (float)value;
}

/* The class at a position, -1 where it is ignored or no class at all. */
static int64_t class_at(loss_context *c, int64_t position)
{
    int64_t t = c->target[position];
    if (t == c->a->ignore_index) return -1;
    if (t >= 0 && t < c->classes) return t;
    atomic_store(&c->bad_index, t);
    atomic_store(&c->bad, true);
    return -1;
}

static double class_weight(const loss_context *c, int64_t t)
{
    return c->weight ? number(c, c->weight, t) : 1;
}

/* at_target: x[t]; smooth: sum of weight (lse - x). */
static void put_loss(loss_context *c, int64_t position, int64_t t, double lse, double at_target,
                     double smooth)
{
    double part = c->a->smoothing, loss = 0, share = 0;
    if (t >= 0) {
        share = class_weight(c, t);
        loss = share * (lse - at_target);
        if (part > 0) loss = (1 - part) * loss + part / (double)c->classes * smooth;
    }
    set_number(c, c->loss_out, position, loss);
    set_number(c, c->lse_out, position, lse);
    set_number(c, c->share_out, position, share);
}

static void forward_row(void *context, int64_t position, const void *const *in, void *out)
{
    (void)out;
    loss_context *c = context;
    int64_t t = class_at(c, position);
    double lse = c->kernels->lse_row(in[0], c->classes), smooth = 0;
    if (c->a->smoothing > 0) smooth = c->kernels->smooth_row(in[0], c->weight, lse, c->classes);
    put_loss(c, position, t, lse, t < 0 ? 0 : number(c, in[0], t), smooth);
}

static void forward_columns(void *context, int64_t position, int64_t width, int64_t stride,
                            const void *const *in, void *out)
{
    (void)out;
    loss_context *c = context;
    double lse[KNI_NORM_WIDTH], smooth[KNI_NORM_WIDTH] = {0};
    c->kernels->lse_columns(lse, in[0], c->classes, width, stride);
    if (c->a->smoothing > 0)
        c->kernels->smooth_columns(smooth, in[0], c->weight, lse, c->classes, width, stride);
    for (int64_t k = 0; k < width; k++) {
        int64_t t = class_at(c, position + k);
        put_loss(c, position + k, t, lse[k], t < 0 ? 0 : number(c, in[0], t * stride + k), smooth[k]);
    }
}

static kni_loss_gradient gradient_at(loss_context *c, int64_t position)
{
    kni_loss_gradient g = {.target = class_at(c, position)};
    if (g.target < 0) return g;
    g.smooth = c->a->smoothing / (double)c->classes;
    g.on = (1 - c->a->smoothing) * class_weight(c, g.target);
    g.all = g.on + g.smooth * c->weight_sum;
    g.factor = number(c, c->dy, position);
    g.lse = number(c, c->lse, position);
    return g;
}

static void backward_row(void *context, int64_t position, const void *const *in, void *out)
{
    loss_context *c = context;
    kni_loss_gradient g = gradient_at(c, position);
    c->kernels->grad_row(out, in[0], c->weight, &g, c->classes);
}

static void backward_columns(void *context, int64_t position, int64_t width, int64_t stride,
                             const void *const *in, void *out)
{
    loss_context *c = context;
    kni_loss_gradient g[KNI_NORM_WIDTH];
    for (int64_t k = 0; k < width; k++) g[k] = gradient_at(c, position + k);
    c->kernels->grad_columns(out, in[0], c->weight, g, c->classes, width, stride);
}

static void start(loss_context *c, const kn_record *r, int dtype, const kni_class_view *v)
{
    *c = (loss_context){.a = r->attributes, .classes = v->classes, .compute = kni_norm_dtype(dtype)};
    c->kernels = (dtype == KN_F64 ? f64_kernels : f32_kernels)[kni_cpu_tier()];
}

static kn_status drive(const kn_record *r, loss_context *c, const kni_class_view *v, int dtype, const void *x,
                       void *dx)
{
    kni_norm_job job = {.outer = v->outer, .axis = v->classes, .inner = v->inner, .dtype = dtype, .n_in = 1};
    job.in[0] = x;
    job.out = dx;
    job.context = c;
    job.row = dx ? backward_row : forward_row;
    job.columns = dx ? backward_columns : forward_columns;
    kn_status s = kni_norm_run(&job);
    if (s == KN_OK && atomic_load(&c->bad))
        return kni_fail_op(KN_ERROR_INDEX, r->row->name, "class %D is out of range; there are %D classes",
                           atomic_load(&c->bad_index), c->classes);
    return s;
}

/* Borrows the operands; those that are floats but the logits as the compute type. */
static kn_status borrow(const kn_record *r, int logits, int target, int dtype, kni_borrowed *in)
{
    for (int i = 0; i < r->n_in; i++) {
        int want = i == logits ? dtype : i == target ? KN_I64 : kni_norm_dtype(dtype);
        if (kni_in(r, i) && !kni_host_borrow(kni_in(r, i), want, &in[i])) return KN_ERROR_MEMORY;
    }
    return KN_OK;
}

static kn_status run_forward(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0);
    kni_class_view v = kni_class_view_of(&x->type);
    kni_borrowed in[3] = {{0}};
    loss_context c;
    start(&c, r, x->type.dtype, &v);
    kn_status s = borrow(r, 0, 1, x->type.dtype, in);
    for (int k = 0; k < 3 && s == KN_OK; k++) s = kni_host_allocate(kni_out(r, k));
    if (s == KN_OK) {
        c.target = in[1].data;
        c.weight = in[2].data;
        c.loss_out = kni_out(r, 0)->storage->data;
        c.lse_out = kni_out(r, 1)->storage->data;
        c.share_out = kni_out(r, 2)->storage->data;
        s = drive(r, &c, &v, x->type.dtype, in[0].data, NULL);
    }
    for (int i = 0; i < 3; i++) kni_host_unborrow(&in[i]);
    return s;
}

static kn_status run_backward(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 1), *dx = kni_out(r, 0);
    kni_class_view v = kni_class_view_of(&x->type);
    kni_borrowed in[5] = {{0}};
    loss_context c;
    start(&c, r, x->type.dtype, &v);
    kn_status s = borrow(r, 1, 2, x->type.dtype, in);
    if (s == KN_OK) s = kni_host_allocate(dx);
    if (s == KN_OK) {
        c.dy = in[0].data;
        c.target = in[2].data;
        c.lse = in[3].data;
        c.weight = in[4].data;
        for (int64_t k = 0; k < v.classes; k++) c.weight_sum += class_weight(&c, k);
        s = drive(r, &c, &v, x->type.dtype, in[1].data, dx->storage->data);
    }
    for (int i = 0; i < 5; i++) kni_host_unborrow(&in[i]);
    return s;
}

const kni_native kni_cpu_cross_entropy = {.run = run_forward};
const kni_native kni_cpu_cross_entropy_grad = {.run = run_backward};
