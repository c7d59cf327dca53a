/* fusion(inner): records wait in a queue until somebody needs a value, and run as groups then. */
#include "wrap/fusion.h"
#include "core/objects.h"
#include "wrap/decorator.h"
#include "wrap/wrap.h"
#include <kn/device.h>
#include <string.h>

/* Where a queue ends of itself: by what is in it, never by time or by what memory is free, so that each step ends it at the same
   record. Bytes are of promises; a leaf with more memory than this allows as many as it has. */
enum { MOST_RECORDS = 4096 };
#define MOST_BYTES (INT64_C(1) << 33)

static kni_fusion *of(kn_backend *b) { return b->self; }

static bool running_here(kni_fusion *f)
{
    return atomic_load_explicit(&f->runner, memory_order_relaxed) == kni_thread_self()->id;
}

/* What the queue of another device owes is asked for before this queue is locked. */
static kn_status settle_operands(kni_fusion *f, const kn_record *r, bool inside)
{
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *x = kni_in(r, i);
        kni_storage *s = x ? x->storage : NULL;
        uint32_t flags = s ? kni_storage_flags(s) : 0;
        if (KNI_LIKELY(!(flags & (KNI_STORAGE_PENDING | KNI_STORAGE_FAILED)))) continue;
        if ((flags & KNI_STORAGE_PENDING) && s->debtor != &f->queue.debtor) {
            kni_storage_wait(s);
            flags = kni_storage_flags(s);
        }
        if (flags & KNI_STORAGE_FAILED) return kni_fail_again(s->error, r->row->name);
        if (inside && flags & KNI_STORAGE_PENDING)
            return kni_fail_op(
                KN_ERROR_UNSUPPORTED, r->row->name,
                "used inside a function that the queue of %s is running, on a tensor that waits in "
                "the same queue: read or submit it before",
                f->queue.device->name);
    }
    return KN_OK;
}

/* ---- views: made at once, on promises too */

/* A queued copy of x, whose elements lie in order; a kept slot. */
static kn_status queue_copy(kni_fusion *f, const kn_record *r, uint32_t *copy)
{
    const kni_tensor *x = kni_in(r, 0);
    kni_thread *t = kni_thread_self();
    union {
        kn_record record;
        char bytes[sizeof(kn_record) + 64];
    } frame;
    const kn_op *row = &kni_op_cast;
    *copy = kni_tensor_new(t);
    if (*copy == KNI_NO_SLOT)
        return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for another tensor");
    kni_tensor *y = kni_slot(*copy);
    kni_type_copy(&y->type, &x->type);
    y->device = kni_out(r, 0)->device;
    y->made_by = row->number;
    kn_record *c = &frame.record;
    size_t head = (offsetof(kn_record, ids) + 2 * sizeof(uint32_t) + 7) & ~(size_t)7;
    memset(&frame, 0, sizeof frame);
    *c = (kn_record){.bytes = (uint32_t)(head + row->attribute_bytes),
                     .op = row->number,
                     .n_out = 1,
                     .n_in = 1,
                     .attribute_bytes = row->attribute_bytes,
                     .sequence = r->sequence,
                     .row = row,
                     .attributes = frame.bytes + head};
    int64_t dtype = x->type.dtype;
    memcpy(frame.bytes + head + row->schema[0].offset, &dtype, sizeof dtype);
    uint32_t ids[2] = {*copy, r->ids[1]};
    memcpy(frame.bytes + offsetof(kn_record, ids), ids, sizeof ids);
    kn_status s = kni_queue_add(&f->queue, c);
    if (s) kni_tensor_end_handle(t, *copy);
    return s;
}

static kn_status view_now(kni_fusion *f, const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    kni_view v = {r->attributes, &x->type, &y->type, x->strides, x->offset, y->strides, 0};
    if (x->storage && r->row->view(&v)) {
        y->storage = kni_storage_retain(x->storage);
        y->offset = v.offset;
        return KN_OK;
    }
    uint32_t copy;
    kn_status s = queue_copy(f, r, &copy);
    if (s) return s;
    kni_tensor *c = kni_slot(copy);
    v.in_strides = c->strides;
    v.in_offset = 0;
    if (r->row->view(&v)) {
        y->storage = kni_storage_retain(c->storage);
        y->offset = v.offset;
    } else {
        s = kni_fail_op(KN_ERROR_INTERNAL, r->row->name, "no view of contiguous memory");
    }
    kni_tensor_end_handle(kni_thread_self(), copy);
    return s;
}

/* ---- the backend */

static bool is_full(const kni_fusion *f)
{
    const kni_queue *q = &f->queue;
    return q->n_entries >= MOST_RECORDS ||
           q->promised_bytes >= (f->limits.waiting_bytes > MOST_BYTES ? f->limits.waiting_bytes : MOST_BYTES);
}

/* A full queue runs when the next record comes, not within the call that filled it: a param has its new value by then, and the old
   one can be written over. */
static void make_room(kni_fusion *f)
{
    kni_lock(&f->lock);
    if (is_full(f)) kni_fusion_submit(f);
    kni_unlock(&f->lock);
}

/* Whether the leaf would only lower the record, whose ops the queue can group. */
static bool lowers_early(const kn_backend *b, const kn_record *r)
{
    kn_backend *leaf = b->inner[0];
    const char *why = NULL;
    while (leaf->inner[0]) leaf = leaf->inner[0];
    return leaf->supports &&
           leaf->supports(leaf, r->row, (kn_dtype)kni_in(r, 0)->type.dtype, &why) == KN_SUPPORT_LOWERED;
}

/* On the stack of the call, whose tape has noted the record itself. */
static kn_status lower_early(const kn_record *r)
{
    kni_context *context = &kni_thread_self()->context;
    context->no_grad++;
    kn_status s = kni_lower_record(r, kni_out(r, 0)->device);
    context->no_grad--;
    return s;
}

static kn_status execute_one(kn_backend *b, const kn_record *r)
{
    kni_fusion *f = of(b);
    if (r->flags & KN_RECORD_DROP) return f->passes ? kni_forward(b, r) : KN_OK;
    bool inside = running_here(f);
    if (KNI_UNLIKELY(r->row->flags & KNI_FLAG_LOWERS_EARLY) && !inside && !f->passes && lowers_early(b, r))
        return lower_early(r);
    if (!inside && !f->passes) make_room(f);
    kn_status s = settle_operands(f, r, inside);
    if (s) return s;
    /* A function of the user's that the queue runs may use the device itself: that is done at once. */
    if (f->passes || KNI_UNLIKELY(inside)) return kni_forward(b, r);
    kni_lock(&f->lock);
    s = r->row->view ? view_now(f, r) : kni_queue_add(&f->queue, r);
    if (s == KN_OK && f->queue.at_once) kni_fusion_submit(f);
    kni_unlock(&f->lock);
    return s;
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    return kni_each_record(b, records, n, execute_one);
}

/* The first error of what ran, told once. */
static kn_status submit_all(kni_fusion *f)
{
    if (running_here(f)) return KN_OK;
    kni_lock(&f->lock);
    kni_fusion_submit(f);
    kn_status s = f->failed;
    bool foreign = s && f->failed_in != kni_thread_self()->id;
    kn_tensor failure = f->failure;
    f->failed = KN_OK;
    kni_unlock(&f->lock);
    if (!foreign) return s;
    char text[KNI_ERROR_LINE];
    kni_error_text(failure, text, sizeof text);
    return kni_fail(s, "kn_sync: what another thread ran has failed: %s", text);
}

void kni_fusion_begin(kn_device device)
{
    if (!device->queue || device->queue->execute != execute) return;
    kni_fusion *f = of(device->queue);
    if (!f->limits.early_records || running_here(f)) return;
    kni_lock(&f->lock);
    if (f->queue.n_entries >= f->limits.early_records) kni_fusion_submit(f);
    kni_unlock(&f->lock);
}

static void submit_debt(kni_debtor *debtor)
{
    kni_fusion *f = (kni_fusion *)debtor;
    if (running_here(f)) return;
    kni_lock(&f->lock);
    kni_fusion_submit(f);
    kni_unlock(&f->lock);
}

static kn_status read_value(kn_backend *b, uint32_t id, void *buffer)
{
    const kni_tensor *x = kni_slot(id);
    kni_storage_wait(x->storage);
    if (x->storage && kni_storage_flags(x->storage) & KNI_STORAGE_FAILED)
        return kni_fail_carried(x->storage->error, "read", "the tensor");
    return b->inner[0]->read(b->inner[0], id, buffer);
}

static kn_status sync_all(kn_backend *b)
{
    kn_status s = submit_all(of(b));
    kn_backend *inner = b->inner[0];
    kn_status other = inner->sync ? inner->sync(inner) : KN_OK;
    return s ? s : other;
}

/* A failed record poisons its results; the next sync returns its status. */
static kn_status submit(kn_backend *b)
{
    submit_debt(&of(b)->queue.debtor);
    return KN_OK;
}

/* What is read later must be there; who opens the stack next finds no queue. */
static void reset(kn_backend *b)
{
    kni_fusion *f = of(b);
    submit_debt(&f->queue.debtor);
    kni_lock(&f->lock);
    f->stats = (kn_fusion_stats){0};
    kni_unlock(&f->lock);
}

static kn_status watch(kn_backend *b, const kn_watcher *watcher, bool on)
{
    kni_fusion *f = of(b);
    int found = 0;
    kni_lock(&f->lock);
    while (found < f->n_watchers && f->watchers[found] != watcher) found++;
    bool full = on && found == KNI_COUNT(f->watchers);
    if (on && !full) {
        f->watchers[found] = watcher;
        if (found == f->n_watchers) f->n_watchers++;
    } else if (!on && found < f->n_watchers) {
        f->watchers[found] = f->watchers[--f->n_watchers];
    }
    kni_unlock(&f->lock);
    return full ? kni_fail(KN_ERROR_DEVICE, "fusion: it is watched by %d already", f->n_watchers) : KN_OK;
}

static void (*close_decorator)(kn_backend *b);

/* What still waits when the last device is closed will never be read. */
static void close_fusion(kn_backend *b)
{
    kni_fusion *f = of(b);
    for (int32_t v = 0; v < f->queue.n_values; v++) {
        kni_storage *s = f->queue.values[v].storage;
        if (s && kni_storage_flags(s) & KNI_STORAGE_PENDING) kni_storage_break(s, KN_NONE);
    }
    kni_queue_clear(&f->queue);
    kni_plan_cache_free(&f->plans);
    kni_queue_free(&f->queue);
    close_decorator(b);
}

/* What the inner backend takes as groups: nothing, unless it can run them. */
static void ask_limits(kni_fusion *f)
{
    kn_backend *inner = f->inner;
    f->limits = (kn_limits){.size = sizeof f->limits};
    if (!inner->run_group || !inner->limits || inner->limits(inner, &f->limits) != KN_OK)
        f->limits = (kn_limits){.size = sizeof f->limits};
}

kn_backend *kni_fusion_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument;
    const kn_backend *leaf = inner[0];
    while (leaf->inner[0]) leaf = leaf->inner[0];
    kn_backend *b = kni_decorator_new("fusion", KN_TRAIT_QUEUES, inner, n_inner, execute, sizeof(kni_fusion));
    if (!b) return NULL;
    close_decorator = b->close;
    kni_fusion *f = b->self;
    f->queue.debtor.submit = submit_debt;
    f->queue.round = 1;
    f->queue.device = inner[0]->device;
    f->queue.leaf = inner[0];
    f->lock = (kni_mutex)KNI_MUTEX_INIT;
    f->inner = inner[0];
    f->passes = leaf->wants_drops;
    b->wants_drops = f->passes;
    b->read = read_value;
    b->sync = sync_all;
    b->submit = submit;
    b->watch = watch;
    b->reset = reset;
    b->close = close_fusion;
    ask_limits(f);
    const char *recompute = kni_environment("KN_FUSION_RECOMPUTE");
    if (recompute && !strcmp(recompute, "on")) f->limits.takes |= KNI_TAKES_REPEATS;
    if (recompute && !strcmp(recompute, "off")) f->limits.takes &= ~(uint32_t)KNI_TAKES_REPEATS;
    const char *early = kni_environment("KN_FUSION_EARLY");
    if (early && !strcmp(early, "off")) f->limits.early_records = 0;
    return b;
}

kn_status kn_fusion_stats_of(kn_device device, kn_fusion_stats *stats)
{
    if (!stats) return kni_fail(KN_ERROR_ARGUMENT, "kn_fusion_stats_of: the place for the figures is NULL");
    memset(stats, 0, sizeof *stats);
    device = kni_device_given(device, "kn_fusion_stats_of");
    if (!device) return kni_latest_code();
    if (!device->queue || device->queue->execute != execute)
        return kni_fail(KN_ERROR_DEVICE, "kn_fusion_stats_of: the device %s has no fusion in its stack",
                        device->name);
    kni_fusion *f = of(device->queue);
    kni_lock(&f->lock);
    f->stats.plans_kept = f->plans.n;
    *stats = f->stats;
    kni_unlock(&f->lock);
    return KN_OK;
}
