/* Running a queue: find or make its plan, run the steps, keep or break the promises. */
#include "core/call_site.h"
#include "core/float_env.h"
#include "wrap/fusion.h"
#include <kn/tensor.h>
#include <string.h>

/* What a thread was in the middle of when it came to run the queue. */
typedef struct interrupted {
    kni_context context;
    uint64_t serial;
    uint64_t pending_number;
    uint32_t pending_error; /* waits for the line of the interrupted call */
    kni_float_env env;
} interrupted;

/* Records run as they were called, whoever runs the queue: nothing is cast, captured or drawn again. */
static interrupted leave(kni_thread *t)
{
    interrupted i = {.context = kni_context_push(t),
                     .serial = t->serial,
                     .pending_number = t->history ? t->history->pending_number : 0,
                     .pending_error = t->pending_error,
                     .env = kni_float_enter()};
    t->context = (kni_context){.current = i.context.current, .depth = i.context.depth + 1};
    t->pending_error = 0;
    return i;
}

static void resume(kni_thread *t, const interrupted *i)
{
    kni_context_pop(t, &i->context);
    kni_serial_back(t, i->serial);
    if (i->pending_error) {
        kni_error_flush(t);
        t->pending_error = i->pending_error;
        if (t->history) t->history->pending_number = i->pending_number;
    }
    kni_float_leave(i->env);
}

/* ---- after a step */

/* A result that did not come as it was promised, from its first byte on, is copied by the device itself. */
static kn_status straighten(kni_fusion *f, kni_tensor *y, uint32_t id)
{
    if (y->offset == 0 && kni_lies_in_order(y->order, y->type.rank, y->type.dims, y->strides)) return KN_OK;
    kn_device device = f->inner->device;
    kni_thread *t = kni_thread_self();
    kn_scope scope = kn_scope_begin();
    kni_context before = kni_context_push(t);
    t->context.route = device;
    t->context.order = (uint8_t)(1 + y->order);
    kn_tensor in = kni_alias_kept(t, kni_slot(id), device);
    kn_tensor copy = kn_cast(in, (kn_dtype)y->type.dtype);
    kni_context_pop(t, &before);
    const kni_tensor *x = kni_peek(copy);
    kn_status s = x ? KN_OK : kni_latest_code();
    if (x) {
        kni_storage *crooked = y->storage;
        y->storage = kni_storage_retain(x->storage);
        y->offset = x->offset;
        memcpy(y->strides, x->strides, sizeof y->strides);
        kni_storage_release(crooked);
    }
    kn_scope_end(scope, KN_NONE);
    return s;
}

static void let_die(kni_queue *q, const kni_step *s)
{
    for (int32_t i = 0; i < s->n_dies; i++) {
        kni_value *v = &q->values[s->dies[i]];
        /* What is promised still is made by this very step. */
        if (!v->storage || kni_storage_flags(v->storage) & KNI_STORAGE_PENDING) continue;
        kni_storage_release(v->storage);
        v->storage = NULL;
    }
}

/* The results get what the device made; values that die go first, so that memory that was reused has one owner. */
static kn_status keep_promises(kni_fusion *f, const kni_step *s)
{
    kni_queue *q = &f->queue;
    kn_status status = KN_OK;
    for (int32_t i = 0; i < s->n_makes && status == KN_OK; i++) {
        int32_t k = q->values[s->makes[i]].whole;
        kni_tensor *y = kni_queue_slot(q, k);
        if (y->storage) status = straighten(f, y, q->slots[k]);
    }
    if (status) return status;
    let_die(q, s);
    for (int32_t i = 0; i < s->n_makes; i++) {
        kni_value *v = &q->values[s->makes[i]];
        kni_tensor *y = kni_queue_slot(q, v->whole);
        kni_storage_fulfil(v->storage, y->storage);
        y->storage = v->storage;
    }
    return KN_OK;
}

/* Takes memory away that a failed step may have given to results. */
static void strip_results(const kn_record *r)
{
    for (int i = 0; i < r->n_out; i++) {
        kni_tensor *y = kni_out(r, i);
        if (y->storage) kni_storage_release(y->storage);
        y->storage = NULL;
    }
}

static void break_promises(kni_queue *q, const kni_entry *e, kn_tensor error)
{
    for (int i = 0; i < e->record->n_out; i++) {
        kni_value *v = &q->values[q->operands[e->operands[i]].value];
        kni_storage_break(v->storage, error);
        kni_queue_slot(q, v->whole)->storage = v->storage;
    }
}

/* ---- one record */

/* The error of an operand that could not be computed. */
static bool carries_error(const kn_record *r, kn_tensor *error)
{
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *x = kni_in(r, i);
        if (x && x->storage && kni_storage_flags(x->storage) & KNI_STORAGE_FAILED) {
            *error = x->storage->error;
            return true;
        }
    }
    return false;
}

/* The latest failure belongs to the call that made the record, with its line. A call that has not returned, since the queue
   runs inside it, has no line yet: the failure waits for it. Where neither is so it has none: the next line that comes is
   somebody else's. */
static kn_tensor late_error(const kni_fusion *f, const kni_entry *e)
{
    kni_thread *t = kni_thread_self();
    bool own = e->thread == t->id;
    kni_error_named(e->name);
    bool open = false;
    const char *site = own ? kni_call_site(e->serial, e->composite, &open) : NULL;
    bool waits = own && (e->composite ? open && f->in_composite : e->serial == kni_op_serial(kni_this_op));
    kn_tensor error = kni_poison_latest();
    if (t->pending_error && site)
        kni_error_site(t, site);
    else if (
        !waits) /* a failure of another thread never waits: the line of whoever runs the queue is not its own */
        kni_error_lineless(t);
    return error;
}

static void note_failed(kni_fusion *f, kn_status status, kn_tensor failure)
{
    if (f->failed) return;
    f->failed = status;
    f->failure = failure;
    f->failed_in = kni_thread_self()->id;
}

/* What fails inside has the name of the function that the user called. */
static kn_status run_record(kni_fusion *f, const kni_entry *e)
{
    kni_thread *t = kni_thread_self();
    const kn_record *r = e->record;
    kni_context before = kni_context_push(t);
    t->context.call_name = e->name;
    kn_status s = f->inner->execute(f->inner, &r, 1);
    if (s == KN_ERROR_MEMORY) {
        kni_error_forget(t);
        strip_results(r);
        kn_memory_trim();
        s = f->inner->execute(f->inner, &r, 1);
    }
    kni_context_pop(t, &before);
    return s;
}

/* The step that a single record of a larger one would be. */
static kni_step part_of(kni_queue *q, const kni_entry *e, int32_t *makes)
{
    kni_step part = {.makes = makes};
    for (int i = 0; i < e->record->n_out; i++) makes[part.n_makes++] = q->operands[e->operands[i]].value;
    return part;
}

/* Whether an earlier step that has the record too ran it by itself; its results are bound again. */
static bool was_run(kni_queue *q, const kni_entry *e)
{
    const kn_record *r = e->record;
    for (int i = 0; i < r->n_out; i++) {
        const kni_value *v = &q->values[q->operands[e->operands[i]].value];
        if (!v->storage || kni_storage_flags(v->storage) & KNI_STORAGE_PENDING) return false;
    }
    for (int i = 0; i < r->n_out; i++)
        kni_out(r, i)->storage = q->values[q->operands[e->operands[i]].value].storage;
    return r->n_out > 0;
}

/* ---- watchers */

static const char *site_of(const kni_entry *e)
{
    bool open;
    return e->thread == kni_thread_self()->id ? kni_call_site(e->serial, e->composite, &open) : NULL;
}

static const char *site_of_step(const kni_queue *q, const kni_step *s)
{
    for (int32_t i = 0; i < s->group.n_records; i++)
        if (s->entries[i] >= 0) return site_of(&q->entries[s->entries[i]]);
    return NULL;
}

/* Tells of what began at `begin`, once the device has done it. */
static void tell(kni_fusion *f, kn_watch_event *event, const char *site)
{
    kn_status s = f->inner->sync ? f->inner->sync(f->inner) : KN_OK;
    event->size = sizeof *event;
    event->site = site;
    event->nanoseconds = kni_nanoseconds() - event->begin;
    if (s) note_failed(f, s, kni_poison_latest());
    for (int i = 0; i < f->n_watchers; i++) f->watchers[i]->ran(f->watchers[i]->self, event);
}

/* When a step begins that is measured by itself; 0: nobody watches. */
static uint64_t watch_begin(const kni_fusion *f)
{
    return KNI_UNLIKELY(f->n_watchers) && !f->inner->plan_begin ? kni_nanoseconds() : 0;
}

/* ---- single records */

enum { MOST_RESULTS = 64 };

static void run_single(kni_fusion *f, const kni_step *s, const kni_entry *e, bool last)
{
    kni_queue *q = &f->queue;
    int32_t makes[MOST_RESULTS];
    kn_tensor error;
    kn_status status;
    kni_step part = part_of(q, e, makes);
    bool done = s->repeats && was_run(q, e);
    for (int i = 0; !done && i < e->record->n_out; i++) kni_out(e->record, i)->storage = NULL;
    if (done) {
        /* An earlier step that was refused has run it. */
    } else if (KNI_UNLIKELY(f->failed) && carries_error(e->record, &error)) {
        break_promises(q, e, error);
    } else {
        uint64_t begin = watch_begin(f);
        status = run_record(f, e);
        if (KNI_UNLIKELY(begin)) tell(f, &(kn_watch_event){.record = e->record, .begin = begin}, site_of(e));
        if (last) part.dies = s->dies, part.n_dies = s->n_dies;
        if (KNI_LIKELY(status == KN_OK)) status = keep_promises(f, &part);
        if (KNI_UNLIKELY(status)) {
            error = late_error(f, e);
            strip_results(e->record);
            break_promises(q, e, error);
            note_failed(f, status, error);
        }
        f->stats.singles_run++;
    }
    if (last) let_die(q, s);
}

/* ---- steps */

static bool run_group(kni_fusion *f, kni_step *s)
{
    kni_queue *q = &f->queue;
    kn_tensor error;
    for (int32_t i = 0; KNI_UNLIKELY(f->failed) && i < s->group.n_records; i++)
        if (carries_error(s->records[i], &error)) return false;
    for (int32_t i = 0; i < s->n_makes; i++) kni_queue_slot(q, q->values[s->makes[i]].whole)->storage = NULL;
    for (int32_t i = 0; i < s->n_hides; i++) kni_queue_slot(q, q->values[s->hides[i]].whole)->storage = NULL;
    uint32_t before = kni_this_thread.last_error;
    uint64_t begin = watch_begin(f);
    kn_status status = f->inner->run_group(f->inner, &s->group);
    if (KNI_LIKELY(status == KN_OK)) status = keep_promises(f, s);
    if (KNI_LIKELY(status == KN_OK)) {
        f->stats.groups_run++;
        if (KNI_UNLIKELY(begin))
            tell(f, &(kn_watch_event){.group = &s->group, .begin = begin}, site_of_step(q, s));
        return true;
    }
    for (int32_t i = 0; i < s->group.n_records; i++)
        if (s->entries[i] >= 0) strip_results(s->records[i]);
    if (status == KN_ERROR_UNSUPPORTED && kni_this_thread.last_error == before) {
        s->refused = true;
        f->stats.refused++;
    }
    /* Its records run one by one now, and what fails still is told with its own op. */
    if (kni_this_thread.last_error != before) kni_error_forget(&kni_this_thread);
    return false;
}

/* The step's records are those of this queue. */
static void bind_step(const kni_queue *q, kni_step *s)
{
    for (int32_t i = 0; i < s->group.n_records; i++) {
        if (s->entries[i] < 0) continue;
        kn_record *r = q->entries[s->entries[i]].record;
        r->last_use = s->last_use[i];
        s->records[i] = r;
    }
}

static void run_step(kni_fusion *f, kni_step *s)
{
    kni_queue *q = &f->queue;
    int32_t n = s->group.n_records;
    bind_step(q, s);
    if (s->group.kind != KNI_GROUP_SINGLE && !s->refused && run_group(f, s)) return;
    for (int32_t i = 0; i < n; i++)
        if (s->entries[i] >= 0) run_single(f, s, &q->entries[s->entries[i]], i == n - 1);
}

static bool is_result(const kni_queue *q, const kni_plan *p, int32_t v)
{
    return q->values[v].maker >= 0 && kni_bit(p->alive, v);
}

/* What a leaf that takes plans could not end well is no result. */
static void break_results(kni_queue *q, const kni_plan *p)
{
    kn_tensor error = kni_poison_latest();
    for (int32_t v = 0; v < q->n_values; v++)
        if (is_result(q, p, v) && q->values[v].storage) kni_storage_break(q->values[v].storage, error);
}

/* Whether the leaf ran all of the plan at once. It gave the results memory then, and nothing was made in between. */
static bool replay(kni_fusion *f, kni_plan *p)
{
    kni_queue *q = &f->queue;
    for (int32_t i = 0; i < p->n_steps; i++) bind_step(q, &p->steps[i]);
    bool done = f->inner->plan_replay(f->inner, &p->run) == KN_OK;
    /* What dies goes first, so that memory that was written over has one owner. */
    for (int32_t i = 0; i < p->n_steps && done; i++) let_die(q, &p->steps[i]);
    for (int32_t v = 0; v < q->n_values; v++) {
        if (!is_result(q, p, v)) continue;
        kni_value *value = &q->values[v];
        kni_tensor *y = kni_queue_slot(q, value->whole);
        if (done) kni_storage_fulfil(value->storage, y->storage);
        y->storage = value->storage;
    }
    if (done) f->stats.plans_replayed++;
    return done;
}

static void run_steps(kni_fusion *f, kni_plan *p)
{
    bool tells = f->inner->plan_begin != NULL;
    /* A leaf may look at what comes before it runs for the first time. */
    for (int32_t i = 0; tells && p->run.runs == 0 && i < p->n_steps; i++) bind_step(&f->queue, &p->steps[i]);
    if (tells && p->run.runs == 2) kni_plan_depends(p, &f->queue);
    if (tells) tells = f->inner->plan_begin(f->inner, &p->run) == KN_OK;
    for (int32_t i = 0; i < p->n_steps; i++) {
        p->run.step = i;
        run_step(f, &p->steps[i]);
        p->refused |= p->steps[i].refused && p->steps[i].group.kind != KNI_GROUP_POINTWISE;
    }
    if (tells && f->inner->plan_end(f->inner, &p->run) != KN_OK) {
        kn_status s = kni_latest_code();
        break_results(&f->queue, p);
        note_failed(f, s ? s : KN_ERROR_DEVICE, kni_poison_latest());
    }
}

static void run_plan(kni_fusion *f, kni_plan *p)
{
    /* What a plan keeps of its runs is made in the third at the earliest. */
    uint64_t begin = f->n_watchers ? kni_nanoseconds() : 0;
    bool replays = p->run.runs >= 3 && p->cache && f->inner->plan_replay;
    if (!replays || !replay(f, p)) run_steps(f, p);
    /* Waiting in the middle would end a recording: a leaf that takes plans is measured as a whole. */
    if (KNI_UNLIKELY(f->n_watchers) && f->inner->plan_begin)
        tell(f, &(kn_watch_event){.plan = &p->run, .begin = begin},
             p->n_steps ? site_of_step(&f->queue, &p->steps[0]) : NULL);
    p->run.runs++;
}

/* Without memory for a plan records run one by one, in order. */
static void run_unplanned(kni_fusion *f)
{
    kni_step none = {.n_dies = 0};
    for (int32_t i = 0; i < f->queue.n_entries; i++) {
        f->queue.entries[i].record->last_use = 0;
        run_single(f, &none, &f->queue.entries[i], false);
    }
}

static kni_plan *find_plan(kni_fusion *f)
{
    kni_queue *q = &f->queue;
    kn_limits limits = f->limits;
    kni_plan *p = kni_plan_find(&f->plans, q);
    bool narrow = p && p->refused && !p->narrowed;
    if (p && !narrow) {
        f->stats.plan_hits++;
        return p;
    }
    if (narrow) {
        kni_plan_forget(&f->plans, p);
        limits.kinds &= 1u << KNI_GROUP_POINTWISE;
        limits.takes &= ~(uint32_t)KNI_TAKES_REPEATS;
    }
    p = kni_plan_make(q, &limits);
    if (!p) return NULL;
    p->narrowed = narrow;
    f->stats.plans_made++;
    f->stats.recomputed += p->n_again;
    kni_plan_keep(&f->plans, p);
    return p;
}

void kni_fusion_submit(kni_fusion *f)
{
    kni_queue *q = &f->queue;
    if (q->n_entries == 0) {
        if (q->n_operands) kni_queue_clear(q);
        return;
    }
    kni_thread *t = kni_thread_self();
    atomic_store_explicit(&f->runner, t->id, memory_order_relaxed);
    interrupted i = leave(t);
    f->in_composite = i.context.call_name != NULL;
    f->stats.submissions++;
    f->stats.records += q->n_entries;
    t->runs_for = q->entries[0].thread;
    for (int32_t e = 1; e < q->n_entries; e++)
        if (q->entries[e].thread != t->runs_for) t->runs_for = UINT32_MAX;
    kni_plan *p = kni_plan_liveness(q) ? find_plan(f) : NULL;
    if (p)
        run_plan(f, p);
    else
        run_unplanned(f);
    kni_queue_clear(q);
    t->runs_for = 0;
    resume(t, &i);
    atomic_store_explicit(&f->runner, 0, memory_order_relaxed);
}
