/* profile(inner): time and bytes by op and call site, and the latest events for a trace viewer. */
#include "core/device_object.h"
#include "core/text.h"
#include "ops/record.h"
#include "wrap/decorator.h"
#include "wrap/wrap.h"
#include <string.h>

enum { ROWS = 512, EVENTS = 8192 };

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
    int n_rows;
    uint64_t n_events;
    row rows[ROWS];
    event events[EVENTS];
} state;

static uint64_t bytes_of(const kni_tensor *x)
{
    int64_t n = x ? kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type)) : 0;
    return n > 0 ? (uint64_t)n : 0;
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

static kn_status execute_one(kn_backend *b, const kn_record *r)
{
    if (KNI_UNLIKELY(r->flags & KN_RECORD_DROP)) return kni_forward(b, r);
    state *p = b->self;
    kni_lock(&p->lock);
    settle(p);
    kni_unlock(&p->lock);
    event e = {.op = r->row->name, .serial = r->sequence, .thread = kni_this_thread.id};
    for (int i = 0; i < r->n_in; i++) e.bytes += bytes_of(kni_in(r, i));
    for (int i = 0; i < r->n_out; i++) e.bytes += bytes_of(kni_out(r, i));
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

static kn_status control(kn_backend *b, const char *request, void *argument)
{
    bool trace = !strcmp(request, "chrome-trace");
    if (!strcmp(request, KNI_CONTROL_RESET)) {
        state *noted = b->self;
        kni_lock(&noted->lock);
        noted->n_rows = 0;
        noted->n_events = 0;
        kni_unlock(&noted->lock);
        return KN_OK;
    }
    if (!trace && strcmp(request, "report")) return KN_ERROR_UNSUPPORTED;
    state *p = b->self;
    kni_report *report = argument;
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

kn_backend *kni_profile_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument;
    kn_backend *b = kni_decorator_new("profile", inner, n_inner, execute, sizeof(state));
    if (!b) return NULL;
    ((state *)b->self)->lock = (kni_mutex)KNI_MUTEX_INIT;
    b->control = control;
    return b;
}
