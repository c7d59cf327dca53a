/* trace(inner): keeps the latest records as lines of text and hands each to the log callback. */
#include "core/device_object.h"
#include "core/text.h"
#include "ops/record.h"
#include "wrap/decorator.h"
#include "wrap/wrap.h"
#include <string.h>

enum { LINES = 256, WIDTH = 192 };

typedef struct state {
    kni_mutex lock;
    uint64_t n;
    char lines[LINES][WIDTH];
} state;

static void describe(const kn_record *r, char *line)
{
    kni_text text = {line, WIDTH, 0};
    line[0] = 0;
    if (r->flags & KN_RECORD_DROP) {
        kni_text_format(&text, "drop %T%S", (int)kni_in(r, 0)->type.dtype, &kni_in(r, 0)->type);
        return;
    }
    kni_text_format(&text, "%s(", r->row->name);
    for (int i = 0; i < r->n_in; i++) {
        const kni_tensor *x = kni_in(r, i);
        if (i) kni_text_string(&text, ", ");
        if (x)
            kni_text_format(&text, "%T%S", (int)x->type.dtype, &x->type);
        else
            kni_text_string(&text, "none");
    }
    kni_text_string(&text, ") ->");
    for (int i = 0; i < r->n_out; i++) {
        const kni_tensor *y = kni_out(r, i);
        kni_text_format(&text, " %T%S", (int)y->type.dtype, &y->type);
    }
}

static void keep(state *t, const char *line)
{
    kni_lock(&t->lock);
    memcpy(t->lines[t->n++ % LINES], line, WIDTH);
    kni_unlock(&t->lock);
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    state *t = b->self;
    for (int32_t i = 0; i < n; i++) {
        char line[WIDTH];
        describe(records[i], line);
        kni_log(KN_LOG_INFO, "%s", line);
        bool drop = records[i]->flags & KN_RECORD_DROP;
        /* A tensor can outlive its device; another device may have this trace by then. */
        if (!drop || !atomic_load(&kni_in(records[i], 0)->device->closed)) keep(t, line);
        if (drop && !b->inner[0]->wants_drops) continue;
        kn_status s = kni_forward(b, records[i]);
        if (s) return s;
    }
    return KN_OK;
}

static void reset(kn_backend *b)
{
    state *t = b->self;
    kni_lock(&t->lock);
    t->n = 0;
    kni_unlock(&t->lock);
}

static kn_status report_text(kn_backend *b, const char *kind, kn_report *report)
{
    state *t = b->self;
    if (strcmp(kind, "report")) return KN_ERROR_UNSUPPORTED;
    kni_text text = {report->buffer, report->bytes, 0};
    kni_lock(&t->lock);
    for (uint64_t i = t->n > LINES ? t->n - LINES : 0; i < t->n; i++)
        kni_text_format(&text, "%s\n", t->lines[i % LINES]);
    kni_unlock(&t->lock);
    report->length = text.length;
    return KN_OK;
}

kn_backend *kni_trace_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument;
    kn_backend *b = kni_decorator_new("trace", 0, inner, n_inner, execute, sizeof(state));
    if (!b) return NULL;
    ((state *)b->self)->lock = (kni_mutex)KNI_MUTEX_INIT;
    b->report = report_text;
    b->reset = reset;
    b->wants_drops = true;
    return b;
}
