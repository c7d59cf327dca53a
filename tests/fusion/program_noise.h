/* Two decorators for comparing devices that round differently. noise(cpu) computes as a device might that keeps to the
   tolerances of the op table, no two of its runs alike: the spread of its results is what rounding can do to a program.
   spoil(cpu) has one wrong kernel, to show that a comparison notices.

   A row whose errors are relative to its result (roots 0) gets a result that is off by up to its tolerance. One that sums
   terms gets operands that are: what sums, softmaxes and norms make of such operands is what another order of summing
   makes of these, however ill the sum is conditioned. What is below the smallest normal number may as well be 0, as on
   a device whose shorter exponential has no such numbers. Exact rows stay exact, and so does 0; the sign of a NaN is
   open. The same value of the same row is off by the same amount, since a device computes equal things equally; not so the
   operands of a sum, where the place counts: a mean of equal numbers need not be that number. Neighbours are off to the
   same side there, in some runs more of them than in others, since errors of a sum add up. */
#ifndef PROGRAM_NOISE_H
#define PROGRAM_NOISE_H

#include "core/device_object.h"
#include "ops/record.h"
#include "ops/tolerance.h"
#include "wrap/decorator.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct noise_settings {
    uint64_t seed; /* 0: none */
    bool together; /* all elements of a row's results are off to the same side, as far as may be */
} noise_settings;
static noise_settings noise;

typedef enum spoil_kind { SPOIL_PERCENT, SPOIL_LAST, SPOIL_SHIFTED, SPOIL_KINDS } spoil_kind;
static const char *const spoil_names[SPOIL_KINDS] = {"1 % off (halves 5 %)", "last element 0",
                                                     "off by one place"};

typedef struct spoil_settings {
    spoil_kind kind;
    int64_t at, seen; /* the record whose result is spoilt, -1 for none; how many went by */
} spoil_settings;
static spoil_settings spoil = {SPOIL_PERCENT, -1, 0};

static uint64_t noise_mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* From -1 to 1; place is 0 where it does not count. */
static double noise_unit(const kn_op *row, double value, int64_t place)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits += (uint64_t)place * UINT64_C(0xd1342543de82ef95);
    uint64_t x = noise_mix(noise.seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)row->number);
    if (noise.together) return x & 1 ? 1 : -1;
    return (double)(noise_mix(x ^ bits) >> 11) * 0x1p-52 - 1;
}

static bool noise_half(int dtype) { return dtype == KN_F16 || dtype == KN_BF16; }

/* eps of the dtype computed in: halves compute in f32 and round once. */
static double noise_eps(int dtype)
{
    return kn_dtype_limits(noise_half(dtype) ? KN_F32 : (kn_dtype)dtype).eps;
}

static double noise_largest(const double *v, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(v[i]) && fabs(v[i]) > most) most = fabs(v[i]);
    return most;
}

/* The elements of a tensor as f64, for free; NULL where it has none. */
static double *noise_read(kn_backend *b, uint32_t id)
{
    const kni_tensor *x = kni_slot(id);
    int64_t n = kni_count(&x->type);
    void *raw = malloc((size_t)kn_dtype_bytes((kn_dtype)x->type.dtype, n) + 1);
    double *wide = malloc(((size_t)n + 1) * sizeof *wide);
    bool good = raw && wide && n > 0 && b->read(b, id, raw) == KN_OK;
    if (good) kni_convert(wide, KN_F64, 1, raw, x->type.dtype, 1, n);
    free(raw);
    if (good) return wide;
    free(wide);
    return NULL;
}

static kn_status noise_write(kn_backend *b, uint32_t id, const double *wide)
{
    const kni_tensor *x = kni_slot(id);
    int64_t n = kni_count(&x->type);
    void *raw = malloc((size_t)kn_dtype_bytes((kn_dtype)x->type.dtype, n) + 1);
    if (!raw) return KN_ERROR_MEMORY;
    kni_convert(raw, x->type.dtype, 1, wide, KN_F64, 1, n);
    kn_status s = b->write(b, id, raw);
    free(raw);
    return s;
}

/* An operand slightly off, in a slot of its own. */
static kn_status noise_operand(kn_backend *b, const kn_record *r, int i, kn_record *copy)
{
    uint32_t id = r->ids[r->n_out + i];
    double *wide = noise_read(b->inner[0], id);
    if (!wide) return KN_OK;
    const kni_tensor *x = kni_slot(id);
    double room =
        ((double)r->row->tolerance.ulps + (double)r->row->tolerance.roots) * noise_eps(x->type.dtype);
    bool alone = kni_computes_alone(r->row);
    int neighbours = 3 * (int)(noise.seed % 4); /* as a power of two */
    for (int64_t k = 0; k < kni_count(&x->type); k++)
        wide[k] += wide[k] * room * noise_unit(r->row, wide[k], alone ? 0 : 1 + (k >> neighbours));
    uint32_t fresh = kni_tensor_new(kni_thread_self());
    kn_status s = fresh == KNI_NO_SLOT ? KN_ERROR_MEMORY : KN_OK;
    if (s == KN_OK) {
        kni_tensor *y = kni_slot(fresh);
        y->type = x->type;
        y->device = b->inner[0]->device;
        y->state = KNI_KEPT;
        s = noise_write(b->inner[0], fresh, wide);
        copy->ids[r->n_out + i] = fresh;
    }
    free(wide);
    return s;
}

/* Halves cannot show an operand that is off by roundings of f32: what these may do to a sum is put on its result. */
static double noise_terms(kn_backend *b, const kn_record *r)
{
    double terms = 0, longest = 1;
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *x = kni_in(r, i);
        if (!x || !kn_dtype_is_float((kn_dtype)x->type.dtype)) continue;
        double *wide = noise_read(b->inner[0], r->ids[r->n_out + i]);
        double most = wide ? noise_largest(wide, kni_count(&x->type)) : 0;
        terms = i && r->row->kind == KNI_CONTRACTION ? terms * most : fmax(terms, most);
        for (int a = 0; a < x->type.rank; a++) longest = fmax(longest, (double)x->type.dims[a]);
        free(wide);
    }
    return terms * ((double)r->row->tolerance.ulps + (double)r->row->tolerance.roots * sqrt(longest));
}

static kn_status noise_result(kn_backend *b, const kn_record *r, int i, double terms)
{
    const kni_tensor *y = kni_out(r, i);
    int dtype = y->type.dtype;
    double *wide = noise_read(b->inner[0], r->ids[i]);
    if (!wide) return KN_OK;
    double eps = noise_eps(dtype), room = (double)r->row->tolerance.ulps * eps, around = 0;
    double smallest = kn_dtype_limits((kn_dtype)dtype).smallest_normal;
    if (noise_half(dtype)) room += 0.5 * kn_dtype_limits((kn_dtype)dtype).eps, around = terms * eps;
    for (int64_t k = 0; k < kni_count(&y->type); k++)
        if (wide[k] != 0)
            wide[k] += (fabs(wide[k]) * (fabs(wide[k]) < smallest ? 1 : room) + around) *
                       noise_unit(r->row, wide[k], 0);
    kn_status s = noise_write(b->inner[0], r->ids[i], wide);
    free(wide);
    return s;
}

/* A NaN that is computed has the sign that the processor gives it, which x86 and GPUs do not agree on. */
static kn_status noise_signs(kn_backend *b, const kn_record *r, int i)
{
    double *wide = noise_read(b->inner[0], r->ids[i]);
    bool any = false;
    if (!wide) return KN_OK;
    for (int64_t k = 0; k < kni_count(&kni_out(r, i)->type); k++) {
        if (!isnan(wide[k])) continue;
        wide[k] = copysign(wide[k], noise_mix(noise.seed * 64 + (uint64_t)r->row->number) & 1 ? 1 : -1);
        any = true;
    }
    kn_status s = any ? noise_write(b->inner[0], r->ids[i], wide) : KN_OK;
    free(wide);
    return s;
}

/* A row that is exact up to the signs of NaN. */
static kn_status noise_exact(kn_backend *b, const kn_record *r)
{
    kn_status s = kni_forward(b, r);
    bool computes = r->row->kind == KNI_ELEMENTWISE || r->row->kind == KNI_REDUCE;
    for (int i = 0; i < r->n_out && s == KN_OK && computes; i++)
        if (kn_dtype_is_float((kn_dtype)kni_out(r, i)->type.dtype)) s = noise_signs(b, r, i);
    return s;
}

static kn_status noise_one(kn_backend *b, const kn_record *r)
{
    if (r->flags & KN_RECORD_DROP || !noise.seed) return kni_forward(b, r);
    kni_tolerance tolerance = r->row->tolerance;
    if (tolerance.ulps <= 0 && tolerance.roots <= 0) return noise_exact(b, r);
    kn_record *copy = malloc(r->bytes);
    if (!copy) return KN_ERROR_MEMORY;
    kn_scope scope = kn_scope_begin();
    memcpy(copy, r, r->bytes);
    copy->attributes = (const char *)copy + ((const char *)r->attributes - (const char *)r);
    copy->last_use = 0;
    kn_status s = KN_OK;
    double terms = tolerance.roots > 0 ? noise_terms(b, r) : 0;
    for (int i = 0; i < r->n_in && tolerance.roots > 0 && s == KN_OK; i++) {
        const kni_tensor *x = kni_in(r, i);
        bool wide = x && (x->type.dtype == KN_F32 || x->type.dtype == KN_F64);
        if (wide) s = noise_operand(b, r, i, copy);
    }
    const kn_record *changed = copy;
    if (s == KN_OK) s = b->inner[0]->execute(b->inner[0], &changed, 1);
    for (int i = 0; i < r->n_out && s == KN_OK; i++) {
        if (!kn_dtype_is_float((kn_dtype)kni_out(r, i)->type.dtype)) continue;
        s = noise_result(b, r, i, terms);
        if (s == KN_OK) s = noise_signs(b, r, i);
    }
    kn_scope_end(scope, KN_NONE);
    free(copy);
    return s;
}

static kn_status noise_execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    return kni_each_record(b, records, n, noise_one);
}

static kn_backend *noise_open(const char *argument, kn_backend *const *inner, int32_t n)
{
    (void)argument;
    return n == 1 ? kni_decorator_new("noise", 0, inner, n, noise_execute, 0) : NULL;
}

/* ---- one wrong kernel */

static void spoil_values(double *v, int64_t n, int dtype)
{
    if (spoil.kind == SPOIL_LAST) v[n - 1] = 0;
    if (spoil.kind == SPOIL_PERCENT)
        for (int64_t i = 0; i < n; i++) v[i] *= noise_half(dtype) ? 1.05 : 1.01;
    if (spoil.kind == SPOIL_SHIFTED) {
        double first = v[0];
        memmove(v, v + 1, (size_t)(n - 1) * sizeof *v);
        v[n - 1] = first;
    }
}

static kn_status spoil_one(kn_backend *b, const kn_record *r)
{
    kn_status s = kni_forward(b, r);
    bool counted = !(r->flags & KN_RECORD_DROP) && s == KN_OK && r->n_out > 0 && !r->row->view &&
                   r->row->kind != KNI_RANDOM && kn_dtype_is_float((kn_dtype)kni_out(r, 0)->type.dtype) &&
                   kni_count(&kni_out(r, 0)->type) > 1;
    if (!counted || spoil.seen++ != spoil.at) return s;
    double *wide = noise_read(b->inner[0], r->ids[0]);
    if (!wide) return s;
    spoil_values(wide, kni_count(&kni_out(r, 0)->type), kni_out(r, 0)->type.dtype);
    s = noise_write(b->inner[0], r->ids[0], wide);
    free(wide);
    return s;
}

static kn_status spoil_execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    return kni_each_record(b, records, n, spoil_one);
}

static kn_backend *spoil_open(const char *argument, kn_backend *const *inner, int32_t n)
{
    (void)argument;
    return n == 1 ? kni_decorator_new("spoil", 0, inner, n, spoil_execute, 0) : NULL;
}

#endif
