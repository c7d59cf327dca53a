/* The backend around a driver: opening, the order in which a record is tried, sync, requests, closing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* recursive locks */
#endif
#include "backend/gpu/attention_device.h"
#include "backend/gpu/gpu_ahead.h"
#include "backend/gpu/gpu_conv.h"
#include "backend/gpu/gpu_recording.h"
#include "backend/gpu/group_memo.h"
#include "core/backends.h"
#include "core/device_object.h"
#include "core/life.h"
#include "core/objects.h"
#include "core/text.h"
#include "ops/body_form.h"
#include <stdlib.h>
#include <string.h>

/* How often this process was forked from one that had opened a device: a child must not use it. */
#if KNI_THREADS
static _Atomic uint32_t forks;
static void count_fork(void) { atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed); }
static void watch_once(void) { (void)pthread_atfork(NULL, NULL, count_fork); }
static void watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_once);
}
static uint32_t forks_now(void) { return atomic_load_explicit(&forks, memory_order_relaxed); }
static void init_lock(kni_gpu *g)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&g->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
}
#else
static void watch_forks(void) {}
static uint32_t forks_now(void) { return 0; }
static void init_lock(kni_gpu *g) { (void)g; }
#endif

kn_status kni_gpu_usable(kni_gpu *g)
{
    if (KNI_UNLIKELY(g->lost))
        return kni_fail(
            KN_ERROR_DEVICE,
            "the device %s is lost and its tensors are gone: open it again with kn_device_open() (%s)",
            g->driver->name, g->lost_text);
    if (KNI_UNLIKELY(g->forks != forks_now()))
        return kni_fail(KN_ERROR_DEVICE, "%s was opened before fork(): only the CPU can be used in the child",
                        g->driver->name);
    return KN_OK;
}

kn_status kni_gpu_checked(kni_gpu *g, kn_status s)
{
    if (KNI_LIKELY(s != KN_ERROR_DEVICE) || g->lost) return s;
    g->lost = true;
    kni_text text = {g->lost_text, sizeof g->lost_text, 0};
    kni_text_string(&text, kni_failure_latest());
    kni_log(KN_LOG_ERROR, "the device %s is lost: %s", g->driver->name, g->lost_text);
    return s;
}

/* Operands that carry a fault make the record fail at once. */
static kn_status check_operands(kni_gpu *g, const kn_record *r)
{
    uint64_t faults;
    for (int i = 0; i < r->n_in; i++) {
        kn_status s = kni_in(r, i) ? kni_gpu_faults_of(g, kni_in(r, i), &faults) : KN_OK;
        if (s) return s;
    }
    return KN_OK;
}

static bool is_empty(const kn_record *r)
{
    for (int i = 0; i < r->n_out; i++)
        if (kni_count(&kni_out(r, i)->type) != 0) return false;
    return r->n_out > 0;
}

/* Results without elements need memory to name and nothing else, but for rows that look at indices all the same. */

static kn_status allocate_empty(kni_gpu *g, const kn_record *r)
{
    kn_status s = KN_OK;
    if (!kni_has_no_work(r)) {
        if (r->row->launch) return kni_gpu_reference(g, r); /* it may report an index */
        /* Schedules compute nothing of lines without elements. */
        if (kni_body_requires(r->row->body) && r->row->lower) return kni_lower_record(r, g->backend.device);
    }
    for (int i = 0; i < r->n_out && s == KN_OK; i++) s = kni_gpu_allocate(g, kni_out(r, i));
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    return s;
}

/* Whether the caller's own operands or results are of f64, which the device lacks. What lowerings compute in between is another
   matter: there f64 is said in integers (ir/narrow.h). */
static bool lacks_f64(const kn_record *r)
{
    if (kni_thread_self()->context.depth_of_lowering) return false;
    for (int i = 0; i < r->n_in + r->n_out; i++)
        if (r->ids[i] != KNI_NO_SLOT && kni_slot(r->ids[i])->type.dtype == KN_F64) return true;
    return false;
}

/* *scheduled: its schedule alone was launched, or kernels that say likewise where their numbers come from. */
static kn_status compute(kni_gpu *g, const kn_record *r, bool *scheduled)
{
    const kn_op *row = r->row;
    kn_status s = kni_gpu_usable(g);
    *scheduled = false;
    if (s == KN_OK) s = check_operands(g, r);
    if (s) return s;
    if (KNI_UNLIKELY(!g->driver->caps.f64) && lacks_f64(r)) return KN_ERROR_UNSUPPORTED;
    if (row->view) return kni_gpu_view(g, r);
    if (row->host && !row->source) return KN_ERROR_UNSUPPORTED; /* falls back to the CPU */
    if (is_empty(r)) return allocate_empty(g, r);
    if (g->driver->profiling) kni_gpu_label(g, &r, 1);
    bool product = row->kind == KNI_CONTRACTION;
    s = product ? kni_gpu_native(g, r) : kni_gpu_scheduled(g, r);
    *scheduled = s == KN_OK && (!product || row->flags & KNI_FLAG_RANDOM);
    if (s == KN_ERROR_UNSUPPORTED) s = product ? kni_gpu_scheduled(g, r) : kni_gpu_native(g, r);
    if (s != KN_ERROR_UNSUPPORTED) return s;
    /* Lowering rounds to 16 bits between its steps where the reference kernel does not. */
    bool half = r->n_out > 0 && kni_dtypes[kni_out(r, 0)->type.dtype].kind == KNI_KIND_FLOAT &&
                kni_dtypes[kni_out(r, 0)->type.dtype].bits == 16;
    bool exact = half && row->launch && !(row->flags & KNI_FLAG_LOWERS_WELL);
    if (row->lower && !exact) return kni_lower_record(r, g->backend.device);
    return kni_gpu_reference(g, r);
}

static kn_status execute_one(kni_gpu *g, const kn_record *r, bool *scheduled)
{
    kn_status s = compute(g, r, scheduled);
    const kn_device device = g->backend.device;
    if (KNI_LIKELY(!device || !device->n_wants) || s) return s;
    const uint64_t launches = g->launches;
    s = kni_gpu_arrange(g, r);
    *scheduled &= g->launches == launches;
    return s;
}

/* While a recording is made: the numbers of records are noted, but for those inside lowerings, which follow from them. What
   a user's own lowering does, or a random number drawn in one, may be something else the next time. */
static kn_status execute_recorded(kni_gpu *g, const kn_record *r)
{
    bool inside = kni_thread_self()->context.depth_of_lowering > 0, scheduled;
    bool own = r->row->kind == KNI_SYSTEM && r->row->lower;
    uint32_t mark = kni_gpu_recording_mark(g);
    if (own) kni_gpu_recording_spoil(g, KNI_GPU_WHY_OWN_LOWERING);
    if (inside && r->row->flags & KNI_FLAG_RANDOM) kni_gpu_recording_spoil(g, KNI_GPU_WHY_RANDOM);
    kn_status s = execute_one(g, r, &scheduled);
    if (s)
        kni_gpu_recording_spoil(g, KNI_GPU_WHY_FAILED);
    else if (!inside)
        kni_gpu_recording_unit(g, r, mark, scheduled);
    return s;
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    kni_gpu *g = kni_gpu_of(b);
    kn_status s = KN_OK;
    bool scheduled;
    kni_gpu_enter(g);
    for (int32_t i = 0; i < n && s == KN_OK; i++) {
        if (records[i]->flags & KN_RECORD_DROP) continue;
        uint64_t before = kni_error_number();
        s = KNI_LIKELY(!g->recording) ? execute_one(g, records[i], &scheduled)
                                      : execute_recorded(g, records[i]);
        /* The device lacks something that a kernel of the library needs: the CPU does not. */
        if (KNI_UNLIKELY(s == KN_ERROR_UNSUPPORTED) && !records[i]->row->source &&
            kni_error_number() != before)
            kni_error_excuse();
    }
    kni_gpu_unlock(g);
    return s;
}

static kn_status sync_device(kn_backend *b)
{
    kni_gpu *g = kni_gpu_of(b);
    kni_gpu_lock(g);
    kn_status s = kni_gpu_usable(g);
    if (s == KN_OK) s = kni_gpu_flush(g, KNI_GPU_WHY_WAIT);
    if (s == KN_OK) s = kni_gpu_checked(g, g->driver->sync(g->driver));
    if (s == KN_OK && g->cells_waiting) s = kni_gpu_settle_faults(g);
    kni_gpu_unlock(g);
    return s;
}

static void counters(kni_gpu *g, kn_report *report)
{
    kni_text text = {report->buffer, report->bytes, 0};
    kni_text_format(&text,
                    "%s: %s, %D launches, %D kernels made (%D compiled, %D loaded from the cache on disk), "
                    "%D recordings made, %D replayed",
                    g->driver->name, g->driver->description, (int64_t)g->launches, (int64_t)g->compiles,
                    (int64_t)g->compiles - g->driver->loaded, g->driver->loaded, (int64_t)g->recorded,
                    (int64_t)g->replays);
    report->length = text.length;
}

static void kernels(kni_gpu *g, kn_report *report)
{
    kni_gpu_enter(g);
    report->length = g->driver->profile(g->driver, report->buffer, report->bytes);
    kni_gpu_unlock(g);
}

static kn_status report_text(kn_backend *b, const char *kind, kn_report *report)
{
    kni_gpu *g = kni_gpu_of(b);
    if (!strcmp(kind, "memory"))
        kni_gpu_memory_report(g, report);
    else if (!strcmp(kind, "report") || !strcmp(kind, "counters"))
        counters(g, report);
    else if (!strcmp(kind, "kernels") && g->driver->profile)
        kernels(g, report);
    else
        return KN_ERROR_UNSUPPORTED;
    return KN_OK;
}

static kn_status limits(kn_backend *b, kn_limits *l)
{
    const kni_gpu *g = kni_gpu_of(b);
    l->waiting_bytes = g->limit ? g->limit : g->driver->memory_bytes;
    l->kinds = 1u << KNI_GROUP_POINTWISE | 1u << KNI_GROUP_REDUCTION | 1u << KNI_GROUP_ROWS |
               1u << KNI_GROUP_PRODUCT | 1u << KNI_GROUP_MANY;
    l->max_records = 64;
    l->max_inputs = 32;
    l->max_outputs = 16;
    l->early_records = 96;
    l->takes = KNI_TAKES_VIEWS | KNI_TAKES_CREATION | KNI_TAKES_ANY_AXES | KNI_TAKES_WHOLE |
               KNI_TAKES_LOSSES | KNI_TAKES_COLUMNS | KNI_TAKES_CASTS | KNI_TAKES_REPEATS |
               KNI_TAKES_SEVERAL | KNI_TAKES_MAPS;
    /* Where few buffers are bound, such a group would be several launches after all. */
    if (!g->driver->caps.max_buffers || g->driver->caps.max_buffers >= KNI_SCHED_MAX_BUFFERS)
        l->takes |= KNI_TAKES_SMALL;
    return KN_OK;
}

static kn_status run_locked(kni_gpu *g, const kni_group *group)
{
    uint32_t mark = kni_gpu_recording_mark(g);
    kn_status s = kni_gpu_usable(g);
    if (s == KN_OK) s = kni_gpu_group(g, group);
    if (KNI_UNLIKELY(g->recording != NULL)) {
        if (s == KN_OK)
            kni_gpu_recording_unit(g, NULL, mark, group->kind != KNI_GROUP_PRODUCT);
        else if (s != KN_ERROR_UNSUPPORTED)
            kni_gpu_recording_spoil(g, KNI_GPU_WHY_FAILED);
    }
    return s;
}

static kn_status run_group(kn_backend *b, const kn_group *group)
{
    kni_gpu *g = kni_gpu_of(b);
    kni_gpu_enter(g);
    kn_status s = run_locked(g, group);
    kni_gpu_unlock(g);
    return s;
}

static kn_status plan_locked(kn_backend *b, const kn_plan_run *plan,
                             kn_status (*step)(kni_gpu *g, const kn_plan_run *plan))
{
    kni_gpu *g = kni_gpu_of(b);
    kni_gpu_enter(g);
    kn_status s = step(g, plan);
    kni_gpu_unlock(g);
    return s;
}

static kn_status begin_plan(kni_gpu *g, const kn_plan_run *plan)
{
    kni_gpu_ahead(g, plan);
    return kni_gpu_plan_begin(g, plan);
}

static kn_status plan_begin(kn_backend *b, const kn_plan_run *plan)
{
    return plan_locked(b, plan, begin_plan);
}

static kn_status plan_end(kn_backend *b, const kn_plan_run *plan)
{
    return plan_locked(b, plan, kni_gpu_plan_end);
}

static kn_status plan_replay(kn_backend *b, const kn_plan_run *plan)
{
    return plan_locked(b, plan, kni_gpu_plan_replay);
}

static void trim(kn_backend *b)
{
    kni_gpu *g = kni_gpu_of(b);
    kni_gpu_enter(g);
    (void)kni_gpu_make_room(g);
    kni_gpu_unlock(g);
}

/* ---- opening and closing. The list of devices that are open, by kind and number. */

enum { MAX_OPEN = 64 };
static kni_guard list_lock = KNI_GUARD_INIT(KNI_GUARD_OPENING);
static struct {
    const char *kind;
    int32_t number;
    kni_gpu *gpu;
} opened[MAX_OPEN];

/* In the child: the parent's devices are refused, each under its lock. */
static void forked(void)
{
    for (int i = 0; i < MAX_OPEN; i++)
        if (opened[i].gpu) init_lock(opened[i].gpu);
}

static void forget(const kni_gpu *g)
{
    kni_guard_lock(&list_lock);
    for (int i = 0; i < MAX_OPEN; i++)
        if (opened[i].gpu == g) opened[i].gpu = NULL;
    kni_guard_unlock(&list_lock);
}

void kni_gpu_destroy(kni_gpu *g)
{
    kni_gpu_mutex_destroy(&g->lock);
    kni_free(g, sizeof *g);
}

/* Tensors that outlive the device keep their blocks' names, not the memory. */
static void close_device(kn_backend *b)
{
    kni_gpu *g = kni_gpu_of(b);
    forget(g);
    kni_gpu_lock(g);
    kni_gpu_recordings_close(g);
    if (g->forks == forks_now()) {
        (void)g->driver->sync(g->driver);
        kni_gpu_free_kernels(g);
        kni_gpu_free_cells(g);
        kni_gpu_free_memos(g);
        kni_gpu_trim(g);
        for (kni_gpu_block *block = g->live; block; block = block->next) {
            g->driver->free(g->driver, block->memory);
            block->memory = NULL;
        }
        g->driver->close(g->driver);
    }
    g->driver = NULL;
    g->closed = true;
    bool last = !g->live;
    kni_gpu_unlock(g);
    if (last) kni_gpu_destroy(g);
}

/* Bytes from an environment variable with an optional K, M or G; 0 when unset, and with a warning when it says nothing. */
static int64_t bytes_from_environment(const char *name)
{
    const char *text = kni_environment(name);
    if (!text || !*text) return 0;
    char *end;
    double value = strtod(text, &end);
    double unit = *end == 'K' ? 1024.0 : *end == 'M' ? 1048576.0 : *end == 'G' ? 1073741824.0 : 1;
    bool good = end != text && (!*end || (unit > 1 && !end[1])) && value * unit >= 1 && value * unit < 9e18;
    if (good) return (int64_t)(value * unit);
    kni_log(KN_LOG_WARNING, "%s=%s is no size and bounds nothing: write bytes, or a number with K, M or G",
            name, text);
    return 0;
}

/* What the driver asks for in the middle of a call of its own. */
static void give_room(void *owner) { (void)kni_gpu_make_room(owner); }

kn_backend *kni_gpu_open(kni_driver *driver)
{
    bool good = kni_gpu_restrict(&driver->caps, kni_environment("KN_CAPS")) == KN_OK;
    kni_gpu *g = good ? kni_allocate(sizeof *g) : NULL;
    if (!g) {
        if (good) (void)kni_fail(KN_ERROR_MEMORY, "no memory to open %s", driver->name);
        driver->close(driver);
        return NULL;
    }
    memset(g, 0, sizeof *g);
    init_lock(g);
    g->driver = driver;
    driver->owner = g;
    driver->make_room = give_room;
    watch_forks();
    g->forks = forks_now();
    g->epoch = 1;
    const char *tf32 = kni_environment("KN_TF32");
    g->tf32 = tf32 && !strcmp(tf32, "on");
    g->convolutions = kni_gpu_conv_way(kni_environment("KN_CONV"));
    g->attention = kni_gpu_attention_way(kni_environment("KN_ATTENTION"));
    g->limit = bytes_from_environment("KN_DEVICE_MEMORY");
    const char *pool = kni_environment("KN_DEVICE_POOL");
    g->exact = pool && !strcmp(pool, "off");
    g->cache_limit = g->exact ? 0 : g->limit ? g->limit / 2 : driver->memory_bytes / 4;
    g->record_limit = g->exact ? 0 : g->limit ? g->limit / 2 : driver->memory_bytes / 3;
    g->backend = (kn_backend){.size = sizeof(kn_backend),
                              .abi = KN_BACKEND_ABI,
                              .name = driver->name,
                              .traits = KNI_TRAIT_ORDERS,
                              .wants = driver->wants,
                              .n_wants = driver->wants ? driver->n_wants : 0,
                              .self = g,
                              .execute = execute,
                              .supports = kni_gpu_supports,
                              .write = kni_gpu_write,
                              .read = kni_gpu_read,
                              .sync = sync_device,
                              .close = close_device,
                              .report = report_text,
                              .limits = limits,
                              .run_group = run_group,
                              .follows = kni_gpu_follows,
                              .trim = trim};
    if (driver->fetch_begin) {
        g->backend.read_begin = kni_gpu_read_begin;
        g->backend.read_ready = kni_gpu_read_ready;
    }
    /* Launches that are measured one by one are not recorded. */
    if (driver->record_begin && !driver->profiling) {
        g->backend.plan_begin = plan_begin;
        g->backend.plan_end = plan_end;
        g->backend.plan_replay = plan_replay;
    }
    return &g->backend;
}

/* The number of "", "0" to "63"; -1 for anything else. */
static int32_t number_of(const char *argument)
{
    int32_t n = 0;
    if (!argument || !*argument) return 0;
    for (const char *p = argument; *p; p++) {
        if (*p < '0' || *p > '9' || p - argument > 2) return -1;
        n = n * 10 + (*p - '0');
    }
    return n;
}

kn_backend *kni_gpu_open_numbered(const char *kind, const char *argument, int32_t n_inner,
                                  kni_driver *(*open)(int32_t number))
{
    int32_t number = number_of(argument);
    if (n_inner || number < 0) {
        (void)kni_fail(KN_ERROR_DEVICE, "kn_device_open: %s:%s is no device: write %s or %s:0", kind,
                       argument ? argument : "", kind, kind);
        return NULL;
    }
    kn_backend *b = NULL;
    int free_place = -1;
    static kni_life_hook hook = {.forked = KNI_IN_CHILD(forked)};
    kni_life_watch(&hook);
    kni_guard_lock(&list_lock);
    for (int i = MAX_OPEN - 1; i >= 0; i--) {
        kni_gpu *g = opened[i].gpu;
        if (!g) free_place = i;
        if (!g || opened[i].number != number || strcmp(opened[i].kind, kind)) continue;
        if (g->lost) {
            opened[i].gpu = NULL; /* a new one takes its place; tensors of the old one keep it */
            free_place = i;
        } else {
            b = &g->backend;
        }
    }
    if (!b) {
        kni_driver *d = open(number);
        b = d ? kni_gpu_open(d) : NULL;
        if (b && free_place >= 0) {
            opened[free_place].kind = kind;
            opened[free_place].number = number;
            opened[free_place].gpu = kni_gpu_of(b);
        }
    }
    kni_guard_unlock(&list_lock);
    return b;
}
