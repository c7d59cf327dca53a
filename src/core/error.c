/* The pool of error records and the poisoned handles that refer to it. */
#include "core/error.h"
#include "core/call_site.h"
#include "core/dtype.h"
#include "core/life.h"
#include "core/objects.h"
#include "core/past.h"
#include "core/table.h"
#include "core/text.h"
#include <kn/tensor.h>
#include <string.h>

#ifdef KN_FREESTANDING
enum { RECORDS = 4 };
#else
enum { RECORDS = 1024 };
#endif

/* The records that poisoned handles name, and who hears of failures; under the lock. A thread's own latest
   failure is in its history too, so that the failures of other threads never replace it. */
static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_INNER);
static kni_failure pool[RECORDS];
static uint64_t failures;
static kn_log_fn log_fn;
static void *log_context;

enum { NUMBER_BITS = 40 };
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)

static uint32_t index_of(uint64_t number) { return (uint32_t)(number % RECORDS); }

/* The thread's latest failure. Without memory for one of its own it is read in the pool. */
static const kni_failure *latest(const kni_thread *t)
{
    if (!t->last_error) return NULL;
    const kni_failure *f = t->latest;
    if (f && f->number && index_of(f->number) + 1 == t->last_error) return f;
    return &pool[t->last_error - 1];
}

static void wait_for_line(kni_thread *t, const kni_failure *f)
{
    t->pending_error = index_of(f->number) + 1;
    if (t->history) t->history->pending_number = f->number;
}

static void enter(kni_thread *t, kni_failure *f)
{
    kni_guard_lock(&lock);
    f->number = ++failures & NUMBER_MASK;
    uint32_t index = index_of(f->number);
    pool[index] = *f;
    kni_guard_unlock(&lock);
    t->last_error = index + 1;
    if (t->latest) *t->latest = *f;
    if (!t->pending_error) wait_for_line(t, f);
}

/* A message that is too long ends after a word; where that is longer than half of it, in the word, not in a character. */
static void end_after_word(kni_text *t)
{
    static const char mark[] = " ...";
    if (t->length < t->capacity) return;
    size_t end = t->capacity - sizeof mark, word = end;
    while (word > 0 && t->buffer[word] != ' ') word--;
    if (word > end / 2)
        end = word;
    else
        while (end > 0 && ((unsigned char)t->buffer[end] & 0xC0) == 0x80) end--;
    for (size_t i = 0; i < sizeof mark; i++) t->buffer[end + i] = mark[i];
    t->length = end + sizeof mark - 1;
}

/* The text behind the name of a public function, the whole text where it begins with none. */
static const char *behind_name(const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return !strncmp(text, "kn_", 3) && text[n] == ':' && text[n + 1] == ' ' ? text + n + 2 : text;
}

static void put_name(kni_failure *f, const char *name, bool instead)
{
    char old[KNI_ERROR_LINE];
    if (f->placed || (!instead && !strncmp(f->text, "kn_", 3))) return;
    memcpy(old, f->text, sizeof old);
    kni_text text = {f->text, KNI_ERROR_TEXT, 0};
    kni_text_format(&text, "kn_%s: %s", name, instead ? behind_name(old) : old);
    end_after_word(&text);
}

kn_status kni_fail_op_list(kn_status code, const char *op_name, const char *format, va_list arguments)
{
    kni_thread *t = kni_thread_self();
    if (!t->context.call_name) kni_error_flush(t); /* inside a composite the line is still to come */
    kni_call_counts(t);                            /* it may be refused before its op */
    kni_failure f = {.code = code, .thread = t->id};
    kni_text text = {f.text, KNI_ERROR_TEXT, 0};
    kni_text_format_list(&text, format, arguments);
    end_after_word(&text);
    if (t->context.call_name) op_name = t->context.call_name;
    if (op_name) put_name(&f, op_name, true);
    enter(t, &f);
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

/* What there is in place of a dtype that tensors cannot have yet. */
static const char *instead_of(int64_t dtype)
{
    if (dtype == KN_C64 || dtype == KN_C128) return "keep the real and the imaginary part as two tensors";
    return "use i8 or u8";
}

KNI_OPTIONAL void kni_convert_small(void *to, int to_dtype, int64_t to_stride, const void *from,
                                    int from_dtype, int64_t from_stride, int64_t n);

bool kni_dtype_is_there(kn_dtype dtype)
{
    return kni_dtype_usable(dtype) || (kni_dtype_stored(dtype) && KNI_IS_LINKED(kni_convert_small));
}

kn_status kni_fail_dtype(const char *op_name, int64_t dtype)
{
    if (dtype <= 0 || dtype >= KN_DTYPE_COUNT)
        return kni_fail_op(KN_ERROR_DTYPE, op_name, "%D is the code of no dtype: use KN_F32 and its like",
                           dtype);
    if (kni_dtype_stored((int)dtype) && !KNI_IS_LINKED(kni_convert_small))
        return kni_fail_op(KN_ERROR_DTYPE, op_name, "%T needs a call of kn_stored_dtypes_use()", (int)dtype);
    if (kni_dtype_stored((int)dtype))
        return kni_fail_op(KN_ERROR_DTYPE, op_name, "%T is only stored: %s", (int)dtype,
                           kni_dtypes[dtype].kind == KNI_KIND_FLOAT ? "use f32, f16 or bf16"
                                                                    : "use i8 or u8");
    return kni_fail_op(
        KN_ERROR_DTYPE, op_name,
        "there are no tensors of dtype %T yet: %s (there are f64, f32, f16, bf16, i8 to i64, u8 to "
        "u64 and bool, and small types that are only stored)",
        (int)dtype, instead_of(dtype));
}

kn_status kni_fail(kn_status code, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    kni_fail_op_list(code, NULL, format, a);
    va_end(a);
    return code;
}

static void name_latest(const char *name, bool instead)
{
    kni_thread *t = kni_thread_self();
    if (!t->last_error) return;
    uint64_t number = latest(t)->number;
    kni_guard_lock(&lock);
    if (pool[t->last_error - 1].number == number) put_name(&pool[t->last_error - 1], name, instead);
    kni_guard_unlock(&lock);
    if (t->latest && t->latest->number == number) put_name(t->latest, name, instead);
}

void kni_error_named(const char *name) { name_latest(name, false); }

static void put_more(kni_failure *f, const char *more)
{
    if (f->placed) return;
    kni_text text = {f->text, KNI_ERROR_TEXT, strlen(f->text)};
    kni_text_string(&text, more);
    end_after_word(&text);
}

void kni_error_continued(const char *format, ...)
{
    kni_thread *t = kni_thread_self();
    if (!t->last_error) return;
    char more[KNI_ERROR_TEXT] = "";
    kni_text text = {more, sizeof more, 0};
    va_list a;
    va_start(a, format);
    kni_text_format_list(&text, format, a);
    va_end(a);
    uint64_t number = latest(t)->number;
    kni_guard_lock(&lock);
    if (pool[t->last_error - 1].number == number) put_more(&pool[t->last_error - 1], more);
    kni_guard_unlock(&lock);
    if (t->latest && t->latest->number == number) put_more(t->latest, more);
}

void kni_error_renamed_by(const char *function)
{
    if (kni_thread_self()->pending_error && !strncmp(function, "kn_", 3)) name_latest(function + 3, true);
}

void kni_error_named_by(const char *function)
{
    if (!strncmp(function, "kn_", 3)) kni_error_named(function + 3);
}

uint64_t kni_error_number(void)
{
    const kni_failure *f = latest(kni_thread_self());
    return f ? f->number : 0;
}

kn_status kni_told(uint64_t before, kn_status status, const char *function)
{
    if (status == KN_OK || kni_error_number() != before) return status;
    char older[KNI_ERROR_TEXT / 2] = "";
    kni_text text = {older, sizeof older, 0};
    /* An older failure may be handed on, under its own code, so that its text must not be lost. */
    if (kni_latest_code() == status) kni_text_string(&text, kni_failure_latest());
    return kni_fail(status, "%s returned %s and told no reason%s%s", function, kn_status_name(status),
                    *older ? ", unless it is the latest error on this thread: " : "", older);
}

kn_tensor kni_poison_latest(void)
{
    kni_thread *t = kni_thread_self();
    if (!t->last_error) kni_fail(KN_ERROR_INTERNAL, "an op failed without saying why");
    uint64_t number = latest(t)->number;
    return (kn_tensor){(UINT64_C(1) << 63) | ((uint64_t)index_of(number) << NUMBER_BITS) | number};
}

kn_status kni_fail_again(kn_tensor poison, const char *name)
{
    if (poison.bits == kni_poison_latest().bits) return kn_error_code(poison);
    return kni_fail_carried(poison, name, "a tensor");
}

kn_status kni_fail_carried(kn_tensor poison, const char *name, const char *format, ...)
{
    char text[KNI_ERROR_LINE], given[KNI_CARRIER_TEXT] = "";
    kni_text what = {given, sizeof given, 0};
    va_list a;
    va_start(a, format);
    kni_text_format_list(&what, format, a);
    va_end(a);
    kni_error_text(poison, text, sizeof text);
    return kni_fail_op(kn_error_code(poison), name, "%s carries an error: %s", given, text);
}

kn_status kni_latest_code(void)
{
    const kni_failure *f = latest(kni_thread_self());
    return f ? f->code : KN_OK;
}

/* Copies the record of a poisoned handle; false when it has been used again since. */
static bool of_handle(kn_tensor t, kni_failure *f)
{
    uint64_t index = (t.bits >> NUMBER_BITS) & 0x7FFFFF, number = t.bits & NUMBER_MASK;
    bool found = false;
    kni_guard_lock(&lock);
    if (index < RECORDS && number && pool[index].number == number) {
        *f = pool[index];
        found = true;
    }
    kni_guard_unlock(&lock);
    return found;
}

static void tell(kn_log_level level, const char *line)
{
    kni_guard_lock(&lock);
    kn_log_fn fn = log_fn;
    void *context = log_context;
    kni_guard_unlock(&lock);
    if (fn) fn(context, level, line);
}

static void place(kni_failure *f, const char *site)
{
    if (f->placed) return;
    f->placed = true;
    kni_text text = {f->text, sizeof f->text, strlen(f->text)};
    size_t room = text.capacity - text.length - 1, length = strlen(site);
    kni_text_string(&text, "   ");
    /* The end of a long path tells more than its beginning. */
    if (length + 3 > room) {
        kni_text_string(&text, "...");
        site += length + 6 - room;
    }
    kni_text_string(&text, site);
}

/* Gives the line to all failures of the thread since the one that waits for it: a composite that fails in several places
   has one line, whichever of them its result carries. Under the lock. */
static void place_since(const kni_thread *t, const kni_failure *first, const char *site)
{
    uint64_t age = failures & NUMBER_MASK;
    age = age >= first->number ? age - first->number : 0;
    for (uint64_t n = 0; n <= age && n < RECORDS; n++) {
        kni_failure *f = &pool[index_of(first->number + n)];
        if (f->number == first->number + n && f->thread == t->id) place(f, site);
    }
}

/* Ends the wait for a site, which may be NULL, and logs the failure. */
static void settle(kni_thread *t, const char *site)
{
    kni_history *h = t->history;
    kni_failure *f = &pool[t->pending_error - 1], told;
    uint64_t number = h && index_of(h->pending_number) + 1 == t->pending_error ? h->pending_number : 0;
    t->pending_error = 0;
    kni_guard_lock(&lock);
    bool mine = !number || f->number == number;
    if (mine && site) place_since(t, f, site);
    if (mine) told = *f, f->told = true;
    kni_guard_unlock(&lock);
    if (t->latest && t->latest->number && site) place(t->latest, site);
    if (mine && !told.told) tell(KN_LOG_ERROR, told.text);
}

void kni_error_site(kni_thread *t, const char *site) { settle(t, site); }

void kni_error_flush(kni_thread *t)
{
    if (t->pending_error) settle(t, NULL);
}

void kni_error_forget(kni_thread *t) { t->pending_error = 0; }

void kn_site_pending(const char *site)
{
    kni_thread *t = kni_thread_self();
    if (KNI_UNLIKELY(t->line_wanted)) kni_line_arrived(t, site);
    if (t->pending_error) settle(t, site);
}

void kni_error_lineless(kni_thread *t)
{
    const kni_failure *last = latest(t);
    kni_error_flush(t);
    if (!last) return;
    uint64_t number = last->number;
    kni_guard_lock(&lock);
    if (pool[index_of(number)].number == number) pool[index_of(number)].placed = true;
    kni_guard_unlock(&lock);
    if (t->latest && t->latest->number == number) t->latest->placed = true;
}

/* A failure whose text was read inside the library before the call returned is not pending any more. */
void kn_site_failure(const char *site)
{
    kni_thread *t = kni_thread_self();
    const kni_failure *f = latest(t);
    if (!t->pending_error && f && !f->placed) wait_for_line(t, f);
    kn_site_pending(site);
}

void kni_log(int level, const char *format, ...)
{
    char line[KNI_ERROR_TEXT] = "";
    kni_text text = {line, sizeof line, 0};
    va_list a;
    va_start(a, format);
    kni_text_format_list(&text, format, a);
    va_end(a);
    end_after_word(&text);
    tell((kn_log_level)level, line);
}

void kn_log_set(kn_log_fn fn, void *context)
{
    kni_guard_lock(&lock);
    log_fn = fn;
    log_context = context;
    kni_guard_unlock(&lock);
}

/* The poison that a handle is, or that was found in what it names after the op had returned. */
static kn_tensor late_or_own(kn_tensor t)
{
    const kni_tensor *x = kni_is_poisoned(t) ? NULL : kni_peek(t);
    if (x) (void)kni_tensor_failed(x, &t);
    return t;
}

/* What the handle carries: its own poison, or the failure of its value that was found after the op had returned. */
static kn_tensor poison_of(kn_tensor t)
{
    if (kni_is_poisoned(t)) return t;
    const kni_tensor *x = kni_peek(t);
    kn_tensor error;
    return x && kni_tensor_failed(x, &error) ? error : KN_NONE;
}

/* A handle that was a tensor's and is none now: nothing failed, but it can be used no more. */
static bool is_stale(kn_tensor t) { return t.bits && !kni_is_poisoned(t) && !kni_peek(t); }

bool kni_error_was_told(kn_tensor t)
{
    uint64_t index = (t.bits >> NUMBER_BITS) & 0x7FFFFF, number = t.bits & NUMBER_MASK;
    kni_guard_lock(&lock);
    bool told = number > 0 && number <= failures && index == index_of(number);
    kni_guard_unlock(&lock);
    return told;
}

static const char reused[] = "the record of this error was used again; read errors sooner";
static const char stale[] = "this handle names no live tensor: it was dropped or taken, or its scope ended";

/* The text of what the handle carries; nothing for a good one. */
static void put_text(kni_text *text, kn_tensor t)
{
    kni_failure f;
    if (is_stale(t)) {
        kni_text_string(text, stale);
        return;
    }
    t = poison_of(late_or_own(t));
    if (t.bits) kni_text_string(text, of_handle(t, &f) ? f.text : reused);
}

static kni_text text_in(char *buffer, size_t n)
{
    if (buffer && n) buffer[0] = 0;
    return (kni_text){buffer, buffer ? n : 0, 0};
}

size_t kn_error_text(kn_tensor t, char *buffer, size_t n)
{
    kni_text text = text_in(buffer, n);
    if (!is_stale(t) && poison_of(late_or_own(t)).bits) kni_error_flush(kni_thread_self());
    put_text(&text, t);
    return text.length;
}

size_t kni_error_text(kn_tensor t, char *buffer, size_t n)
{
    kni_text text = text_in(buffer, n);
    put_text(&text, t);
    size_t whole = text.length;
    if (text.capacity > KNI_CARRIER_TEXT) end_after_word(&text); /* a small place has no room for a mark */
    return whole;
}

kn_status kni_failure_again(kn_tensor t)
{
    kni_thread *thread = kni_thread_self();
    kni_failure f;
    if (is_stale(t)) return kni_fail(KN_ERROR_HANDLE, "%s", stale);
    t = poison_of(late_or_own(t));
    if (!t.bits) return KN_OK;
    if (!of_handle(t, &f)) return kni_fail(KN_ERROR_INTERNAL, "%s", reused);
    const kni_failure *last = latest(thread);
    if (!last || last->number != f.number) {
        if (!thread->context.call_name) kni_error_flush(thread);
        thread->last_error = index_of(f.number) + 1;
        if (thread->latest) *thread->latest = f;
    }
    if (!thread->pending_error && !f.placed) wait_for_line(thread, &f);
    return f.code;
}

kn_status kn_error_code(kn_tensor t)
{
    if (is_stale(t)) return KN_ERROR_HANDLE;
    t = late_or_own(t);
    t = poison_of(t);
    if (!t.bits) return KN_OK;
    kni_failure f;
    return of_handle(t, &f) ? f.code : KN_ERROR_INTERNAL;
}

const char *kn_last_error(void)
{
    kni_thread *t = kni_thread_self();
    kni_error_flush(t);
    const kni_failure *f = latest(t);
    return f ? f->text : "";
}

const char *kni_failure_latest(void)
{
    const kni_failure *f = latest(kni_thread_self());
    return f ? f->text : "";
}

const char *kni_failure_taken(void)
{
    kni_error_forget(kni_thread_self());
    return kni_failure_latest();
}

void kni_error_excuse(void)
{
    (void)kni_failure_taken();
    kni_thread_self()->excused = kni_error_number();
}

bool kni_error_excused(void)
{
    uint64_t number = kni_error_number();
    return number && kni_thread_self()->excused == number;
}

const char *kn_status_name(kn_status status)
{
    static const char *const names[] = {"ok",       "argument", "shape",  "dtype",       "handle",
                                        "memory",   "device",   "index",  "unsupported", "gradient",
                                        "internal", "io",       "numeric"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

/* Whether the thread's latest failure is this one, handed on: it stays one failure, waits for a line where it has none,
   and is told once. */
static bool goes_on(kni_thread *t, kn_status code, const char *message)
{
    const kni_failure *f = latest(t);
    if (!f || f->code != code || (message && strcmp(message, f->text))) return false;
    kni_guard_lock(&lock);
    bool there = pool[index_of(f->number)].number == f->number;
    kni_guard_unlock(&lock);
    if (there && !t->pending_error && !f->placed) wait_for_line(t, f);
    return there;
}

kn_tensor kn_poison(kn_status code, const char *message)
{
    kni_thread *t = kni_thread_self();
    if (goes_on(t, code, message)) return kni_poison_latest();
    const kni_failure *f = latest(t);
    const char *text = message ? message : f ? f->text : "no message";
    kni_fail(code == KN_OK ? KN_ERROR_ARGUMENT : code, "%s", text);
    return kni_poison_latest();
}
