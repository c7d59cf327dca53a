/* Running an op: check the handles, infer, make a record, execute it, take the temporaries. */
#include "core/call_site.h"
#include "core/device_object.h"
#include "core/float_env.h"
#include "core/param_value.h"
#include "ops/autocast_state.h"
#include "ops/infer.h"
#include "ops/order.h"
#include "ops/stored_ops.h"
#include <string.h>

/* MAX_LIST: of operands that a row takes as a list. Longer lists are joined in groups. */
enum { FEW = 8, FRAME_BYTES = 512, MAX_LIST = 64 };

_Atomic(kni_autocast_fn) kni_autocast_operands;

/* All that one call needs; small calls live on the stack. */
typedef struct call {
    kni_thread *thread;
    const kn_op *row;
    const kn_tensor *in;
    int n_in, n_out;
    kni_tensor **slots;     /* of inputs, NULL where absent */
    const kni_type **types; /* of inputs */
    kni_type **out_types;
    kn_record *record;
    size_t record_bytes;
    void *heap;
    size_t heap_bytes;
    kn_device device;
    kn_tensor poison;  /* the error an operand carries, found while resolving */
    bool resolved;     /* slots of all operands are known */
    bool copied;       /* a param is among the operands: its slot is a copy */
    bool stored;       /* a dtype is one that the row takes only by way of others */
    uint64_t replaced; /* bit i: the caller replaces operand i by a result, so its memory may be reused */
} call;

static bool ownership_borrows(void)
{
    static _Atomic int mode; /* 0 unknown, 1 take, 2 borrow */
    int m = atomic_load_explicit(&mode, memory_order_relaxed);
    if (KNI_UNLIKELY(m == 0)) {
        const char *text = kni_environment("KN_OWNERSHIP");
        m = text && !strcmp(text, "borrow") ? 2 : 1;
        atomic_store(&mode, m);
    }
    return m == 2;
}

/* The slot that stands for the param at x, which is operand i; one for all its places. */
static uint32_t copy_of_param(call *c, int i, const kni_tensor *x)
{
    for (int k = 0; k < i; k++)
        if (c->in[k].bits == c->in[i].bits) return c->record->ids[c->n_out + k];
    c->copied = true;
    return kni_param_snapshot(c->thread, x);
}

static kn_status resolve_inputs(call *c)
{
    uint32_t *ids = c->record->ids + c->n_out;
    for (int i = 0; i < c->n_in; i++) c->slots[i] = NULL;
    for (int i = 0; i < c->n_in; i++) {
        c->types[i] = NULL;
        ids[i] = KNI_NO_SLOT;
        /* Operands of a list are all there; others may be absent from min_in on. */
        if (c->in[i].bits == 0 && i >= c->row->min_in && c->row->max_in >= 0) continue;
        kni_tensor *x = kni_resolve(c->in[i], c->row->name);
        if (KNI_UNLIKELY(!x)) return KN_ERROR_HANDLE;
        uint32_t id = kni_slot_of(c->in[i]);
        if (KNI_UNLIKELY(x->flags & KNI_TENSOR_PARAM)) {
            /* A param that is about to be replaced has no other user now, and only its own memory can be reused. */
            if (!(c->replaced >> (i & 63) & 1)) {
                id = copy_of_param(c, i, x);
                if (id == KNI_NO_SLOT)
                    return kni_fail_op(KN_ERROR_MEMORY, c->row->name, "no memory to read a param");
                x = kni_slot(id);
            }
        }
        c->slots[i] = x;
        c->types[i] = &x->type;
        if (KNI_UNLIKELY(x->type.dtype > KN_BOOL)) c->stored |= !(c->row->dtypes >> x->type.dtype & 1);
        ids[i] = id;
        if (KNI_UNLIKELY(kni_tensor_failed(x, &c->poison))) return KN_ERROR_HANDLE;
    }
    c->resolved = true;
    return KN_OK;
}

/* What another stack's queue still owes must be there before this stack sees it. */
static KNI_COLD kn_status await_values(call *c)
{
    for (int i = 0; i < c->n_in; i++) {
        const kni_tensor *x = c->slots[i];
        if (!x || !x->storage || x->device->queue == c->device->queue) continue;
        kni_storage_wait(x->storage);
        if (kni_tensor_failed(x, &c->poison)) return KN_ERROR_HANDLE;
    }
    return KN_OK;
}

static bool is_closed(kn_device d)
{
    return KNI_UNLIKELY(atomic_load_explicit(&d->closed, memory_order_relaxed));
}

/* The device of the operands. A stack that tapes wins over its own leaf; different leaves are an error. */
static kn_status choose_device(call *c)
{
    kn_device device = NULL, closed = NULL;
    bool mixed = c->thread->context.route != NULL;
    for (int i = 0; i < c->n_in; i++) {
        if (!c->slots[i] || (c->types[i]->weak && device)) continue;
        kn_device d = c->slots[i]->device;
        if (!device || c->device == d || device == d) {
            device = d;
            continue;
        }
        if (!kni_same_leaf(device, d)) {
            if (c->types[i]->weak) continue;
            return kni_fail_op(KN_ERROR_DEVICE, c->row->name,
                               "operands are on different devices, %s and %s: move one with kn_to()",
                               device->name, d->name);
        }
        if (is_closed(d) || is_closed(device)) closed = is_closed(d) ? d : device;
        if ((d->tape && !device->tape) || (d->queue && !device->queue && !d->tape == !device->tape))
            device = d;
        mixed = true;
    }
    if (c->thread->context.route)
        device = c->thread->context.route;
    else if (device && c->thread->context.call_name && !c->thread->context.call_device)
        c->thread->context.call_device = device;
    if (!device) device = kni_device_current();
    if (!device) return KN_ERROR_DEVICE;
    if (c->thread->context.route || !closed) closed = is_closed(device) ? device : NULL;
    if (KNI_UNLIKELY(closed != NULL))
        return kni_fail_op(KN_ERROR_DEVICE, c->row->name, "the device %s has been closed", closed->name);
    c->device = device;
    return KNI_UNLIKELY(mixed) ? await_values(c) : KN_OK;
}

static void release_outputs(call *c, int made)
{
    for (int i = 0; i < made; i++) kni_tensor_end_handle(c->thread, c->record->ids[i]);
}

static kn_status make_outputs(call *c)
{
    for (int i = 0; i < c->n_out; i++) {
        uint32_t id = kni_tensor_new(c->thread);
        if (KNI_UNLIKELY(id == KNI_NO_SLOT)) {
            release_outputs(c, i);
            return kni_fail_op(KN_ERROR_MEMORY, c->row->name, "no memory for another tensor");
        }
        kni_tensor *y = kni_slot(id);
        y->device = c->device;
        y->made_by = c->row->number;
        y->type.dtype = KN_DTYPE_NONE;
        y->type.rank = 0;
        y->type.weak = 0;
        c->record->ids[i] = id;
        c->out_types[i] = &y->type;
    }
    return KN_OK;
}

/* Sizes that are constant and far from every limit, as nearly all are, need no other check. */
static bool plainly_countable(const kni_type *t)
{
    uint64_t n = 1;
    for (int i = 0; i < t->rank; i++) {
        if ((uint64_t)t->dims[i] >> 31 || (n *= (uint64_t)t->dims[i]) >> 31) return false;
    }
    return true;
}

/* A scalar that is KN_ZERO was meant as 0. As a value it would be -2^63, which integers have and floats do not need. Static
   attributes are fields with defaults, or have a range of their own. */
static kn_status refuse_zero(const call *c)
{
    const kni_type *t = c->n_in && c->types[0] ? c->types[0] : c->out_types[0];
    if (!kni_is_float(t->dtype) || c->thread->context.depth_of_lowering) return KN_OK;
    for (const kn_attribute *a = c->row->schema; a->name; a++) {
        double value = 0;
        if (a->type == KNI_ATTR_REAL && a->dynamic == KNI_DYNAMIC)
            memcpy(&value, (const char *)c->record->attributes + a->offset, sizeof value);
        if (KNI_UNLIKELY(value == (double)KN_ZERO))
            return kni_fail_op(KN_ERROR_ARGUMENT, c->row->name,
                               "%s is KN_ZERO, which is for fields whose 0 means the default; write 0",
                               a->name);
    }
    return KN_OK;
}

static kn_status infer_outputs(call *c)
{
    kni_infer infer = {c->row, c->types, c->n_in, (void *)c->record->attributes, c->out_types, c->n_out};
    kn_status s = c->row->infer(&infer);
    for (int i = 0; i < c->n_out && s == KN_OK; i++)
        if (KNI_UNLIKELY(!plainly_countable(c->out_types[i])))
            s = kni_infer_countable(&infer, c->out_types[i]);
    if (s == KN_OK && c->row->schema)
        s = refuse_zero(c); /* after the rule, which gives defaults their values */
    return s;
}

/* Whether this call ends the operand's handle. */
static bool will_be_taken(const call *c, const kni_tensor *x)
{
    return x->state == KNI_TEMPORARY && x->thread == c->thread->id && !ownership_borrows();
}

static void fill_record(call *c, const void *attributes)
{
    kn_record *r = c->record;
    const kn_op *row = c->row;
    r->bytes = (uint32_t)c->record_bytes;
    r->op = row->number;
    r->phase = KN_PHASE_FORWARD;
    r->queue = 0;
    r->n_out = (uint16_t)c->n_out;
    r->n_in = (uint16_t)c->n_in;
    r->flags = 0;
    r->attribute_bytes = row->attribute_bytes;
    r->last_use = 0;
    r->sequence = c->thread->serial;
    r->row = row;
    char *place = (char *)r + c->record_bytes - ((row->attribute_bytes + 7u) & ~7u);
    r->attributes = place;
    if (row->attribute_bytes) {
        if (attributes)
            memcpy(place, attributes, row->attribute_bytes);
        else
            memset(place, 0, row->attribute_bytes);
    }
    for (int i = 0; i < c->n_in && i < 64; i++) {
        const kni_tensor *x = c->slots[i];
        if (x && (will_be_taken(c, x) || c->replaced >> i & 1) &&
            atomic_load_explicit(&x->references, memory_order_relaxed) == 1)
            r->last_use |= UINT64_C(1) << i;
    }
}

/* Ends the copies of params that resolving made. */
static void end_copies(call *c)
{
    const uint32_t *ids = c->record->ids + c->n_out;
    for (int i = 0; i < c->n_in; i++) {
        bool copy = c->slots[i] && ids[i] != kni_slot_of(c->in[i]);
        for (int k = 0; k < i; k++) copy = copy && ids[k] != ids[i];
        if (copy) kni_tensor_end_handle(c->thread, ids[i]);
    }
}

static void take_temporaries(call *c)
{
    const char *name = c->thread->context.call_name ? c->thread->context.call_name : c->row->name;
    for (int i = 0; i < c->n_in; i++) {
        /* An operand given twice is no temporary any more when it comes the second time. */
        const kni_tensor *x = c->resolved ? c->slots[i] : kni_peek(c->in[i]);
        if (x && will_be_taken(c, x)) kni_tensor_take(c->thread, kni_slot_of(c->in[i]), name);
    }
}

/* Poison flows through: the first poisoned input is the result. */
static bool pass_poison(call *c, kn_tensor *out)
{
    for (int i = 0; i < c->n_in; i++) {
        if (KNI_LIKELY(!kni_is_poisoned(c->in[i]))) continue;
        for (int k = 0; k < c->n_out; k++) out[k] = c->in[i];
        return true;
    }
    return false;
}

static kn_status run(call *c, const void *attributes)
{
    const kn_op *row = c->row;
    int most = row->max_in >= 0 ? row->max_in : MAX_LIST;
    if (KNI_UNLIKELY(c->n_in < row->min_in || c->n_in > most))
        return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "%d operands given; it takes %d to %d", c->n_in,
                           (int)row->min_in, most);
    kn_status s = resolve_inputs(c);
    if (KNI_UNLIKELY(c->stored) && s == KN_OK) return KN_ERROR_DTYPE;
    if (s == KN_OK) s = choose_device(c);
    if (s == KN_OK) s = make_outputs(c);
    if (s) return s;
    fill_record(c, attributes);
    /* A program keeps its operands as constants: none may be written over before it has seen them. */
    if (KNI_UNLIKELY(c->thread->context.capture != NULL)) c->record->last_use = 0;
    s = infer_outputs(c);
    if (KNI_UNLIKELY(kni_converts(row)) && s == KN_OK && kni_dtype_stored(c->out_types[0]->dtype)) {
        release_outputs(c, c->n_out);
        c->stored = true;
        return KN_ERROR_DTYPE;
    }
    if (s == KN_OK) {
        const kn_record *r = c->record;
#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT) /* small programs have one order */
        if (KNI_UNLIKELY(c->device->n_wants)) kni_order_results(r, c->device);
#endif
        /* The operands have been cast: nothing that runs for this record, nor a queue that runs now, casts again. */
        uint8_t autocast = c->thread->context.autocast;
        if (KNI_UNLIKELY(autocast)) c->thread->context.autocast = KN_DTYPE_NONE;
        s = c->device->backend->execute(c->device->backend, &r, 1);
        if (KNI_UNLIKELY(autocast)) c->thread->context.autocast = autocast;
    }
    if (KNI_UNLIKELY(s)) {
        kni_error_named(row->name);
        release_outputs(c, c->n_out);
    } else if (KNI_UNLIKELY(c->thread->context.capture != NULL) && !c->thread->context.depth_of_lowering) {
        c->thread->context.capture->note(c->thread->context.capture, c->record, c->in);
    }
    return s;
}

KNI_OPTIONAL void kni_apply_stored(const kn_op *row, const kn_tensor *in, int n_in, const void *attributes,
                                   kn_tensor *out, int n_out);

/* The ops that stand for this one see its operands first: they must not take them. */
static KNI_COLD void apply_stored(call *c, const void *attributes, kn_tensor *out)
{
    uint64_t taken = 0;
    for (int i = 0; i < c->n_in && i < 64; i++) {
        kni_tensor *x = c->in[i].bits ? kni_peek(c->in[i]) : NULL;
        if (!x || !will_be_taken(c, x)) continue;
        taken |= UINT64_C(1) << i;
        x->state = KNI_KEPT;
    }
    kni_apply_stored(c->row, c->in, c->n_in, attributes, out, c->n_out);
    for (int i = 0; i < c->n_in && i < 64; i++)
        if (taken >> i & 1) kni_peek(c->in[i])->state = KNI_TEMPORARY;
    c->resolved = false;
    take_temporaries(c);
}

static void apply(call *c, const void *attributes, kn_tensor *out)
{
    kni_thread *t = c->thread;
    if (KNI_UNLIKELY(t->pending_error != 0) && !t->context.call_name) kni_error_flush(t);
    t->serial++;
    if (KNI_UNLIKELY(pass_poison(c, out))) {
        take_temporaries(c);
        return;
    }
    kni_op_now outer = kni_this_op;
    if (KNI_LIKELY(!t->context.depth_of_lowering))
        kni_this_op = t->serial << 1 | (t->context.call_name != NULL);
    t->depth_of_calls++;
    kn_status s = run(c, attributes);
    t->depth_of_calls--;
    kni_this_op = outer;
    if (c->copied) end_copies(c);
    if (KNI_UNLIKELY(c->stored && s == KN_ERROR_DTYPE && !c->poison.bits)) {
        apply_stored(c, attributes, out);
        return;
    }
    for (int i = 0; i < c->n_out; i++)
        out[i] = KNI_LIKELY(s == KN_OK) ? kni_handle(c->record->ids[i])
                 : c->poison.bits       ? c->poison
                                        : kni_poison_latest();
    take_temporaries(c);
}

static size_t record_size(const kn_op *row, int n_in, int n_out)
{
    size_t head = (offsetof(kn_record, ids) + (size_t)(n_in + n_out) * sizeof(uint32_t) + 7) & ~(size_t)7;
    return head + ((row->attribute_bytes + 7u) & ~7u);
}

/* Calls with many operands or long attributes work in a heap block. */
static KNI_COLD void apply_large(call *c, const void *attributes, kn_tensor *out)
{
    size_t pointers = (size_t)(2 * c->n_in + c->n_out) * sizeof(void *);
    c->heap_bytes = pointers + c->record_bytes;
    c->heap = kni_allocate(c->heap_bytes);
    if (!c->heap) {
        kni_fail_op(KN_ERROR_MEMORY, c->row->name, "no memory for the operands");
        for (int i = 0; i < c->n_out; i++) out[i] = kni_poison_latest();
        take_temporaries(c);
        return;
    }
    c->slots = c->heap;
    c->types = (const kni_type **)(c->slots + c->n_in);
    c->out_types = (kni_type **)(c->types + c->n_in);
    c->record = (kn_record *)(c->out_types + c->n_out);
    apply(c, attributes, out);
    kni_free(c->heap, c->heap_bytes);
}

void kni_apply_update(const kn_op *row, const kn_tensor *in, int n_in, const void *attributes, kn_tensor *out,
                      int n_out, uint64_t replaced)
{
    union {
        kn_record record;
        char bytes[FRAME_BYTES];
    } frame;
    kni_tensor *slots[FEW];
    const kni_type *types[FEW];
    kni_type *out_types[FEW];
    kn_tensor cast[FEW], all[FEW];
    /* Kernels and gradients find every optional operand in its place, absent or not. */
    if (KNI_UNLIKELY(n_in < row->max_in) && n_in >= row->min_in && row->max_in <= FEW) {
        for (int i = 0; i < row->max_in; i++) all[i] = i < n_in ? in[i] : KN_NONE;
        in = all;
        n_in = row->max_in;
    }
    const kni_float_env env = kni_float_enter();
    if (KNI_UNLIKELY(kni_this_thread.context.autocast) && n_in <= FEW &&
        atomic_load_explicit(&kni_autocast_operands, memory_order_relaxed)(row, in, n_in, cast))
        in = cast;
    call c = {.thread = kni_thread_self(),
              .row = row,
              .in = in,
              .n_in = n_in,
              .n_out = n_out,
              .slots = slots,
              .types = types,
              .out_types = out_types,
              .record = &frame.record,
              .replaced = replaced};
    c.record_bytes = record_size(row, n_in, n_out);
    if (KNI_UNLIKELY(n_in > FEW || n_out > FEW || c.record_bytes > FRAME_BYTES))
        apply_large(&c, attributes, out);
    else
        apply(&c, attributes, out);
    kni_float_leave(env);
}

void kni_apply_many(const kn_op *row, const kn_tensor *in, int n_in, const void *attributes, kn_tensor *out,
                    int n_out)
{
    kni_apply_update(row, in, n_in, attributes, out, n_out, 0);
}

kn_tensor kni_apply(const kn_op *row, const kn_tensor *in, int n_in, const void *attributes)
{
    kn_tensor out;
    kni_apply_many(row, in, n_in, attributes, &out, 1);
    return out;
}

kn_tensor kni_unary_params(const kn_op *row, kn_tensor x, double p0, double p1, double p2)
{
    kni_scalar_params params = {{p0, p1, p2, 0}};
    return kni_apply(row, &x, 1, &params);
}
