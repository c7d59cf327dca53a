/* Reference kernels and bodies in wide types: operands are converted to f64, i64 or u64, contiguous,
   the kernel runs, results are converted back. The reference backend is nothing else; the CPU backend uses
   it for rows that have no native kernel. */
#include "backend/host/host.h"
#include "core/thread_pool.h"
#include "ops/body.h"
#include <string.h>

enum { MAX_BUFFERS = 16 };

/* The buffers of one run: converted operands and results, and temporaries. */
typedef struct buffers {
    const void *in[MAX_BUFFERS];
    void *out[MAX_BUFFERS], *temp[KNI_MAX_KERNEL_TEMPS];
    kni_borrowed in_borrowed[MAX_BUFFERS];
    size_t out_bytes[MAX_BUFFERS], temp_bytes[KNI_MAX_KERNEL_TEMPS]; /* 0: the result's own memory */
} buffers;

static kn_status no_memory(const kn_record *r)
{
    return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
}

static kn_status get_inputs(const kn_record *r, buffers *b, const int *dtypes)
{
    for (int i = 0; i < r->n_in; i++) {
        kni_tensor *x = kni_in(r, i);
        if (!x) continue;
        if (!kni_host_borrow(x, dtypes[i], &b->in_borrowed[i])) return no_memory(r);
        b->in[i] = b->in_borrowed[i].data;
    }
    return KN_OK;
}

static kn_status get_outputs(const kn_record *r, buffers *b, const int *dtypes)
{
    for (int i = 0; i < r->n_out; i++) {
        kni_tensor *y = kni_out(r, i);
        kn_status s = kni_host_allocate(y);
        if (s) return s;
        b->out[i] = y->storage->data;
        if (y->type.dtype == dtypes[i]) continue;
        int64_t bytes = kn_dtype_bytes((kn_dtype)dtypes[i], kni_count(&y->type));
        b->out[i] = bytes < 0 ? NULL : kni_allocate((size_t)bytes);
        if (!b->out[i]) return no_memory(r);
        b->out_bytes[i] = bytes ? (size_t)bytes : 1;
    }
    return KN_OK;
}

static void put_outputs(const kn_record *r, buffers *b, const int *dtypes)
{
    for (int i = 0; i < r->n_out; i++) {
        kni_tensor *y = kni_out(r, i);
        if (b->out_bytes[i])
            kni_convert(y->storage->data, y->type.dtype, 1, b->out[i], dtypes[i], 1, kni_count(&y->type));
    }
}

static void free_buffers(const kn_record *r, buffers *b)
{
    for (int i = 0; i < r->n_in; i++) kni_host_unborrow(&b->in_borrowed[i]);
    for (int i = 0; i < r->n_out; i++)
        if (b->out_bytes[i]) kni_free(b->out[i], b->out_bytes[i]);
    for (int i = 0; i < KNI_MAX_KERNEL_TEMPS; i++)
        if (b->temp_bytes[i]) kni_free(b->temp[i], b->temp_bytes[i]);
}

/* The dtype that a kernel's buffer letter stands for. */
static int letter_dtype(char letter, int wide)
{
    return letter == 'T' ? kni_compute_dtype[wide] : letter == 'i' ? KN_I64 : KN_F64;
}

/* T is the wide type of the first operand, else result, that the kernel declares as T. */
static int wide_of_record(const kn_record *r, const kni_kernel *k)
{
    for (int i = 0; i < r->n_in && i < k->n_in; i++)
        if (k->buffers[i] == 'T' && kni_in(r, i)) return kni_wide_of[kni_in(r, i)->type.dtype];
    for (int i = 0; i < r->n_out && i < k->n_out; i++)
        if (k->buffers[k->n_in + i] == 'T') return kni_wide_of[kni_out(r, i)->type.dtype];
    return KNI_COMPUTE_F64;
}

typedef struct job {
    kni_kernel_fn fn;
    kni_kernel_call call;
    int64_t items, block;
} job;

static void run_block(void *argument, int64_t task, int worker)
{
    (void)worker;
    const job *j = argument;
    int64_t begin = task * j->block, end = begin + j->block;
    j->fn(&j->call, begin, end < j->items ? end : j->items);
}

static kn_status run_kernel(const kn_record *r, const kni_launch *l, buffers *b, int wide, bool parallel)
{
    static const int instance[KNI_COMPUTE_COUNT] = {
        [KNI_COMPUTE_F64] = 0, [KNI_COMPUTE_I64] = 1, [KNI_COMPUTE_U64] = 2};
    for (int i = 0; i < l->n_temps; i++) {
        int64_t bytes = kn_dtype_bytes(KN_F64, l->temps[i]);
        b->temp[i] = bytes < 0 ? NULL : kni_allocate((size_t)bytes);
        if (!b->temp[i]) return no_memory(r);
        b->temp_bytes[i] = bytes ? (size_t)bytes : 1;
    }
    int64_t error[2] = {0, 0};
    job j = {l->kernel->instances[instance[wide]],
             {b->in, b->out, b->temp, l->ints, l->reals, error},
             l->items,
             l->items};
    if (!j.fn)
        return kni_fail_op(KN_ERROR_INTERNAL, r->row->name, "its reference kernel has no form for %T",
                           (int)kni_compute_dtype[wide]);
    if (parallel && l->n_temps == 0 && l->items >= 64) {
        j.block = l->items / 16;
        kni_parallel_for((l->items + j.block - 1) / j.block, run_block, &j);
    } else if (l->items > 0) {
        run_block(&j, 0, 0);
    }
    if (error[0] && r->row->report)
        return kni_fail_op(KN_ERROR_NUMERIC, r->row->name, r->row->report, error[1] >> 32,
                           error[1] & UINT32_MAX);
    if (error[0]) return kni_fail_op(KN_ERROR_INDEX, r->row->name, "index %D is out of range", error[1]);
    return KN_OK;
}

kn_status kni_host_reference(const kn_record *r, bool parallel)
{
    const kni_type *in[MAX_BUFFERS], *out[MAX_BUFFERS];
    int in_dtypes[MAX_BUFFERS], out_dtypes[MAX_BUFFERS];
    if (r->n_in > MAX_BUFFERS || r->n_out > MAX_BUFFERS) return KN_ERROR_UNSUPPORTED;
    for (int i = 0; i < r->n_in; i++) in[i] = kni_in(r, i) ? &kni_in(r, i)->type : NULL;
    for (int i = 0; i < r->n_out; i++) out[i] = &kni_out(r, i)->type;
    kni_launch l = {
        .row = r->row, .attributes = r->attributes, .in = in, .out = out, .n_in = r->n_in, .n_out = r->n_out};
    kn_status s = r->row->launch(&l);
    if (s) return s;
    const kni_kernel *k = l.kernel;
    if (!k || l.n_ints > KNI_MAX_KERNEL_INTS || l.n_reals > KNI_MAX_KERNEL_REALS || l.n_temps != k->n_temp ||
        kni_given(r) > k->n_in || r->n_out > k->n_out)
        return kni_fail_op(KN_ERROR_INTERNAL, r->row->name, "the reference kernel was set up wrongly");
    int wide = wide_of_record(r, k);
    for (int i = 0; i < r->n_in && i < k->n_in; i++) in_dtypes[i] = letter_dtype(k->buffers[i], wide);
    for (int i = 0; i < r->n_out; i++) out_dtypes[i] = letter_dtype(k->buffers[k->n_in + i], wide);
    buffers b;
    memset(&b, 0, sizeof b);
    s = get_inputs(r, &b, in_dtypes);
    if (s == KN_OK) s = get_outputs(r, &b, out_dtypes);
    if (s == KN_OK) s = run_kernel(r, &l, &b, wide, parallel);
    if (s == KN_OK) put_outputs(r, &b, out_dtypes);
    free_buffers(r, &b);
    return s;
}

/* The dtype common to the operands of an elementwise row. */
static int common_of_elementwise(const kn_record *r)
{
    const kni_type *types[4];
    int n = r->n_in > 4 ? 4 : r->n_in, first = r->row->rule == KNI_RULE_SELECT;
    if (r->row->rule != KNI_RULE_COMPARE) return kni_out(r, 0)->type.dtype;
    for (int i = 0; i < n; i++) types[i] = &kni_in(r, i)->type;
    return kni_operand_dtype(r->row, types, first, n);
}

bool kni_host_borrow_expanded(kni_tensor *x, const kni_type *shape, int dtype, kni_borrowed *out)
{
    kni_tensor view = *x;
    int shift = shape->rank - x->type.rank;
    view.type.rank = shape->rank;
    for (int a = 0; a < shape->rank; a++) {
        bool spread = a < shift || (x->type.dims[a - shift] == 1 && shape->dims[a] != 1);
        view.type.dims[a] = shape->dims[a];
        view.strides[a] = spread ? 0 : x->strides[a - shift];
    }
    if (x->storage) return kni_host_borrow(&view, dtype, out);
    memcpy(view.inline_value.bytes, x->inline_value.bytes, sizeof view.inline_value);
    bool good = kni_host_borrow(&view, dtype, out);
    /* The value lay in the local copy of the slot, which does not outlive this function. */
    if (good && !out->copy_bytes) out->data = x->inline_value.bytes;
    return good;
}

/* Replaces n elements of one dtype by a copy of another. */
static bool widen(kni_borrowed *b, int from, int to, int64_t n)
{
    kni_borrowed wide = {NULL, 0};
    size_t bytes = (size_t)n * 8 + 1;
    wide.data = kni_allocate(bytes);
    if (!wide.data) return false;
    wide.copy_bytes = bytes;
    kni_convert(wide.data, to, 1, b->data, from, 1, n);
    kni_host_unborrow(b);
    *b = wide;
    return true;
}

/* A body with scalars of its own: operands are given as they are, or absent, and f64 computes all of it. */
static kn_status run_hosted(const kn_record *r)
{
    const kni_body *body = r->row->body;
    int dtypes[MAX_BUFFERS];
    kni_body_number numbers[KNI_BODY_NUMBERS];
    buffers b;
    memset(&b, 0, sizeof b);
    for (int i = 0; i < MAX_BUFFERS; i++) dtypes[i] = KN_F64;
    body->numbers(r->row->schema, r->attributes, numbers);
    kn_status s = get_inputs(r, &b, dtypes);
    if (s == KN_OK) s = get_outputs(r, &b, dtypes);
    if (s == KN_OK) {
        void *out[KNI_BODY_OPERANDS];
        for (int k = 0; k < r->n_out; k++) {
            int replaced = kni_body_replaces(body, k);
            bool written = replaced < 0 || (replaced < r->n_in && kni_in(r, replaced));
            out[k] = written ? b.out[k] : NULL;
        }
        kni_body_run(&(kni_body_call){.body = body,
                                      .wide = KNI_COMPUTE_F64,
                                      .n = kni_count(&kni_out(r, 0)->type),
                                      .out = out,
                                      .in = b.in,
                                      .numbers = numbers,
                                      .choices = kni_body_choices(r->row->schema, r->attributes)});
        put_outputs(r, &b, dtypes);
    }
    free_buffers(r, &b);
    return s;
}

/* Scalars beside anything but f64 are those of f32, as operands that are numbers: comparing with them finds the same on
   every backend. */
static void round_numbers(const kn_record *r, int common, double *params)
{
    const double none[4] = {0};
    memcpy(params, r->attribute_bytes ? r->attributes : none, sizeof none);
    for (int i = 0; i < 4 && kni_is_float(common) && common != KN_F64; i++) {
        float rounded;
        kni_convert(&rounded, KN_F32, 1, &params[i], KN_F64, 1, 1);
        params[i] = rounded;
    }
}

kn_status kni_host_body(const kn_record *r)
{
    if (r->row->body->numbers) return run_hosted(r);
    kni_tensor *y = kni_out(r, 0);
    int common = common_of_elementwise(r), wide = kni_wide_of[common], dtype = kni_compute_dtype[wide];
    uint32_t truths = r->row->rule == KNI_RULE_SELECT ? 1 : 0;
    buffers b;
    memset(&b, 0, sizeof b);
    kn_status s = KN_OK;
    for (int i = 0; i < r->n_in && s == KN_OK; i++) {
        kni_tensor *x = kni_in(r, i);
        int strip = truths >> i & 1 ? KN_I64 : dtype;
        int via = truths >> i & 1 ? 0 : kni_rounds_to(&x->type, common, strip);
        if (!kni_host_borrow_expanded(x, &y->type, via ? via : strip, &b.in_borrowed[i]) ||
            (via && !widen(&b.in_borrowed[i], via, strip, kni_count(&y->type))))
            s = no_memory(r);
        b.in[i] = b.in_borrowed[i].data;
    }
    if (s == KN_OK) s = get_outputs(r, &b, &dtype);
    if (s == KN_OK) {
        double params[4];
        round_numbers(r, common, params);
        if (kni_compute_of[common] == KNI_COMPUTE_I32) wide = KNI_COMPUTE_I32;
        kni_body_evaluate(r->row->body, wide, kni_count(&y->type), b.out[0], b.in, truths, params);
        put_outputs(r, &b, &dtype);
    }
    free_buffers(r, &b);
    return s;
}
