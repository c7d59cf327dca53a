/* Elementwise records in strips. An operand that is contiguous and of the compute type is read where it
   lies; any other (half types, small integers, transposed, broadcast) is loaded strip by strip into a
   buffer. So each kernel exists once per compute type and never sees a stride. */
#include "backend/cpu/elementwise_run.h"
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

typedef struct operand {
    const char *data;
    int64_t strides[KN_MAX_RANK]; /* over the collapsed shape of the result */
    int dtype, strip_dtype;
    int bytes, strip_bytes;
    bool direct;   /* contiguous and of the strip's type */
    bool constant; /* the same element everywhere: loaded once */
} operand;

typedef struct plan {
    kni_strip_fn fn;
    const double *params;
    operand in[MAX_INPUTS];
    int n_in, rank, out_dtype, out_strip_dtype;
    int64_t dims[KN_MAX_RANK], n;
    char *out;
    int out_bytes;
} plan;

static void start_operand(operand *o, kni_tensor *x, const kni_type *shape, int strip_dtype)
{
    int shift = shape->rank - x->type.rank;
    o->data = kni_pointer(x);
    o->dtype = x->type.dtype;
    o->strip_dtype = strip_dtype;
    o->bytes = kni_dtypes[o->dtype].bits / 8;
    o->strip_bytes = kni_dtypes[strip_dtype].bits / 8;
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
    for (int i = 0; i < p->n_in; i++) {
        operand *o = &p->in[i];
        memcpy(o->strides, strides[i], sizeof strides[i]);
        bool zero = true;
        for (int a = 0; a < p->rank; a++) zero &= o->strides[a] == 0 || p->dims[a] == 1;
        o->constant = zero && p->n > 1;
        o->direct = o->dtype == o->strip_dtype && p->rank == 1 && (o->strides[0] == 1 || p->n <= 1);
    }
}

/* Loads elements begin .. begin + n - 1 of the result's order into a strip buffer. */
static void load_strip(const plan *p, const operand *o, int64_t begin, int64_t n, void *buffer)
{
    int last = p->rank - 1;
    int64_t index[KN_MAX_RANK], rest = begin, offset = 0;
    for (int a = last; a >= 0; a--) {
        index[a] = rest % p->dims[a];
        rest /= p->dims[a];
        offset += index[a] * o->strides[a];
    }
    char *to = buffer;
    while (n > 0) {
        int64_t run = p->dims[last] - index[last];
        if (run > n) run = n;
        kni_convert(to, o->strip_dtype, 1, o->data + offset * o->bytes, o->dtype, o->strides[last], run);
        to += run * o->strip_bytes;
        n -= run;
        index[last] += run;
        offset += run * o->strides[last];
        for (int a = last; a > 0 && index[a] == p->dims[a]; a--) {
            offset += o->strides[a - 1] - p->dims[a] * o->strides[a];
            index[a] = 0;
            index[a - 1]++;
        }
    }
}

static void run_range(const plan *p, int64_t begin, int64_t end)
{
    _Alignas(64) char buffers[MAX_INPUTS + 1][STRIP * 8];
    const void *in[MAX_INPUTS];
    bool all_direct = p->out_dtype == p->out_strip_dtype;
    for (int i = 0; i < p->n_in; i++) {
        const operand *o = &p->in[i];
        if (o->constant) {
            int64_t n = end - begin < STRIP ? end - begin : STRIP;
            kni_convert(buffers[i], o->strip_dtype, 1, o->data, o->dtype, 0, n);
        }
        all_direct &= o->direct;
    }
    if (all_direct) {
        for (int i = 0; i < p->n_in; i++) in[i] = p->in[i].data + begin * p->in[i].bytes;
        p->fn(end - begin, p->out + begin * p->out_bytes, in, p->params);
        return;
    }
    for (int64_t at = begin; at < end; at += STRIP) {
        int64_t n = end - at < STRIP ? end - at : STRIP;
        for (int i = 0; i < p->n_in; i++) {
            const operand *o = &p->in[i];
            in[i] = o->direct ? o->data + at * o->bytes : buffers[i];
            if (!o->direct && !o->constant) load_strip(p, o, at, n, buffers[i]);
        }
        char *y = p->out + at * p->out_bytes;
        bool convert = p->out_dtype != p->out_strip_dtype;
        p->fn(n, convert ? buffers[MAX_INPUTS] : y, in, p->params);
        if (convert) kni_convert(y, p->out_dtype, 1, buffers[MAX_INPUTS], p->out_strip_dtype, 1, n);
    }
}

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const plan *p = argument;
    int64_t begin = task * BLOCK, end = begin + BLOCK;
    run_range(p, begin, end < p->n ? end : p->n);
}

/* The compute type of the record, and the strip type of its result. */
static kni_compute choose_types(const kn_record *r, plan *p)
{
    const kn_op *row = r->row;
    int dtype = kni_out(r, 0)->type.dtype;
    if (row->rule == KNI_RULE_COMPARE) {
        const kni_type *types[MAX_INPUTS];
        for (int i = 0; i < r->n_in; i++) types[i] = &kni_in(r, i)->type;
        dtype = kni_operand_dtype(row, types, 0, r->n_in);
        p->out_strip_dtype = KN_BOOL;
    } else {
        p->out_strip_dtype = kni_compute_dtype[kni_compute_of[dtype]];
    }
    return (kni_compute)kni_compute_of[dtype];
}

kn_status kni_cpu_elementwise(const kn_record *r)
{
    static const double no_params[4] = {0};
    plan p;
    kni_tensor *y = kni_out(r, 0);
    kni_compute compute = choose_types(r, &p);
    p.fn = r->row->native->strips[kni_cpu_tier()][compute];
    if (!p.fn) return kni_fail_op(KN_ERROR_DTYPE, r->row->name, "the CPU was built without this dtype");
    p.params = r->attribute_bytes ? r->attributes : no_params;
    p.n_in = r->n_in;
    p.n = kni_count(&y->type);
    p.out_dtype = y->type.dtype;
    for (int i = 0; i < r->n_in; i++)
        start_operand(&p.in[i], kni_in(r, i), &y->type,
                      r->row->rule == KNI_RULE_SELECT && i == 0 ? KN_BOOL : kni_compute_dtype[compute]);
    kn_status s = kni_host_allocate_or_reuse(r, y, ~UINT64_C(0));
    if (KNI_UNLIKELY(s) || p.n == 0) return s;
    p.out = y->storage->data;
    p.out_bytes = kni_dtypes[p.out_dtype].bits / 8;
    collapse(&p, &y->type);
    if (p.n < PARALLEL_MIN)
        run_range(&p, 0, p.n);
    else
        kni_parallel_for((p.n + BLOCK - 1) / BLOCK, run_task, &p);
    return KN_OK;
}
