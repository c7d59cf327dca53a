/* The pool of error records and the poisoned handles that refer to it. */
#include "core/error.h"
#include "core/text.h"
#include <kn/tensor.h>
#include <stdatomic.h>
#include <string.h>

#ifdef KN_FREESTANDING
enum { RECORDS = 4, TEXT = 160 };
#else
enum { RECORDS = 1024, TEXT = 480 };
#endif

typedef struct error_record {
    _Atomic uint64_t number; /* of the failure that holds the record now */
    kn_status code;
    const char *site;
    char text[TEXT];
} error_record;

static error_record pool[RECORDS];
static _Atomic uint64_t failures;
static kn_log_fn log_fn;
static void *log_context;

enum { NUMBER_BITS = 40 };
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)

static error_record *latest(const kni_thread *t) { return t->last_error ? &pool[t->last_error - 1] : NULL; }

static error_record *fresh(kni_thread *t)
{
    if (!t->call_name) kni_error_flush(t); /* inside a composite the line is still to come */
    uint64_t number = atomic_fetch_add(&failures, 1) + 1;
    uint32_t index = (uint32_t)(number % RECORDS);
    error_record *e = &pool[index];
    atomic_store(&e->number, number & NUMBER_MASK);
    e->site = NULL;
    t->last_error = index + 1;
    if (!t->pending_error) t->pending_error = index + 1;
    return e;
}

kn_status kni_fail_op_list(kn_status code, const char *op_name, const char *format, va_list arguments)
{
    kni_thread *t = kni_thread_self();
    error_record *e = fresh(t);
    kni_text text = {e->text, TEXT, 0};
    e->code = code;
    e->text[0] = 0;
    if (t->call_name) op_name = t->call_name;
    if (op_name) kni_text_format(&text, "kn_%s: ", op_name);
    kni_text_format_list(&text, format, arguments);
    return code;
}

kn_status kni_fail_op(kn_status code, const char *op_name, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    kni_fail_op_list(code, op_name, format, a);
    va_end(a);
    return code;
}

kn_status kni_fail(kn_status code, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    kni_fail_op_list(code, NULL, format, a);
    va_end(a);
    return code;
}

kn_tensor kni_poison_latest(void)
{
    kni_thread *t = kni_thread_self();
    if (!t->last_error) kni_fail(KN_ERROR_INTERNAL, "an op failed without saying why");
    uint64_t index = t->last_error - 1;
    uint64_t number = atomic_load(&pool[index].number);
    return (kn_tensor){(UINT64_C(1) << 63) | (index << NUMBER_BITS) | number};
}

kn_status kni_latest_code(void)
{
    const error_record *e = latest(kni_thread_self());
    return e ? e->code : KN_OK;
}

/* The record of a poisoned handle, NULL when it has been used again since. */
static const error_record *of_handle(kn_tensor t)
{
    uint64_t index = (t.bits >> NUMBER_BITS) & 0x7FFFFF;
    if (index >= RECORDS || atomic_load(&pool[index].number) != (t.bits & NUMBER_MASK)) return NULL;
    return &pool[index];
}

static void describe(const error_record *e, kni_text *text)
{
    kni_text_string(text, e->text);
    if (e->site) {
        kni_text_string(text, "   ");
        kni_text_string(text, e->site);
    }
}

static void emit(const error_record *e)
{
    if (!log_fn) return;
    char line[TEXT + 160] = "";
    kni_text text = {line, sizeof line, 0};
    describe(e, &text);
    log_fn(log_context, KN_LOG_ERROR, line);
}

void kni_error_site(kni_thread *t, const char *site)
{
    error_record *e = &pool[t->pending_error - 1];
    t->pending_error = 0;
    e->site = site;
    emit(e);
}

void kni_error_flush(kni_thread *t)
{
    if (!t->pending_error) return;
    const error_record *e = &pool[t->pending_error - 1];
    t->pending_error = 0;
    emit(e);
}

void kni_log(int level, const char *format, ...)
{
    if (!log_fn) return;
    char line[TEXT] = "";
    kni_text text = {line, sizeof line, 0};
    va_list a;
    va_start(a, format);
    kni_text_format_list(&text, format, a);
    va_end(a);
    log_fn(log_context, (kn_log_level)level, line);
}

void kn_log_set(kn_log_fn fn, void *context)
{
    log_fn = fn;
    log_context = context;
}

size_t kn_error_text(kn_tensor t, char *buffer, size_t n)
{
    kni_text text = {buffer, n, 0};
    if (buffer && n)
        buffer[0] = 0;
    else
        text.capacity = 0;
    if (!kni_is_poisoned(t)) return 0;
    kni_error_flush(kni_thread_self());
    const error_record *e = of_handle(t);
    if (e)
        describe(e, &text);
    else
        kni_text_string(&text, "the record of this error was used again; read errors sooner");
    return text.length;
}

kn_status kn_error_code(kn_tensor t)
{
    if (!kni_is_poisoned(t)) return KN_OK;
    const error_record *e = of_handle(t);
    return e ? e->code : KN_ERROR_INTERNAL;
}

const char *kn_last_error(void)
{
    kni_thread *t = kni_thread_self();
    kni_error_flush(t);
    const error_record *e = latest(t);
    return e ? e->text : "";
}

const char *kn_status_name(kn_status status)
{
    static const char *const names[] = {"ok",       "argument", "shape",  "dtype",       "handle",
                                        "memory",   "device",   "index",  "unsupported", "gradient",
                                        "internal", "io",       "numeric"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

kn_tensor kn_poison(kn_status code, const char *message)
{
    kni_fail(code == KN_OK ? KN_ERROR_ARGUMENT : code, "%s", message ? message : "no message");
    return kni_poison_latest();
}
