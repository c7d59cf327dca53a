/* Backends that came from outside. Their struct may be older or newer than ours: it is read here and nowhere else, up to the smaller
   size, and the library uses a backend of its own that calls it. For a leaf that one also lowers what the leaf has no kernel for,
   or runs it on the CPU. */
#include "core/backends.h"
#include "core/device_object.h"
#include "core/text.h"
#include "ops/record.h"
#include "wrap/decorator.h"
#include "wrap/wrap.h"
#include <kn/device.h>
#include <string.h>

enum { MAX_INNER = 4, ROWS = 1 << 16, FIRST_FIELDS = offsetof(kn_backend, execute) + sizeof(void (*)(void)) };

typedef struct outside {
    kn_backend backend;                   /* first, so that the backend's address is that of all of it */
    kn_backend read;                      /* the outside struct as far as both sides know it, 0 behind */
    kn_backend *given;                    /* who its functions are called with */
    const kn_backend *over[MAX_INNER];    /* the devices in brackets that it was opened with */
    _Atomic unsigned char told[ROWS / 8]; /* bit per row: its fallback has been logged */
} outside;

static outside *of(kn_backend *b) { return (outside *)b; }

static bool is_leaf(const outside *o) { return !o->backend.inner[0]; }

/* ---- entries: each calls the outside one */

static kn_support supports(kn_backend *b, const struct kn_op *row, kn_dtype dtype, const char **why)
{
    outside *o = of(b);
    kn_support s = o->read.supports ? o->read.supports(o->given, row, dtype, why) : KN_SUPPORT_NATIVE;
    return s == KN_SUPPORT_NO && is_leaf(o) && row->lower ? KN_SUPPORT_LOWERED : s;
}

/* Without entries of its own a decorator's values are those of its inner backend, a leaf's lie in host memory. */
static kn_backend *holder_of(outside *o) { return is_leaf(o) ? kni_cpu_backend() : o->backend.inner[0]; }

/* What an entry returned: a failure without a text gets one, with the backend's name. */
static kn_status told(const outside *o, const char *entry, uint64_t before, kn_status s)
{
    if (KNI_LIKELY(s == KN_OK || kni_error_number() != before)) return s;
    char who[64];
    kni_text text = {who, sizeof who, 0};
    kni_text_format(&text, "%s of the backend %s", entry, o->read.name);
    return kni_told(before, s, who);
}
/* Returns what the outside entry returns; its name is that of a field. Where that may say no, saying so needs no text. */
#define RETURN_CALL(b, entry, ...)                                                                           \
    uint64_t before = kni_error_number();                                                                    \
    return told(of(b), #entry, before, of(b)->read.entry(of(b)->given, __VA_ARGS__))

#define RETURN_ANSWER(b, entry, ...)                                                                         \
    uint64_t before = kni_error_number();                                                                    \
    kn_status s = of(b)->read.entry(of(b)->given, __VA_ARGS__);                                              \
    return s == KN_ERROR_UNSUPPORTED ? s : told(of(b), #entry, before, s)

static kn_status write_value(kn_backend *b, uint32_t id, const void *data)
{
    outside *o = of(b);
    if (!o->read.write) return holder_of(o)->write(holder_of(o), id, data);
    RETURN_CALL(b, write, id, data);
}

static kn_status read_value(kn_backend *b, uint32_t id, void *buffer)
{
    outside *o = of(b);
    if (!o->read.read) return holder_of(o)->read(holder_of(o), id, buffer);
    RETURN_CALL(b, read, id, buffer);
}

static kn_status sync_all(kn_backend *b)
{
    outside *o = of(b);
    kn_backend *inner = b->inner[0];
    uint64_t before = kni_error_number();
    if (o->read.sync) return told(o, "sync", before, o->read.sync(o->given));
    return inner && inner->sync ? inner->sync(inner) : KN_OK;
}

static kn_status read_begin(kn_backend *b, uint32_t id, void *buffer, uint64_t *ticket)
{
    RETURN_CALL(b, read_begin, id, buffer, ticket);
}

static kn_status read_ready(kn_backend *b, uint64_t ticket, bool wait, bool *ready)
{
    RETURN_CALL(b, read_ready, ticket, wait, ready);
}

static kn_status report_text(kn_backend *b, const char *kind, kn_report *report)
{
    RETURN_CALL(b, report, kind, report);
}

static kn_status limits(kn_backend *b, kn_limits *l) { RETURN_CALL(b, limits, l); }

static kn_status run_group(kn_backend *b, const kn_group *group) { RETURN_ANSWER(b, run_group, group); }

static kn_follow follows(kn_backend *b, const kn_record *const *records, int32_t n, const kn_record *next)
{
    return of(b)->read.follows(of(b)->given, records, n, next);
}

static kn_status plan_begin(kn_backend *b, const kn_plan_run *plan) { RETURN_ANSWER(b, plan_begin, plan); }

static kn_status plan_end(kn_backend *b, const kn_plan_run *plan) { RETURN_CALL(b, plan_end, plan); }

static kn_status plan_replay(kn_backend *b, const kn_plan_run *plan) { RETURN_ANSWER(b, plan_replay, plan); }

static kn_status submit(kn_backend *b)
{
    uint64_t before = kni_error_number();
    return told(of(b), "submit", before, of(b)->read.submit(of(b)->given));
}

static kn_status watch(kn_backend *b, const kn_watcher *watcher, bool on)
{
    RETURN_CALL(b, watch, watcher, on);
}

static void trim(kn_backend *b) { of(b)->read.trim(of(b)->given); }

static void reset(kn_backend *b) { of(b)->read.reset(of(b)->given); }

/* ---- records */

/* The dtype that decides whether a kernel is there: that of the first operand, else of the first result. */
static kn_dtype deciding_dtype(const kn_record *r)
{
    for (int i = 0; i < r->n_in; i++)
        if (kni_in(r, i)) return (kn_dtype)kni_in(r, i)->type.dtype;
    return (kn_dtype)kni_out(r, 0)->type.dtype;
}

static kn_status execute_one(kn_backend *b, const kn_record *r)
{
    outside *o = of(b);
    uint64_t before = kni_error_number();
    if (r->flags & KN_RECORD_DROP || !is_leaf(o))
        return told(o, "execute", before, o->read.execute(o->given, &r, 1));
    if (!o->read.supports || o->read.supports(o->given, r->row, deciding_dtype(r), NULL) != KN_SUPPORT_NO) {
        kn_status s = o->read.execute(o->given, &r, 1);
        bool silent = kni_error_number() == before || kni_error_excused();
        if (s != KN_ERROR_UNSUPPORTED || !silent) return told(o, "execute", before, s);
    }
    return r->row->lower ? kni_lower_record(r, b->device) : kni_run_on_cpu(b, r, o->told);
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    return kni_each_record(b, records, n, execute_one);
}

/* ---- reading and closing */

static void close_outside(kn_backend *b)
{
    outside *o = of(b);
    o->given->device = NULL;
    if (o->read.close) o->read.close(o->given);
    kni_free(o, sizeof *o);
}

/* Size and ABI are where they were in every version. */
static kn_status read_struct(const char *name, const kn_backend *given, kn_backend *read)
{
    if (given->abi != KN_BACKEND_ABI)
        return kni_fail(
            KN_ERROR_DEVICE,
            "kn_device_open: the backend %s was compiled for ABI %D of kn/backend.h; this library "
            "has ABI %d: compile it again with the headers of this library",
            name, (int64_t)given->abi, KN_BACKEND_ABI);
    if (given->size < FIRST_FIELDS)
        return kni_fail(KN_ERROR_DEVICE,
                        "kn_device_open: the backend %s says that its struct has %D bytes, and the first "
                        "fields of kn_backend are %d: set .size = sizeof(kn_backend)",
                        name, (int64_t)given->size, (int)FIRST_FIELDS);
    memset(read, 0, sizeof *read);
    memcpy(read, given, given->size < sizeof *read ? given->size : sizeof *read);
    if (!read->name || !read->execute)
        return kni_fail(KN_ERROR_DEVICE, "kn_device_open: the backend %s has no %s", name,
                        read->name ? "execute function" : "name");
    if (!read->read_begin != !read->read_ready || !read->plan_begin != !read->plan_end)
        return kni_fail(
            KN_ERROR_DEVICE, "kn_device_open: the backend %s has one of %s without the other", name,
            !read->read_begin != !read->read_ready ? "read_begin and read_ready" : "plan_begin and plan_end");
    bool host = read->traits & KN_TRAIT_HOST || read->inner[0];
    if (!host && (!read->write || !read->read))
        return kni_fail(KN_ERROR_DEVICE,
                        "kn_device_open: the backend %s has no %s function, which only one in host memory "
                        "(KN_TRAIT_HOST) may lack",
                        name, read->write ? "read" : "write");
    return KN_OK;
}

/* The library looks for optional entries before it calls them. */
static void fill_in(outside *o)
{
    const kn_backend *r = &o->read;
    o->backend = (kn_backend){.size = sizeof(kn_backend),
                              .abi = KN_BACKEND_ABI,
                              .name = r->name,
                              .traits = r->traits,
                              .wants_drops = r->wants_drops,
                              .inner = {r->inner[0], r->inner[1]},
                              .self = o,
                              .execute = execute,
                              .supports = supports,
                              .write = write_value,
                              .read = read_value,
                              .read_begin = r->read_begin ? read_begin : NULL,
                              .read_ready = r->read_ready ? read_ready : NULL,
                              .sync = sync_all,
                              .close = close_outside,
                              .report = r->report ? report_text : NULL,
                              .limits = r->limits ? limits : NULL,
                              .run_group = r->run_group ? run_group : NULL,
                              .follows = r->follows ? follows : NULL,
                              .plan_begin = r->plan_begin ? plan_begin : NULL,
                              .plan_end = r->plan_end ? plan_end : NULL,
                              .plan_replay = r->plan_replay ? plan_replay : NULL,
                              .submit = r->submit ? submit : NULL,
                              .watch = r->watch ? watch : NULL,
                              .trim = r->trim ? trim : NULL,
                              .reset = r->reset ? reset : NULL};
}

/* Whether a struct that is open already was opened over the same devices in brackets. */
static bool opened_over(const kn_backend *read, kn_backend *const *inner, int32_t n)
{
    const outside *o = of(read->device->backend);
    for (int32_t i = 0; i < MAX_INNER; i++)
        if (o->over[i] != (i < n ? inner[i] : NULL)) return false;
    return true;
}

kn_backend *kni_outside_open(const char *name, kn_backend *given, kn_backend *const *inner, int32_t n_inner)
{
    kn_backend read;
    if (read_struct(name, given, &read)) return NULL;
    if (read.device && opened_over(&read, inner, n_inner))
        return read.device->backend; /* opened before: one of ours for each of theirs */
    if (read.device) {
        kni_fail(KN_ERROR_DEVICE,
                 "kn_device_open: %s gave the struct that it gave for %s; for other devices in brackets its "
                 "opener must make another one",
                 name, read.device->name);
        return NULL;
    }
    if (n_inner && !read.inner[0]) {
        kni_fail(KN_ERROR_DEVICE,
                 "kn_device_open: %s was given %d devices in brackets and has no inner backend", name,
                 (int)n_inner);
        return NULL;
    }
    outside *o = kni_allocate(sizeof *o);
    if (!o) {
        kni_fail(KN_ERROR_MEMORY, "no memory to open %s", name);
        if (read.close) read.close(given);
        return NULL;
    }
    memset(o, 0, sizeof *o);
    o->given = given;
    o->read = read;
    for (int32_t i = 0; i < n_inner && i < MAX_INNER; i++) o->over[i] = inner[i];
    fill_in(o);
    return &o->backend;
}

void kni_outside_opened(kn_backend *b) { of(b)->given->device = b->device; }
