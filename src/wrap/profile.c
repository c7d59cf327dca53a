/* profile(inner): time and bytes by op and call site, and the latest events for a trace viewer. Where a queue is below, it says what
   it runs (`watch`): the groups are the same as without a profile. Else each record is measured when it comes. */
#include "core/device_object.h"
#include "core/text.h"
#include "ops/record.h"
#include "wrap/decorator.h"
#include "wrap/wrap.h"
#include <string.h>

enum { ROWS = 512, EVENTS = 8192, NAMES = 256, WIDTH = 64 };

typedef struct row {
    const char *op, *site;
    uint64_t calls, nanoseconds, bytes;
} row;

typedef struct event {
    const char *op, *site;
    uint64_t begin, nanoseconds, bytes, serial;
    uint32_t thread;
} event;

typedef struct state {
    kni_mutex lock;
    kn_watcher watcher;
    bool watches; /* something below tells what it runs; else records are measured here */
    int n_rows, n_names;
    uint64_t n_events;
    char names[NAMES][WIDTH]; /* of groups and plans */
    row rows[ROWS];
    event events[EVENTS];
} state;

static uint64_t bytes_of(const kni_tensor *x)
{
    int64_t n = x ? kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type)) : 0;
    return n > 0 ? (uint64_t)n : 0;
}

static uint64_t bytes_of_ids(const uint32_t *ids, int n)
{
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++)
        if (ids[i] != KNI_NO_SLOT) bytes += bytes_of(kni_slot(ids[i]));
    return bytes;
}

/* The last row takes what does not fit any more. */
static row *row_of(state *p, const char *op, const char *site)
{
    for (int i = 0; i < p->n_rows; i++)
        if (p->rows[i].op == op && p->rows[i].site == site) return &p->rows[i];
    if (p->n_rows == ROWS) return &p->rows[ROWS - 1];
    p->rows[p->n_rows] = (row){op, site, 0, 0, 0};
    return &p->rows[p->n_rows++];
}

static void count(state *p, const event *e)
{
    row *r = row_of(p, e->op, e->site);
    r->calls++;
    r->nanoseconds += e->nanoseconds;
    r->bytes += e->bytes;
}

/* The site of a call is noted after it returns, so an event is counted when the next one begins. */
static void settle(state *p)
{
    if (!p->n_events) return;
    event *e = &p->events[(p->n_events - 1) % EVENTS];
    if (!e->serial) return;
    if (e->thread == kni_this_thread.id) e->site = kni_site_of(e->serial);
    e->serial = 0;
    count(p, e);
}

/* ---- what a queue runs */

/* The same text at the same address each time; the last name takes what does not fit any more. */
static const char *interned(state *p, const char *name)
{
    for (int i = 0; i < p->n_names; i++)
        if (!strcmp(p->names[i], name)) return p->names[i];
    if (p->n_names == NAMES) return p->names[NAMES - 1];
    memcpy(p->names[p->n_names], name, strlen(name) + 1);
    return p->names[p->n_names++];
}

/* "mul+add+relu", or with a number in the place of what is too long. */
static const char *group_name(state *p, const kn_group *g)
{
    char name[WIDTH] = "";
    kni_text text = {name, sizeof name, 0};
    int32_t i = 0;
    for (; i < g->n_records; i++) {
        const char *op = g->records[i]->row->name;
        if (text.length + strlen(op) + 12 > sizeof name) break;
        kni_text_format(&text, "%s%s", i ? "+" : "", op);
    }
    if (i < g->n_records) kni_text_format(&text, "+%d more", (int)(g->n_records - i));
    return interned(p, name);
}

static const char *plan_name(state *p, const kn_plan_run *plan)
{
    char name[WIDTH] = "";
    kni_text text = {name, sizeof name, 0};
    kni_text_format(&text, "plan of %d steps", (int)plan->n_steps);
    return interned(p, name);
}

static void note(state *p, const kn_watch_event *ran)
{
    event e = {.site = ran->site,
               .begin = ran->begin,
               .nanoseconds = ran->nanoseconds,
               .thread = kni_this_thread.id};
    kni_lock(&p->lock);
    settle(p);
    if (ran->record) {
        e.op = ran->record->row->name;
        e.bytes = bytes_of_ids(ran->record->ids, ran->record->n_out + ran->record->n_in);
    } else if (ran->group) {
        e.op = group_name(p, ran->group);
        e.bytes = bytes_of_ids(ran->group->inputs, ran->group->n_inputs) +
                  bytes_of_ids(ran->group->outputs, ran->group->n_outputs);
    } else {
        e.op = plan_name(p, ran->plan);
        e.bytes = bytes_of_ids(ran->plan->inputs, ran->plan->n_inputs) +
                  bytes_of_ids(ran->plan->results, ran->plan->n_results);
    }
    p->events[p->n_events++ % EVENTS] = e;
    count(p, &e);
    kni_unlock(&p->lock);
}

static void heard(void *self, const kn_watch_event *told) { note(self, told); }

/* ---- what is measured here */

static kn_status execute_one(kn_backend *b, const kn_record *r)
{
    state *p = b->self;
    if (KNI_UNLIKELY(r->flags & KN_RECORD_DROP) || p->watches) return kni_forward(b, r);
    kni_lock(&p->lock);
    settle(p);
    kni_unlock(&p->lock);
    event e = {.op = r->row->name,
               .serial = r->sequence,
               .thread = kni_this_thread.id,
               .bytes = bytes_of_ids(r->ids, r->n_out + r->n_in)};
    e.begin = kni_nanoseconds();
    kn_status s = kni_forward(b, r);
    if (s == KN_OK && b->inner[0]->sync) s = b->inner[0]->sync(b->inner[0]);
    e.nanoseconds = kni_nanoseconds() - e.begin;
    kni_lock(&p->lock);
    p->events[p->n_events++ % EVENTS] = e;
    kni_unlock(&p->lock);
    return s;
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    return kni_each_record(b, records, n, execute_one);
}

/* A queue around the profile gives it groups as it would the inner backend, but for plans: these are measured step by step. */
static kn_status limits(kn_backend *b, kn_limits *l) { return b->inner[0]->limits(b->inner[0], l); }

static kn_follow follows(kn_backend *b, const kn_record *const *records, int32_t n, const kn_record *next)
{
    return b->inner[0]->follows(b->inner[0], records, n, next);
}

static kn_status run_group(kn_backend *b, const kn_group *group)
{
    kn_backend *inner = b->inner[0];
    uint64_t begin = kni_nanoseconds();
    kn_status s = inner->run_group(inner, group);
    if (s == KN_OK && inner->sync) s = inner->sync(inner);
    if (s == KN_OK)
        note(b->self, &(kn_watch_event){.size = sizeof(kn_watch_event),
                                        .group = group,
                                        .begin = begin,
                                        .nanoseconds = kni_nanoseconds() - begin});
    return s;
}

/* ---- reports */

/* Most expensive first; the table is small and reports are rare. */
static void sort_rows(state *p)
{
    for (int i = 1; i < p->n_rows; i++)
        for (int k = i; k > 0 && p->rows[k].nanoseconds > p->rows[k - 1].nanoseconds; k--) {
            row swap = p->rows[k];
            p->rows[k] = p->rows[k - 1];
            p->rows[k - 1] = swap;
        }
}

static void summary(state *p, kni_text *text)
{
    sort_rows(p);
    kni_text_string(text, "microseconds\tcalls\tGB/s\top\tsite\n");
    for (int i = 0; i < p->n_rows; i++) {
        const row *r = &p->rows[i];
        double rate = r->nanoseconds ? (double)r->bytes / (double)r->nanoseconds : 0;
        kni_text_format(text, "%D\t%D\t%g\t%s\t%s\n", (int64_t)(r->nanoseconds / 1000), (int64_t)r->calls,
                        rate, r->op, r->site ? r->site : "");
    }
}

/* Sites are file names of the user's: quotes and backslashes in them are escaped. */
static void json_string(kni_text *text, const char *s)
{
    kni_text_char(text, '"');
    for (; s && *s; s++) {
        if (*s == '"' || *s == '\\') kni_text_char(text, '\\');
        kni_text_char(text, *s);
    }
    kni_text_char(text, '"');
}

static void chrome_trace(const state *p, kni_text *text)
{
    kni_text_string(text, "{\"traceEvents\":[");
    uint64_t first = p->n_events > EVENTS ? p->n_events - EVENTS : 0;
    for (uint64_t i = first; i < p->n_events; i++) {
        const event *e = &p->events[i % EVENTS];
        kni_text_format(
            text, "%s{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%g,\"dur\":%g,\"name\":", i > first ? "," : "",
            e->thread, (double)(e->begin - p->events[first % EVENTS].begin) / 1000,
            (double)e->nanoseconds / 1000);
        json_string(text, e->op);
        kni_text_string(text, ",\"args\":{\"site\":");
        json_string(text, e->site);
        kni_text_format(text, ",\"bytes\":%D}}", (int64_t)e->bytes);
    }
    kni_text_string(text, "]}\n");
}

static void reset(kn_backend *b)
{
    state *p = b->self;
    kni_lock(&p->lock);
    p->n_rows = p->n_names = 0;
    p->n_events = 0;
    kni_unlock(&p->lock);
}

static kn_status report_text(kn_backend *b, const char *kind, kn_report *report)
{
    state *p = b->self;
    bool trace = !strcmp(kind, "chrome-trace");
    if (!trace && strcmp(kind, "report")) return KN_ERROR_UNSUPPORTED;
    kni_text text = {report->buffer, report->bytes, 0};
    kni_lock(&p->lock);
    settle(p);
    if (trace)
        chrome_trace(p, &text);
    else
        summary(p, &text);
    kni_unlock(&p->lock);
    report->length = text.length;
    return KN_OK;
}

/* Asks the first in the inner chain that can tell what it runs. */
static void start_watching(kn_backend *b)
{
    state *p = b->self;
    p->watcher = (kn_watcher){sizeof p->watcher, p, heard};
    kn_backend *inner = b->inner[0];
    while (inner && !inner->watch) inner = inner->inner[0];
    p->watches = inner && inner->watch(inner, &p->watcher, true) == KN_OK;
}

kn_backend *kni_profile_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument;
    kn_backend *b = kni_decorator_new("profile", 0, inner, n_inner, execute, sizeof(state));
    if (!b) return NULL;
    ((state *)b->self)->lock = (kni_mutex)KNI_MUTEX_INIT;
    b->report = report_text;
    b->reset = reset;
    start_watching(b);
    if (inner[0]->run_group && inner[0]->limits) {
        b->limits = limits;
        b->run_group = run_group;
        b->follows = inner[0]->follows ? follows : NULL;
    }
    return b;
}
