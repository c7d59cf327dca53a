/* Reference kernels on the device: the row's text (or a user's) is parsed for the dtypes at hand, compiled once, and
   launched over contiguous buffers with the sizes that the row's launch function gives. */
#include "backend/gpu/gpu_ahead.h"
#include "ir/builder.h"
#include "ir/kernel_texts.h"
#include "ir/parse.h"
#include <string.h>

enum {
    MAX_BUFFERS = 32,
    NAME_ROOM = 64,
    NUMBER_BYTES = 8 * (KNI_MAX_KERNEL_INTS + KNI_MAX_KERNEL_REALS + 40)
};

/* One run: what the kernel's parameters are, in their order. */
typedef struct run {
    kni_gpu *gpu;
    kni_gpu_guesses *guesses; /* not NULL: kernels are only handed over */
    const kn_record *record;
    kni_launch launch;
    const kni_type *in[MAX_BUFFERS], *out[MAX_BUFFERS];
    int element, real, n_buffers;
    uint8_t storage[MAX_BUFFERS];
    kni_gpu_block *blocks[MAX_BUFFERS], *made[MAX_BUFFERS]; /* made: to be given back */
    int64_t offsets[MAX_BUFFERS];
    uint32_t narrow; /* bit n: result n of the buffers has fewer digits than it is computed with */
    uint32_t wide;   /* bit n: it is computed in a block of its own and rounded at the end */
    int cell;
} run;

/* How many of the last operands a user's kernel only begins its first results with. */
static int first_values(const kn_op *row) { return row->source ? row->source->n_inout : 0; }

static kn_status set_up(run *a)
{
    const kn_record *r = a->record;
    kni_launch *l = &a->launch;
    if (r->n_in > MAX_BUFFERS || r->n_out > MAX_BUFFERS) return KN_ERROR_UNSUPPORTED;
    for (int i = 0; i < r->n_in; i++) a->in[i] = kni_in(r, i) ? &kni_in(r, i)->type : NULL;
    for (int i = 0; i < r->n_out; i++) a->out[i] = &kni_out(r, i)->type;
    memset(l, 0, sizeof *l);
    l->row = r->row;
    l->attributes = r->attributes;
    l->in = a->in;
    l->out = a->out;
    l->n_in = r->n_in;
    l->n_out = r->n_out;
    kn_status s = r->row->launch(l);
    if (s) return s;
    const kni_kernel *k = l->kernel;
    if (!k || l->n_ints > KNI_MAX_KERNEL_INTS || l->n_reals > KNI_MAX_KERNEL_REALS ||
        l->n_temps != k->n_temp || kni_given(r) > k->n_in + first_values(r->row) || r->n_out > k->n_out ||
        k->n_in + k->n_out + k->n_temp > MAX_BUFFERS)
        return kni_fail_op(KN_ERROR_INTERNAL, r->row->name, "the reference kernel was set up wrongly");
    return KN_OK;
}

/* What T is computed in, by the first operand, else result, that the kernel declares as T. */
static int element_of(const run *a)
{
    const kni_kernel *k = a->launch.kernel;
    const kni_kernel_source *own = a->record->row->source;
    int dtype = own && own->element ? own->element : KN_F32;
    bool found = false;
    for (int i = 0; i < a->record->n_in && i < k->n_in && !found; i++)
        if (k->buffers[i] == 'T' && a->in[i]) dtype = a->in[i]->dtype, found = true;
    for (int i = 0; i < a->record->n_out && !found; i++)
        if (k->buffers[k->n_in + i] == 'T') dtype = a->out[i]->dtype, found = true;
    int compute = kni_compute_dtype[kni_compute_of[dtype]];
    return compute == KN_I32 ? KN_I64 : compute;
}

static int letter_dtype(const run *a, char letter)
{
    if (letter == '.') return 0; /* the text says it */
    return letter == 'T' ? a->element : letter == 'i' ? KN_I64 : a->real;
}

/* Memory for buffer i: an operand's own where it is contiguous, else a copy. */
static kn_status give_operand(run *a, int i)
{
    kni_tensor *x = kni_in(a->record, i);
    if (kni_gpu_contiguous(x)) {
        a->offsets[i] = x->storage ? x->offset : 0;
        return kni_gpu_operand(a->gpu, x, &a->blocks[i], &a->made[i]);
    }
    kn_status s = kni_gpu_gather(a->gpu, x, &a->made[i]);
    a->blocks[i] = a->made[i];
    return s;
}

static kn_status give_extra(run *a, int i, int64_t elements)
{
    int64_t bytes = kn_dtype_bytes(KN_F64, elements > 0 ? elements : 1);
    if (bytes < 0) return kni_fail_op(KN_ERROR_MEMORY, a->record->row->name, "no memory for its temporaries");
    a->blocks[i] = a->made[i] = kni_gpu_take(a->gpu, (size_t)bytes);
    return a->made[i] ? KN_OK : kni_latest_code();
}

/* In which dtype each buffer is stored. */
static void find_dtypes(run *a)
{
    const kn_record *r = a->record;
    const kni_kernel *k = a->launch.kernel;
    a->n_buffers = k->n_in + k->n_out + k->n_temp;
    for (int i = 0; i < a->n_buffers; i++) {
        int out = i - k->n_in;
        a->storage[i] = (uint8_t)letter_dtype(a, k->buffers[i]);
        if (i < k->n_in && i < r->n_in && a->in[i]) {
            a->storage[i] = a->in[i]->dtype;
        } else if (out >= 0 && out < k->n_out && out < r->n_out) {
            int dtype = a->out[out]->dtype;
            bool floats = kni_dtypes[dtype].kind == KNI_KIND_FLOAT;
            if (floats && !r->row->source && kni_dtypes[dtype].bits < kni_dtypes[a->storage[i]].bits)
                a->narrow |= 1u << i;
            a->storage[i] = (uint8_t)dtype;
        }
    }
}

static kn_status give_buffers(run *a)
{
    const kn_record *r = a->record;
    const kni_kernel *k = a->launch.kernel;
    kn_status s = KN_OK;
    for (int i = 0; i < a->n_buffers && s == KN_OK; i++) {
        int out = i - k->n_in, temp = out - k->n_out;
        if (i < k->n_in && i < r->n_in && a->in[i]) {
            s = give_operand(a, i);
        } else if (out >= 0 && temp < 0 && out < r->n_out) {
            kni_tensor *y = kni_out(r, out);
            s = kni_gpu_allocate(a->gpu, y);
            if (s == KN_OK) a->blocks[i] = kni_gpu_block_of(y->storage);
            if (s == KN_OK && out < first_values(r->row))
                s = kni_gpu_copy_strided(a->gpu, kni_in(r, k->n_in + out), a->blocks[i]);
        } else {
            s = give_extra(a, i, temp >= 0 ? a->launch.temps[temp] : 1);
        }
    }
    return s;
}

static void take_back(run *a, kn_status s)
{
    for (int i = 0; i < a->n_buffers; i++)
        if (a->made[i]) kni_gpu_give(a->made[i]);
    for (int i = 0; i < a->record->n_out && s; i++) {
        kni_tensor *y = kni_out(a->record, i);
        if (y->storage) kni_storage_release(y->storage);
        y->storage = NULL;
    }
}

/* Numbers that are a part of the kernel become constants of it. */
static void fix_numbers(const run *a, kni_ir *ir)
{
    int32_t first[KNI_IR_MAX_PARAMS], n = 0;
    for (uint32_t i = 0; i < ir->n_params; i++) {
        const kni_ir_param *p = &ir->params[i];
        bool whole = i > (uint32_t)a->n_buffers && !kni_is_float(p->dtype),
             fixed = whole && n >= a->launch.fixed;
        first[i] = fixed ? n : -1;
        if (whole) n += p->count ? (int32_t)p->count : 1;
    }
    for (kni_ir_id id = 1; id < ir->n_nodes; id++) {
        kni_ir_node *node = kni_ir_at(ir, id);
        bool element = node->code == KNI_IR_ELEMENT;
        if ((!element && node->code != KNI_IR_PARAM) || first[node->index] < 0) continue;
        if (element && kni_ir_at(ir, node->a)->code != KNI_IR_CONSTANT) continue;
        int64_t place = first[node->index] + (element ? kni_ir_at(ir, node->a)->u.whole : 0);
        *node = (kni_ir_node){.code = KNI_IR_CONSTANT,
                              .type = node->type,
                              .u.whole = a->launch.ints[place],
                              .next = node->next,
                              .line = node->line,
                              .column = node->column};
    }
}

/* The row's text as a kernel. */
static kni_ir *parse_row(const run *a, const char *name)
{
    size_t bytes;
    const char *file = "kernel", *text = kni_kernel_text(name, &bytes, &file);
    int index = a->launch.small ? KN_I32 : KN_I64;
    kni_ir_parse_options options = {file, name, a->element, a->real, a->storage, index};
    if (!text) (void)kni_fail_op(KN_ERROR_INTERNAL, a->record->row->name, "its kernel has no text");
    kni_ir *ir = text ? kni_ir_parse(text, bytes, &options) : NULL;
    if (ir && a->launch.fixed) fix_numbers(a, ir);
    return ir;
}

static kni_ir *parse_own(const run *a, const kni_kernel_source *own, const char *name)
{
    kni_ir_parse_options options = {
        own->file ? own->file : "kernel", name, a->element, a->real, a->storage, 0};
    return kni_ir_parse(own->text, own->bytes, &options);
}

/* Hands it over, but where another is made in its place: which results must be wide is noted. */
static void guess_kernel(run *a, kni_ir *ir)
{
    uint32_t wide = ir ? kni_gpu_reads_back(ir) & a->narrow & ~a->wide : 0;
    if (!wide) {
        kni_gpu_guess(a->guesses, ir);
        return;
    }
    kni_ir_free(ir);
    const kni_kernel *k = a->launch.kernel;
    for (int i = k->n_in; i < k->n_in + k->n_out; i++)
        if (wide >> i & 1) a->storage[i] = (uint8_t)letter_dtype(a, k->buffers[i]);
    a->wide |= wide;
}

/* The kernel of the text for these dtypes. A user's text is part of its own key. */
static kni_gpu_kernel *find_kernel(run *a)
{
    const kni_kernel_source *own = a->record->row->source;
    const char *name = own && own->name ? own->name : a->launch.kernel->name;
    size_t name_bytes = strlen(name) + 1, text_bytes = own ? own->bytes : 0;
    size_t fixed =
        a->launch.fixed ? (size_t)(a->launch.n_ints - a->launch.fixed) * sizeof *a->launch.ints : 0;
    size_t room = 5 + name_bytes + MAX_BUFFERS + text_bytes + fixed, n = 0;
    unsigned char *key = kni_allocate(room);
    if (!key) {
        (void)kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
        return NULL;
    }
    key[n++] = own ? 'u' : 'r';
    key[n++] = a->launch.small;
    key[n++] = (unsigned char)a->element;
    key[n++] = (unsigned char)a->n_buffers;
    memcpy(key + n, a->storage, (size_t)a->n_buffers);
    n += (size_t)a->n_buffers;
    memcpy(key + n, name, name_bytes);
    n += name_bytes;
    if (own) memcpy(key + n, own->text, text_bytes);
    n += text_bytes;
    if (fixed) memcpy(key + n, a->launch.ints + a->launch.fixed, fixed);
    n += fixed;
    kni_gpu_kernel *k = kni_gpu_find(a->gpu, key, (uint32_t)n);
    if (!k && (!a->guesses || kni_gpu_guess_new(a->guesses, key, (uint32_t)n))) {
        kni_ir *ir = own ? parse_own(a, own, name) : parse_row(a, name);
        if (ir && kni_ir_simplify(ir)) {
            kni_ir_free(ir);
            ir = NULL;
        }
        if (a->guesses)
            guess_kernel(a, ir);
        else
            k = kni_gpu_add_unless(a->gpu, key, (uint32_t)n, ir, a->narrow & ~a->wide);
    }
    kni_free(key, room);
    return k;
}

static void put_number(unsigned char *to, int dtype, int64_t whole, double real)
{
    switch (dtype) {
    case KN_F64:
        memcpy(to, &real, 8);
        break;
    case KN_F32: {
        float narrow = (float)real;
        memcpy(to, &narrow, 4);
        break;
    }
    case KN_I32:
    case KN_U32: {
        int32_t narrow = (int32_t)whole;
        memcpy(to, &narrow, 4);
        break;
    }
    default:
        memcpy(to, &whole, 8);
    }
}

/* The block of params: items, the offsets of the buffers, then the numbers in the order of the text. */
static kn_status fill_params(const run *a, const kni_gpu_kernel *k, unsigned char *params)
{
    const kni_launch *l = &a->launch;
    int ints = 0, reals = 0;
    memset(params, 0, k->param_bytes);
    for (uint32_t i = 0; i < k->n_params; i++) {
        const kni_ir_param *p = &k->params[i];
        unsigned char *to = params + p->offset;
        bool implicit = i <= (uint32_t)a->n_buffers, real = p->dtype == KN_F64 || p->dtype == KN_F32;
        if (implicit) {
            int64_t value = i == 0 ? l->items : a->offsets[i - 1];
            memcpy(to, &value, 8);
            continue;
        }
        for (uint32_t j = 0; j < (p->count ? p->count : 1); j++, to += kni_bytes_of(p->dtype)) {
            if (real ? reals >= l->n_reals : ints >= l->n_ints)
                return kni_fail_op(KN_ERROR_INTERNAL, a->record->row->name,
                                   "its kernel declares more numbers than it was given");
            if (real)
                put_number(to, p->dtype, 0, l->reals[reals++]);
            else
                put_number(to, p->dtype, l->ints[ints++], 0);
        }
    }
    return KN_OK;
}

/* Results that the kernel reads back get blocks in which nothing is rounded. */
static kn_status widen(run *a, uint32_t which)
{
    kn_status s = KN_OK;
    const kni_kernel *k = a->launch.kernel;
    for (int i = k->n_in; i < k->n_in + k->n_out && s == KN_OK; i++) {
        if (!(which >> i & 1)) continue;
        a->storage[i] = (uint8_t)letter_dtype(a, k->buffers[i]);
        a->wide |= 1u << i;
        s = give_extra(a, i, kni_count(a->out[i - k->n_in]));
    }
    return s;
}

/* y[item] = x[item] in another dtype. */
static kni_ir *build_round(int from, int to)
{
    kni_ir_builder b = kni_ir_begin("round_result", 0);
    uint32_t x = kni_ir_buffer(&b, "x", from, KNI_IR_READ), y = kni_ir_buffer(&b, "y", to, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    kni_ir_id item = kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, KN_I64);
    kni_ir_store(&b, y, item, kni_ir_load(&b, x, item, from, 1));
    return kni_ir_finish(&b);
}

static kn_status round_results(run *a)
{
    const kni_kernel *kernel = a->launch.kernel;
    kn_status s = KN_OK;
    for (int i = kernel->n_in; i < kernel->n_in + kernel->n_out && s == KN_OK; i++) {
        if (!(a->wide >> i & 1)) continue;
        kni_tensor *y = kni_out(a->record, i - kernel->n_in);
        unsigned char key[] = {'d', a->storage[i], y->type.dtype};
        kni_gpu_kernel *k = kni_gpu_find(a->gpu, key, sizeof key);
        if (!k) k = kni_gpu_add(a->gpu, key, sizeof key, build_round(a->storage[i], y->type.dtype));
        if (!k) return kni_latest_code();
        int64_t params[3] = {kni_count(&y->type), 0, 0};
        kni_gpu_block *blocks[2] = {a->blocks[i], kni_gpu_block_of(y->storage)};
        kni_launch_shape shape = kni_gpu_item_shape(a->gpu, k, params[0]);
        if (params[0]) s = kni_gpu_launch(a->gpu, k, &shape, blocks, 2, -1, params);
    }
    return s;
}

static kn_status run_kernel(run *a)
{
    _Alignas(8) unsigned char params[NUMBER_BYTES];
    if (a->launch.items <= 0) return KN_OK;
    kni_gpu_kernel *k = find_kernel(a);
    if (k && !k->module) {
        kn_status s = widen(a, k->reads_back & a->narrow);
        if (s) return s;
        k = find_kernel(a);
    }
    if (!k) return kni_latest_code();
    if (k->param_bytes > sizeof params)
        return kni_fail_op(KN_ERROR_INTERNAL, a->record->row->name, "its kernel has too many numbers");
    if (k->reports) {
        a->cell = kni_gpu_take_cell(a->gpu, a->record);
        if (a->cell < 0) return kni_latest_code();
    }
    kn_status s = fill_params(a, k, params);
    if (s) return s;
    const kni_kernel_source *own = a->record->row->source;
    kni_launch_shape shape = kni_gpu_item_shape(a->gpu, k, a->launch.items);
    if (own && own->workgroup) {
        /* Its items are workgroups already. */
        if (a->launch.items > INT32_MAX)
            return kni_fail_op(KN_ERROR_UNSUPPORTED, a->record->row->name, "%D workgroups are too many",
                               a->launch.items);
        shape = (kni_launch_shape){{(uint32_t)a->launch.items, 1, 1}, own->workgroup, 0};
    }
    return kni_gpu_launch(a->gpu, k, &shape, a->blocks, (uint32_t)a->n_buffers, a->cell, params);
}

static run *new_run(kni_gpu *g, const kn_record *r)
{
    run *a = kni_allocate(sizeof *a);
    if (!a) {
        (void)kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory to set up its kernel");
        return NULL;
    }
    memset(a, 0, sizeof *a);
    a->gpu = g;
    a->record = r;
    a->cell = -1;
    a->real = g->driver->caps.f64 ? KN_F64 : KN_F32;
    return a;
}

void kni_gpu_reference_ahead(kni_gpu_guesses *guesses, const kn_record *r)
{
    run *a = r->row->launch ? new_run(guesses->gpu, r) : NULL;
    if (!a) return;
    a->guesses = guesses;
    if (set_up(a) == KN_OK && a->launch.items > 0) {
        a->element = element_of(a);
        find_dtypes(a);
        (void)find_kernel(a);
        if (a->wide) (void)find_kernel(a);
    }
    kni_free(a, sizeof *a);
}

kn_status kni_gpu_reference(kni_gpu *g, const kn_record *r)
{
    if (!r->row->launch) return KN_ERROR_UNSUPPORTED;
    run *a = new_run(g, r);
    if (!a) return kni_latest_code();
    kn_status s = set_up(a);
    if (s == KN_OK) {
        a->element = element_of(a);
        find_dtypes(a);
        s = give_buffers(a);
        if (s == KN_OK) s = run_kernel(a);
        if (s == KN_OK && a->wide) s = round_results(a);
        if (s == KN_OK) kni_gpu_finish(g, r, a->cell);
        take_back(a, s);
    }
    kni_free(a, sizeof *a);
    return s;
}
