/* Running users' kernels: the public calls, and the CPU, which interprets them. */
#include "core/device_object.h"
#include "core/objects.h"
#include "core/thread_pool.h"
#include "kernel/user_kernel.h"
#include <string.h>

/* ---- the CPU */

/* The kernel for these dtypes; made when first asked for. NULL after a failure. */
static const kni_kernel_variant *variant_for(kni_user_kernel *k, int element, const uint8_t *storage)
{
    size_t n = (size_t)k->signature.n_buffers;
    kni_lock(&k->lock);
    kni_kernel_variant *v = k->variants;
    while (v && (v->element != element || memcmp(v->storage, storage, n))) v = v->next;
    if (!v && (v = kni_allocate(sizeof *v))) {
        memset(v, 0, sizeof *v);
        v->element = (uint8_t)element;
        memcpy(v->storage, storage, n);
        v->ir = kni_kernel_ir(k, element, storage);
        if (v->ir && kni_ir_simplify(v->ir) == KN_OK) v->program = kni_ir_program_new(v->ir);
        if (v->program) {
            v->next = k->variants;
            k->variants = v;
        } else {
            kni_ir_free(v->ir);
            kni_free(v, sizeof *v);
            v = NULL;
        }
    } else if (!v) {
        kni_fail(KN_ERROR_MEMORY, "no memory to compile the kernel");
    }
    kni_unlock(&k->lock);
    return v;
}

/* Atomics meet each other in one order on one thread, so that results repeat; so do reports. */
static bool keeps_order(const kni_ir *ir)
{
    for (uint32_t i = 1; i < ir->n_nodes; i++)
        if (ir->nodes[i].code == KNI_IR_ATOMIC) return true;
    return ir->reports;
}

typedef struct run {
    kni_user_kernel *k;
    const kni_kernel_variant *variant;
    kni_ir_run_buffer buffers[KNI_IR_MAX_SIGNATURE];
    size_t temp_bytes[KNI_MAX_KERNEL_TEMPS];
    char *params;
    kni_ir_run_args args;
    int64_t fault[2], items, block;
    _Atomic int status;
} run;

static kn_status no_memory(const run *r, const char *what)
{
    return kni_fail_op(KN_ERROR_MEMORY, r->k->name, "no memory for its %s", what);
}

static kn_status choose_variant(run *r, const kni_span *in, const kni_span *out)
{
    uint8_t storage[KNI_IR_MAX_SIGNATURE] = {0};
    int in_dtypes[KNI_KERNEL_OPERANDS], out_dtypes[KNI_KERNEL_OPERANDS];
    for (int i = 0; i < r->k->n_operands; i++) in_dtypes[i] = in[i].type->dtype;
    for (int i = 0; i < r->k->n_results; i++) out_dtypes[i] = out[i].type->dtype;
    int n_in = r->k->kernel.n_in, element = kni_kernel_element(r->k, in_dtypes, out_dtypes);
    for (int i = 0; i < n_in; i++) storage[i] = (uint8_t)in_dtypes[i];
    for (int i = 0; i < r->k->n_results; i++) storage[n_in + i] = (uint8_t)out_dtypes[i];
    r->variant = variant_for(r->k, element ? element : r->k->source.element, storage);
    return r->variant ? KN_OK : kni_latest_code();
}

static kn_status bind(run *r, const kni_launch *l, const kni_span *in, const kni_span *out)
{
    int n_in = r->k->kernel.n_in, n = 0;
    for (int i = 0; i < n_in; i++) r->buffers[n++] = (kni_ir_run_buffer){in[i].data, kni_count(in[i].type)};
    for (int i = 0; i < r->k->n_results; i++) {
        int64_t count = kni_count(out[i].type);
        if (i < r->k->source.n_inout && count)
            memcpy(out[i].data, in[n_in + i].data,
                   (size_t)kn_dtype_bytes((kn_dtype)out[i].type->dtype, count));
        r->buffers[n++] = (kni_ir_run_buffer){out[i].data, count};
    }
    for (int i = 0; i < l->n_temps; i++) {
        int64_t bytes = kn_dtype_bytes((kn_dtype)r->variant->ir->bindings[n].dtype, l->temps[i]);
        void *data = bytes < 0 ? NULL : kni_allocate((size_t)bytes + 1);
        if (!data) return no_memory(r, "temp buffers");
        memset(data, 0, (size_t)bytes + 1);
        r->temp_bytes[i] = (size_t)bytes + 1;
        r->buffers[n++] = (kni_ir_run_buffer){data, l->temps[i]};
    }
    return KN_OK;
}

/* Items and offsets, then the numbers of the launch in the types the kernel wants. */
static void fill_params(run *r, const kni_launch *l)
{
    const kni_ir *ir = r->variant->ir;
    uint32_t own = 1 + ir->n_buffers;
    int ints = 0, reals = 0;
    memcpy(r->params, &l->items, sizeof l->items);
    for (uint32_t i = own; i < ir->n_params; i++) {
        const kni_ir_param *p = &ir->params[i];
        size_t size = kni_bytes_of(p->dtype);
        int n = p->count ? (int)p->count : 1;
        for (int j = 0; j < n; j++) {
            char *to = r->params + p->offset + (size_t)j * size;
            if (kni_is_float(p->dtype))
                kni_convert(to, p->dtype, 1, &l->reals[reals++], KN_F64, 1, 1);
            else
                kni_convert(to, p->dtype, 1, &l->ints[ints++], KN_I64, 1, 1);
        }
    }
}

static void run_block(void *argument, int64_t task, int worker)
{
    (void)worker;
    run *r = argument;
    int64_t begin = task * r->block, end = begin + r->block < r->items ? begin + r->block : r->items;
    kn_status s = kni_ir_program_run(r->variant->program, &r->args, begin, end);
    if (s) atomic_store(&r->status, (int)s);
}

/* The buffers of some roles, as bits. */
static uint64_t buffers_of(const kni_user_kernel *k, int first, int last)
{
    uint64_t bits = 0;
    for (int i = 0; i < k->signature.n_buffers; i++)
        if (k->signature.buffers[i].role >= first && k->signature.buffers[i].role <= last)
            bits |= UINT64_C(1) << i;
    return bits;
}

static kn_status run_all(run *r, const kni_launch *l, bool check)
{
    const kni_ir *ir = r->variant->ir;
    r->items = l->items;
    if (ir->workgroup && l->items > UINT32_MAX)
        return kni_fail_op(KN_ERROR_UNSUPPORTED, r->k->name, "%D workgroups are too many", l->items);
    r->args = (kni_ir_run_args){.buffers = r->buffers,
                                .params = r->params,
                                .items = l->items,
                                .fault = r->fault,
                                .groups = {ir->workgroup ? (uint32_t)l->items : 0, 1, 1},
                                .fresh = buffers_of(r->k, KNI_IR_OUT, KNI_IR_TEMP),
                                .whole = buffers_of(r->k, KNI_IR_OUT, KNI_IR_OUT),
                                .check = check};
    if (l->items == 0) return KN_OK;
    if (check) return kni_ir_run(ir, &r->args);
    bool parallel = l->n_temps == 0 && l->items >= (ir->workgroup ? 16 : 4096) && !keeps_order(ir);
    r->block = parallel ? (l->items + 15) / 16 : l->items;
    if (!parallel) return kni_ir_program_run(r->variant->program, &r->args, 0, l->items);
    kni_parallel_for((l->items + r->block - 1) / r->block, run_block, r);
    return (kn_status)atomic_load(&r->status);
}

static kn_status told(const run *r)
{
    if (!r->fault[0]) return KN_OK;
    return kni_fail(KN_ERROR_INDEX, KNI_KERNEL_REPORTED, r->k->name, r->fault[1], "");
}

static kn_status execute(const kn_op *row, const void *attributes, const kni_span *in, const kni_span *out,
                         bool check)
{
    run r = {.k = (kni_user_kernel *)kni_kernel_of_row(row)};
    const kni_type *in_types[KNI_KERNEL_OPERANDS], *out_types[KNI_KERNEL_OPERANDS];
    for (int i = 0; i < r.k->n_operands; i++) in_types[i] = in[i].type;
    for (int i = 0; i < r.k->n_results; i++) out_types[i] = out[i].type;
    kni_launch l = {.row = row,
                    .attributes = attributes,
                    .in = in_types,
                    .out = out_types,
                    .n_in = r.k->n_operands,
                    .n_out = r.k->n_results};
    kn_status s = kni_kernel_launch(&l);
    if (s == KN_OK) s = choose_variant(&r, in, out);
    size_t bytes = s == KN_OK ? r.variant->ir->param_bytes : 0;
    if (s == KN_OK && !(r.params = kni_allocate(bytes + 1))) s = no_memory(&r, "numbers");
    if (s == KN_OK) {
        memset(r.params, 0, bytes + 1);
        fill_params(&r, &l);
        s = bind(&r, &l, in, out);
    }
    if (s == KN_OK) s = run_all(&r, &l, check);
    if (s == KN_OK) s = told(&r);
    if (r.params) kni_free(r.params, bytes + 1);
    for (int i = 0, n = r.k->kernel.n_in + r.k->n_results; i < KNI_MAX_KERNEL_TEMPS; i++)
        if (r.temp_bytes[i]) kni_free(r.buffers[n + i].data, r.temp_bytes[i]);
    return s;
}

kn_status kni_kernel_run_host(const kn_op *row, const void *attributes, const kni_span *in,
                              const kni_span *out)
{
    return execute(row, attributes, in, out, false);
}

kn_status kni_kernel_run_checked(const kn_op *row, const void *attributes, const kni_span *in,
                                 const kni_span *out)
{
    return execute(row, attributes, in, out, true);
}

/* ---- the public calls */

static void poison(kn_tensor *out, int32_t n_out)
{
    for (int i = 0; i < n_out; i++) out[i] = kni_poison_latest();
}

/* Operands that are temporaries are taken by failing calls too. */
static kn_status apply(const kni_user_kernel *k, const char *function, const kn_op *row, const kn_tensor *in,
                       int32_t n_in, const kn_kernel_run_args *args, kn_tensor *out, int32_t n_out)
{
    union {
        kni_kernel_attributes head;
        char bytes[sizeof(kni_kernel_attributes) +
                   (KNI_MAX_KERNEL_INTS + KNI_MAX_KERNEL_REALS) * sizeof(kn_kernel_number)];
    } attributes;
    memset(&attributes, 0, sizeof attributes);
    if (n_in != k->n_operands || n_out != k->n_results || (n_in && !in)) {
        kni_fail(KN_ERROR_ARGUMENT, "%s: kernel '%s' takes %d operands and gives %d results, not %d and %d",
                 function, k->name, (int32_t)k->n_operands, (int32_t)k->n_results, n_in, n_out);
        poison(out, n_out);
    } else if (!kni_kernel_fill(k, function, args, &attributes)) {
        poison(out, n_out);
    } else {
        kni_apply_many(row, in, n_in, &attributes, out, n_out);
        return kni_is_poisoned(out[0]) ? kni_failure_again(out[0]) : KN_OK;
    }
    return KN_ERROR_ARGUMENT;
}

static bool usable(const char *function, const kni_user_kernel *kernel, kn_tensor *out, int32_t n_out)
{
    if (kernel && (out || n_out <= 0)) return true;
    if (kernel) kni_fail(KN_ERROR_ARGUMENT, "%s: the results are NULL", function);
    if (out) poison(out, n_out);
    return false;
}

kn_status kn_kernel_run(kn_kernel *kernel, const kn_tensor *in, int32_t n_in, const kn_kernel_run_args *args,
                        kn_tensor *out, int32_t n_out)
{
    KNI_USE(user_kernel, k, kernel);
    if (!usable("kn_kernel_run", k, out, n_out)) return k ? KN_ERROR_ARGUMENT : KNI_NO_OBJECT(kernel);
    return kni_user_kernel_run(k, in, n_in, args, out, n_out);
}

kn_status kni_user_kernel_run(const kni_user_kernel *k, const kn_tensor *in, int32_t n_in,
                              const kn_kernel_run_args *args, kn_tensor *out, int32_t n_out)
{
    return apply(k, "kn_kernel_run", &k->row, in, n_in, args, out, n_out);
}

kn_status kn_kernel_debug(kn_kernel *kernel, const kn_tensor *in, int32_t n_in,
                          const kn_kernel_run_args *args, kn_tensor *out, int32_t n_out)
{
    KNI_USE(user_kernel, k, kernel);
    if (!usable("kn_kernel_debug", k, out, n_out)) return k ? KN_ERROR_ARGUMENT : KNI_NO_OBJECT(kernel);
    kn_tensor moved[KNI_KERNEL_OPERANDS];
    kn_device cpu = kni_device_handle(kni_device_cpu()), before = kn_device_current();
    for (int i = 0; i < n_in && i < KNI_KERNEL_OPERANDS && in; i++) moved[i] = kn_to(in[i], cpu);
    kn_device_use(cpu);
    kn_status s = apply(k, "kn_kernel_debug", &k->checked, in ? moved : NULL, n_in, args, out, n_out);
    kn_device_use(before);
    return s;
}
