/* Elementwise records in strips. An operand of the compute type whose innermost axis is contiguous is read where it
   lies; any other (half types, small integers, transposed, broadcast) is loaded strip by strip into a buffer. So each
   kernel exists once per compute type and never sees a stride. */
#include "backend/cpu/elementwise_run.h"
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/isa.h"
#include "backend/host/host.h"
#include "core/strided_copy.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include <string.h>

#ifdef KN_FREESTANDING
enum { STRIP = 64, MAX_INPUTS = 4, PARALLEL_MIN = 1 << 30, BLOCK = 1 << 20 };
#else
enum { STRIP = 1024, MAX_INPUTS = 4, PARALLEL_MIN = 1 << 15, BLOCK = 1 << 14 };
#endif
/* Rows shorter than this are gathered into strips of several rows. */
enum { LONG_ROW = 32 };

typedef struct operand {
    const char *data;
    int64_t strides[KN_MAX_RANK]; /* over the collapsed shape of the result */
    int dtype, strip_dtype;
    int via; /* the dtype that an operand of another one is rounded to before it is computed with, or 0 */
    int bytes, strip_bytes;
    bool plain;  /* of the strip's type */
    bool direct; /* plain and in the order of the result */
} operand;

typedef struct plan {
    kni_strip_fn fn;
    const double *params;
    operand in[MAX_INPUTS];
    int n_in, rank, out_dtype, out_strip_dtype;
    int64_t dims[KN_MAX_RANK], n;
    char *out;
    int out_bytes;
    bool all_direct;
} plan;

typedef struct strip_buffers {
    _Alignas(64) char in[MAX_INPUTS][STRIP * 8];
    _Alignas(64) char out[STRIP * 8];
} strip_buffers;

/* ---- the general way: by rows of the collapsed shape, or by strips of many short rows */

static void start_operand(operand *o, kni_tensor *x, const kni_type *shape)
{
    int shift = shape->rank - x->type.rank;
    o->data = kni_pointer(x);
    for (int a = 0; a < shape->rank; a++) {
        bool spread = a < shift || (x->type.dims[a - shift] == 1 && shape->dims[a] != 1);
        o->strides[a] = spread ? 0 : x->strides[a - shift];
    }
}

static void collapse(plan *p, const kni_type *shape)
{
    int64_t strides[MAX_INPUTS][KN_MAX_RANK];
    for (int a = 0; a < shape->rank; a++) p->dims[a] = shape->dims[a];
    for (int i = 0; i < p->n_in; i++) memcpy(strides[i], p->in[i].strides, sizeof strides[i]);
    p->rank = kni_collapse(shape->rank, p->dims, p->n_in, strides);
    p->all_direct = p->out_dtype == p->out_strip_dtype;
    for (int i = 0; i < p->n_in; i++) {
        operand *o = &p->in[i];
        memcpy(o->strides, strides[i], sizeof strides[i]);
        o->direct = o->plain && kni_is_contiguous(p->rank, p->dims, o->strides);
        p->all_direct &= o->direct;
    }
}

/* Where element `at` of the result's order lies: its index and each operand's offset in elements. */
typedef struct position {
    int64_t index[KN_MAX_RANK], offset[MAX_INPUTS];
} position;

static void find(const plan *p, int64_t at, position *pos)
{
    memset(pos->offset, 0, sizeof pos->offset);
    for (int a = p->rank - 1; a >= 0; a--) {
        pos->index[a] = at % p->dims[a];
        at /= p->dims[a];
        for (int i = 0; i < p->n_in; i++) pos->offset[i] += pos->index[a] * p->in[i].strides[a];
    }
}

/* Moves on by n elements within the row, and to the next row at its end. */
static void advance(const plan *p, position *pos, int64_t n)
{
    int last = p->rank - 1;
    pos->index[last] += n;
    for (int i = 0; i < p->n_in; i++) pos->offset[i] += n * p->in[i].strides[last];
    for (int a = last; a > 0 && pos->index[a] == p->dims[a]; a--) {
        pos->index[a] = 0;
        pos->index[a - 1]++;
        for (int i = 0; i < p->n_in; i++)
            pos->offset[i] += p->in[i].strides[a - 1] - p->dims[a] * p->in[i].strides[a];
    }
}

static void load(const operand *o, void *to, const char *from, int64_t stride, int64_t n)
{
    kni_cpu_convert_via(to, o->strip_dtype, o->via, from, o->dtype, stride, n);
}

static void splat(const operand *o, const char *from, void *buffer, int64_t n)
{
    _Alignas(8) char value[8];
    load(o, value, from, 1, 1);
    kni_cpu_splat(buffer, value, o->strip_bytes, n);
}

static void call(const plan *p, int64_t at, int64_t n, const void *const *in, strip_buffers *b)
{
    char *y = p->out + at * p->out_bytes;
    if (p->out_dtype == p->out_strip_dtype) {
        p->fn(n, y, in, p->params);
        return;
    }
    p->fn(n, b->out, in, p->params);
    kni_cpu_convert(y, p->out_dtype, 1, b->out, p->out_strip_dtype, 1, n);
}

static void run_rows(const plan *p, int64_t begin, int64_t end)
{
    strip_buffers b;
    position pos;
    const void *in[MAX_INPUTS];
    const char *filled[MAX_INPUTS] = {NULL};
    int last = p->rank - 1;
    find(p, begin, &pos);
    /* Rows that nothing has to be loaded for go through the kernel whole. */
    int64_t most = p->out_dtype == p->out_strip_dtype ? INT64_MAX : STRIP;
    for (int i = 0; i < p->n_in; i++)
        if (!p->in[i].plain || p->in[i].strides[last] != 1) most = STRIP;
    for (int64_t at = begin; at < end;) {
        int64_t n = p->dims[last] - pos.index[last];
        if (n > end - at) n = end - at;
        if (n > most) n = most;
        for (int i = 0; i < p->n_in; i++) {
            const operand *o = &p->in[i];
            const char *from = o->data + pos.offset[i] * o->bytes;
            int64_t stride = o->strides[last];
            in[i] = b.in[i];
            if (stride == 1 && o->plain)
                in[i] = from;
            else if (stride)
                load(o, b.in[i], from, stride, n);
            else if (filled[i] != from) {
                int64_t row = p->dims[last] < end - begin ? p->dims[last] : end - begin;
                splat(o, from, b.in[i], row < STRIP ? row : STRIP);
                filled[i] = from;
            }
        }
        call(p, at, n, in, &b);
        advance(p, &pos, n);
        at += n;
    }
}

/* Fills the buffers of one strip with pieces of rows. */
static void gather(const plan *p, position *pos, int64_t n, strip_buffers *b)
{
    int last = p->rank - 1;
    for (int64_t done = 0; done < n;) {
        int64_t run = p->dims[last] - pos->index[last];
        if (run > n - done) run = n - done;
        for (int i = 0; i < p->n_in; i++) {
            const operand *o = &p->in[i];
            if (!o->direct)
                load(o, b->in[i] + done * o->strip_bytes, o->data + pos->offset[i] * o->bytes,
                     o->strides[last], run);
        }
        advance(p, pos, run);
        done += run;
    }
}

static void run_short_rows(const plan *p, int64_t begin, int64_t end)
{
    strip_buffers b;
    position pos;
    const void *in[MAX_INPUTS];
    find(p, begin, &pos);
    for (int64_t at = begin; at < end; at += STRIP) {
        int64_t n = end - at < STRIP ? end - at : STRIP;
        gather(p, &pos, n, &b);
        for (int i = 0; i < p->n_in; i++)
            in[i] = p->in[i].direct ? p->in[i].data + at * p->in[i].bytes : b.in[i];
        call(p, at, n, in, &b);
    }
}

static void run_range(const plan *p, int64_t begin, int64_t end)
{
    const void *in[MAX_INPUTS];
    if (!p->all_direct) {
        if (p->rank == 1 || p->dims[p->rank - 1] >= LONG_ROW)
            run_rows(p, begin, end);
        else
            run_short_rows(p, begin, end);
        return;
    }
    for (int i = 0; i < p->n_in; i++) in[i] = p->in[i].data + begin * p->in[i].bytes;
    p->fn(end - begin, p->out + begin * p->out_bytes, in, p->params);
}

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const plan *p = argument;
    int64_t begin = task * BLOCK, end = begin + BLOCK;
    run_range(p, begin, end < p->n ? end : p->n);
}

static void run_all(plan *p)
{
    if (p->n < PARALLEL_MIN)
        run_range(p, 0, p->n);
    else
        kni_parallel_for((p->n + BLOCK - 1) / BLOCK, run_task, p);
}

/* ---- the short way: small operands that lie as the result does, and numbers */

static bool lies_as(const kni_tensor *x, const kni_type *shape)
{
    int64_t expected = 1;
    if (x->type.rank != shape->rank) return false;
    for (int a = shape->rank - 1; a >= 0; a--) {
        int64_t size = shape->dims[a];
        if (x->type.dims[a] != size || (x->strides[a] != expected && size != 1)) return false;
        expected *= size;
    }
    return true;
}

/* False when an operand is neither plain nor a number that fits a strip. */
static bool run_small(plan *p, const kn_record *r, const kni_type *shape)
{
    const void *in[MAX_INPUTS];
    strip_buffers b;
    if (p->n > STRIP || p->out_dtype != p->out_strip_dtype) return false;
    for (int i = 0; i < p->n_in; i++) {
        operand *o = &p->in[i];
        kni_tensor *x = kni_in(r, i);
        if (o->plain && lies_as(x, shape)) {
            in[i] = kni_pointer(x);
        } else if (x->type.rank == 0) {
            splat(o, kni_pointer(x), b.in[i], p->n);
            in[i] = b.in[i];
        } else {
            return false;
        }
    }
    p->fn(p->n, p->out, in, p->params);
    return true;
}

kni_compute kni_cpu_strip_types(const kn_record *r, int *common, int *out_strip_dtype)
{
    const kn_op *row = r->row;
    int dtype = kni_out(r, 0)->type.dtype;
    if (row->rule == KNI_RULE_COMPARE) {
        const kni_type *types[MAX_INPUTS];
        for (int i = 0; i < r->n_in; i++) types[i] = &kni_in(r, i)->type;
        dtype = kni_operand_dtype(row, types, 0, r->n_in);
        *out_strip_dtype = KN_BOOL;
    } else {
        *out_strip_dtype = kni_compute_dtype[kni_compute_of[dtype]];
    }
    *common = dtype;
    return (kni_compute)kni_compute_of[dtype];
}

kn_status kni_cpu_elementwise(const kn_record *r)
{
    static const double no_params[4] = {0};
    plan p;
    kni_tensor *y = kni_out(r, 0);
    int common;
    kni_compute compute = kni_cpu_strip_types(r, &common, &p.out_strip_dtype);
    p.fn = r->row->native->strips[kni_cpu_tier()][compute];
    if (!p.fn) return kni_fail_op(KN_ERROR_DTYPE, r->row->name, "the CPU was built without this dtype");
    p.params = r->attribute_bytes ? r->attributes : no_params;
    p.n_in = r->n_in;
    p.n = kni_count(&y->type);
    p.out_dtype = y->type.dtype;
    for (int i = 0; i < r->n_in; i++) {
        operand *o = &p.in[i];
        o->dtype = kni_in(r, i)->type.dtype;
        o->strip_dtype = r->row->rule == KNI_RULE_SELECT && i == 0 ? KN_BOOL : kni_compute_dtype[compute];
        o->via = kni_rounds_to(&kni_in(r, i)->type, common, o->strip_dtype);
        o->plain = o->dtype == o->strip_dtype && !o->via;
        o->bytes = kni_bytes_of(o->dtype);
        o->strip_bytes = kni_bytes_of(o->strip_dtype);
    }
    kn_status s = kni_host_allocate_or_reuse(r, y, ~UINT64_C(0));
    if (KNI_UNLIKELY(s) || p.n == 0) return s;
    p.out = y->storage->data;
    p.out_bytes = kni_bytes_of(p.out_dtype);
    if (run_small(&p, r, &y->type)) return KN_OK;
    for (int i = 0; i < r->n_in; i++) start_operand(&p.in[i], kni_in(r, i), &y->type);
    collapse(&p, &y->type);
    run_all(&p);
    return KN_OK;
}
