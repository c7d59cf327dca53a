/* The CPU's entries of movement rows that copy: assignment to a slice, joining and padding. */
#include "backend/host/host.h"
#include "backend/host/host_copy.h"
#include "core/strided_copy.h"
#include "core/thread_pool.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include <kn/shape.h>
#include <string.h>

/* Copies x, converted where it has to be, to elements of `dtype` at `to`. */
static void copy_into(char *to, int dtype, const int64_t *strides, kni_tensor *x)
{
    if (x->type.dtype == dtype)
        kni_host_copy(to, strides, kni_pointer(x), x->strides, x->type.rank, x->type.dims,
                      kni_element_bytes(x));
    else
        kni_copy_strided(to, dtype, strides, kni_pointer(x), x->type.dtype, x->strides, x->type.rank,
                         x->type.dims);
}

static kn_status run_update_slice(const kn_record *r)
{
    const kni_slice_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *values = kni_in(r, 1), *y = kni_out(r, 0);
    kn_status s = kni_host_allocate_or_reuse(r, y, 1);
    if (s) return s;
    if (y->storage != x->storage) copy_into(y->storage->data, y->type.dtype, y->strides, x);
    if (kni_count(&values->type) == 0) return KN_OK;
    int64_t strides[KN_MAX_RANK], offset = 0;
    for (int i = 0; i < y->type.rank; i++) {
        offset += a->start.dims[i] * y->strides[i];
        strides[i] = values->type.dims[i] > 1 ? y->strides[i] * a->step.dims[i] : 0;
    }
    copy_into((char *)y->storage->data + offset * (int64_t)kni_element_bytes(y), y->type.dtype, strides,
              values);
    return KN_OK;
}
const kni_native kni_cpu_update_slice = {.run = run_update_slice};

static int64_t position_of(kni_tensor *position, int64_t i)
{
    int64_t stride = position->type.rank ? position->strides[0] : 0, value = 0, one = 1, none = 0;
    const char *at = (const char *)kni_pointer(position) + i * stride * (int64_t)kni_element_bytes(position);
    kni_copy_strided(&value, KN_I64, &none, at, position->type.dtype, &none, 1, &one);
    return value;
}

static kn_status run_update_at(const kn_record *r)
{
    const kni_at_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *values = kni_in(r, 1), *y = kni_out(r, 0);
    const int axis = (int)a->axis;
    kni_at_view v = kni_view_at(&x->type, &kni_in(r, 2)->type, axis, values->type.dims[axis]);
    kn_status s = kni_host_allocate_or_reuse(r, y, 1);
    if (s) return s;
    if (y->storage != x->storage) copy_into(y->storage->data, y->type.dtype, y->strides, x);
    int64_t positions = kni_count(&kni_in(r, 2)->type);
    if (kni_count(&values->type) == 0 || positions == 0) return KN_OK;
    for (int64_t i = 0; i < positions; i++) {
        kni_tensor part = *values;
        int64_t offset = kni_at_begin(&v, position_of(kni_in(r, 2), i)) * y->strides[axis];
        if (positions > 1) {
            offset += i * y->strides[0];
            part.offset += i * part.strides[0];
            part.type.dims[0] = 1;
        }
        copy_into((char *)y->storage->data + offset * (int64_t)kni_element_bytes(y), y->type.dtype,
                  y->strides, &part);
    }
    return KN_OK;
}
const kni_native kni_cpu_update_at = {.run = run_update_at};

static kn_status run_concat(const kn_record *r)
{
    const kni_axis_attributes *a = r->attributes;
    kni_tensor *y = kni_out(r, 0);
    kn_status s = kni_host_allocate(y);
    char *to = s ? NULL : y->storage->data;
    for (int i = 0; i < r->n_in && s == KN_OK; i++) {
        kni_tensor *x = kni_in(r, i);
        copy_into(to, y->type.dtype, y->strides, x);
        to += x->type.dims[a->axis] * y->strides[a->axis] * (int64_t)kni_element_bytes(y);
    }
    return s;
}
const kni_native kni_cpu_concat = {.run = run_concat};

/* ---- padding: the middle of each axis is copied, then its ends are filled from what is there */

typedef struct padding {
    int rank, leading; /* leading: axes in front that are not padded, done in parallel */
    int64_t mode, bytes, outer;
    int64_t dims[KN_MAX_RANK], strides[KN_MAX_RANK], before[KN_MAX_RANK], after[KN_MAX_RANK];
    int64_t inner[KN_MAX_RANK]; /* bytes of one step of an axis in the result */
    char *to;
    const char *from;
    char value[8];
} padding;

static int64_t source(const padding *p, int axis, int64_t t)
{
    int64_t n = p->dims[axis], at = t - p->before[axis];
    if (p->mode == KN_PAD_EDGE) return at < 0 ? 0 : n - 1;
    if (p->mode == KN_PAD_WRAP) return at < 0 ? at + n : at - n;
    return at < 0 ? -at : 2 * (n - 1) - at;
}

static void fill_plain(const padding *p, char *to, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += p->bytes) memcpy(to + i, p->value, (size_t)p->bytes);
}

static void pad_end(const padding *p, int axis, char *to, int64_t first, int64_t last)
{
    int64_t step = p->inner[axis];
    if (p->mode == KN_PAD_CONSTANT) {
        fill_plain(p, to + first * step, (last - first) * step);
        return;
    }
    for (int64_t t = first; t < last; t++)
        memcpy(to + t * step, to + (p->before[axis] + source(p, axis, t)) * step, (size_t)step);
}

static void pad_ends(const padding *p, int axis, char *to)
{
    int64_t end = p->before[axis] + p->dims[axis];
    pad_end(p, axis, to, 0, p->before[axis]);
    pad_end(p, axis, to, end, end + p->after[axis]);
}

static void pad_axis(const padding *p, int axis, char *to, const char *from)
{
    char *middle = to + p->before[axis] * p->inner[axis];
    int64_t n = p->dims[axis], step = p->strides[axis] * p->bytes;
    if (axis == p->rank - 1 && p->strides[axis] == 1) {
        memcpy(middle, from, (size_t)(n * p->bytes));
    } else {
        for (int64_t i = 0; i < n; i++) {
            if (axis == p->rank - 1)
                memcpy(middle + i * p->bytes, from + i * step, (size_t)p->bytes);
            else
                pad_axis(p, axis + 1, middle + i * p->inner[axis], from + i * step);
        }
    }
    pad_ends(p, axis, to);
}

/* One index of the leading axes, or of the first axis when it is padded itself. */
static void pad_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const padding *p = argument;
    const char *from = p->from;
    char *to = p->to;
    if (p->leading == 0) {
        pad_axis(p, 1, to + (p->before[0] + task) * p->inner[0], from + task * p->strides[0] * p->bytes);
        return;
    }
    to += task * p->inner[p->leading - 1];
    for (int a = p->leading - 1; a >= 0; a--) {
        from += task % p->dims[a] * p->strides[a] * p->bytes;
        task /= p->dims[a];
    }
    if (p->leading == p->rank)
        memcpy(to, from, (size_t)p->bytes);
    else
        pad_axis(p, p->leading, to, from);
}

static void pad_all(const padding *p)
{
    int64_t tasks = p->leading ? 1 : p->dims[0];
    for (int a = 0; a < p->leading; a++) tasks *= p->dims[a];
    if (p->leading == 0 && p->rank == 1) {
        pad_axis(p, 0, p->to, p->from);
        return;
    }
    kni_parallel_for(tasks, pad_task, (void *)p);
    if (p->leading == 0) pad_ends(p, 0, p->to);
}

static kn_status run_pad(const kn_record *r)
{
    const kni_pad_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    kn_status s = kni_host_allocate(y);
    if (s || kni_count(&y->type) == 0) return s;
    padding p = {.rank = x->type.rank,
                 .mode = a->mode,
                 .bytes = (int64_t)kni_element_bytes(x),
                 .to = y->storage->data,
                 .from = kni_pointer(x)};
    kni_convert(p.value, y->type.dtype, 1, &a->value, KN_F64, 1, 1);
    bool padded = false;
    for (int i = 0; i < p.rank; i++) {
        p.dims[i] = x->type.dims[i];
        p.strides[i] = x->strides[i];
        p.before[i] = a->before.dims[i];
        p.after[i] = a->after.dims[i];
        p.inner[i] = y->strides[i] * p.bytes;
        padded |= p.before[i] || p.after[i];
        if (!padded) p.leading = i + 1;
    }
    if (!padded) {
        copy_into(p.to, y->type.dtype, y->strides, x);
        return KN_OK;
    }
    pad_all(&p);
    return KN_OK;
}
const kni_native kni_cpu_pad = {.run = run_pad};
