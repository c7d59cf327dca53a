/* Device strings: name, name:argument, or decorator(inner, inner). */
#include "core/backends.h"
#include "core/device_object.h"
#include "core/error.h"
#include "core/life.h"
#include "core/text.h"
#include "ops/op.h"
#include "wrap/wrap.h"
#include <kn/device.h>
#include <string.h>

static kn_backend *open_ref(const char *a, kn_backend *const *i, int32_t n)
{
    return (void)a, (void)i, (void)n, kni_ref_backend();
}
static kn_backend *open_cpu(const char *a, kn_backend *const *i, int32_t n)
{
    return (void)a, (void)i, (void)n, kni_cpu_backend_grouping();
}
static kn_backend *open_null(const char *a, kn_backend *const *i, int32_t n)
{
    return (void)a, (void)i, (void)n, kni_null_backend();
}

enum {
    ANY_NUMBER = -1,   /* registered from outside: what it is given is its own matter */
    DEVICE_NUMBER = -2 /* a leaf with a number behind its name */
};
enum { MAX_NAMES = 32, MAX_NAME = 32, MAX_SPEC = 120, MAX_NESTING = 8 };

typedef struct opener {
    char name[MAX_NAME];
    kn_backend_open_fn open;
    int inner; /* devices between the brackets; else one of these */
} opener;

static opener openers[MAX_NAMES] = {
    {"cpu", open_cpu, 0},         {"ref", open_ref, 0},
    {"null", open_null, 0},       {"autodiff", kni_autodiff_open, 1},
    {"check", kni_check_open, 2}, {"fusion", kni_fusion_open, 1},
    {"trace", kni_trace_open, 1}, {"profile", kni_profile_open, 1},
    {"nan", kni_nan_open, 1},
#define DEVICE(name, ...) {#name, kni_##name##_open, DEVICE_NUMBER},
#include "core/devices.def"
#undef DEVICE
};
#define WHITE " \t\n\r"
static kni_mutex lock = KNI_MUTEX_INIT;

static int opener_count(void)
{
    int n = 0;
    while (n < MAX_NAMES && openers[n].open) n++;
    return n;
}

static const opener *find(const char *name, size_t length)
{
    for (int i = 0; i < opener_count(); i++)
        if (strlen(openers[i].name) == length && !memcmp(openers[i].name, name, length)) return &openers[i];
    return NULL;
}

static kn_backend *unknown(const char *name, size_t length)
{
    char given[MAX_NAME] = "", known[160] = "";
    kni_text g = {given, sizeof given, 0}, k = {known, sizeof known, 0};
    for (size_t i = 0; i < length; i++) kni_text_char(&g, name[i]);
    for (int i = 0; i < opener_count(); i++) kni_text_format(&k, "%s%s", i ? ", " : "", openers[i].name);
    kni_fail(KN_ERROR_DEVICE, "kn_device_open: there is no device or decorator called '%s'; known are %s",
             given, known);
    return NULL;
}

static void skip_space(const char **s)
{
    while (**s == ' ') (*s)++;
}

/* A device made of this backend alone, so that records can be routed to it. */
static bool ensure_device(kn_backend *b, const char *begin, size_t length)
{
    char name[MAX_SPEC + 8] = "";
    kni_text text = {name, sizeof name, 0};
    if (b->device) return true;
    for (size_t i = 0; i < length; i++)
        if (begin[i] != ' ') kni_text_char(&text, begin[i]);
    return kni_device_make(b, name) != NULL;
}

/* An opener that gives no backend and tells no reason: a text that says so. */
static void opener_told(const opener *o, uint64_t before)
{
    if (kni_error_number() != before) return;
    kni_fail(
        KN_ERROR_DEVICE,
        "kn_device_open: the opener of %s gave no backend and told no reason (kn_backend_fail() tells one)",
        o->name);
}

static kn_backend *parse(const char **s, int depth)
{
    kn_backend *inner[4] = {NULL};
    char argument[MAX_NAME] = "";
    kni_text text = {argument, sizeof argument, 0};
    int n = 0;
    skip_space(s);
    const char *begin = *s;
    size_t length = strcspn(begin, "(),: ");
    const opener *o = find(begin, length);
    if (!o) return unknown(begin, length);
    *s += length;
    if (**s == ':')
        for ((*s)++; **s && !strchr("(), ", **s); (*s)++) kni_text_char(&text, **s);
    skip_space(s);
    if (**s == '(') {
        do {
            (*s)++;
            if (depth == MAX_NESTING || n == 4) {
                kni_fail(KN_ERROR_DEVICE, "kn_device_open: nested too deep or too wide");
                return NULL;
            }
            inner[n] = parse(s, depth + 1);
            if (!inner[n++]) return NULL;
            skip_space(s);
        } while (**s == ',');
        if (**s != ')') {
            kni_fail(KN_ERROR_DEVICE, "kn_device_open: a closing bracket is missing at '%s'", *s);
            return NULL;
        }
        (*s)++;
    }
    if (o->inner >= 0 && n != o->inner) {
        kni_fail(KN_ERROR_DEVICE, "kn_device_open: %s takes %d devices in brackets, not %d", o->name,
                 o->inner, n);
        return NULL;
    }
    bool built_in_leaf = o->inner == 0, outside = o->inner < 0;
    if (built_in_leaf && *argument && strcmp(argument, "0")) {
        kni_fail(KN_ERROR_DEVICE, "kn_device_open: there is no %s:%s: %s is one device; leave the index out",
                 o->name, argument, o->name);
        return NULL;
    }
    uint64_t before = kni_error_number();
    kn_backend *b = o->open(argument, inner, n), *given = b;
    if (!b && outside) opener_told(o, before);
    if (b && outside) b = kni_outside_open(o->name, b, inner, n);
    if (!b) return NULL;
    if (o->inner == DEVICE_NUMBER) b->traits |= given->traits & (uint32_t)KNI_TRAIT_ORDERS; /* one of ours */
    if (kni_stack_makes_sense(b, "kn_device_open") &&
        ensure_device(b, begin, built_in_leaf ? length : (size_t)(*s - begin))) {
        if (outside) kni_outside_opened(b);
        return b;
    }
    if (o->inner != 0 && b->close) b->close(b); /* no device owns it; leaves are there once for all */
    return NULL;
}

/* Writes the name of the device: spec without the spaces that parse() skips, so that we find a closed stack of that name. We keep
   a space inside a word, and parse() rejects it. */
static void without_spaces(const char *spec, char *name, size_t bytes)
{
    kni_text text = {name, bytes, 0};
    name[0] = 0;
    for (; *spec; spec++) {
        char before = text.length ? name[text.length - 1] : '(', after = spec[strspn(spec, " ")];
        if (*spec != ' ' || !(strchr("(),", before) || strchr("(),", after))) kni_text_char(&text, *spec);
    }
}

/* The list of names is whole at every moment; only its lock may have been held by a thread of the parent. */
static void forked(void) { kni_renew(&lock); }

kn_device kn_device_open(const char *spec)
{
    KNI_NAMED; /* leaves tell their failures without a name */
    if (!spec || strlen(spec) > MAX_SPEC) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_device_open: the text is NULL or longer than %d", (int)MAX_SPEC);
        return NULL;
    }
    static kni_life_hook hook = {.forked = KNI_IN_CHILD(forked)};
    kni_fork_watch(&hook);
    char name[MAX_SPEC + 8];
    without_spaces(spec, name, sizeof name);
    const char *s = spec;
    kn_device again = kni_device_reopen(name, NULL);
    if (again) return kni_device_handle(again);
    kni_lock(&lock);
    kn_backend *b = parse(&s, 0);
    kni_unlock(&lock);
    if (!b) return NULL;
    skip_space(&s);
    if (*s) {
        kni_fail(KN_ERROR_DEVICE, "kn_device_open: '%s' is left over at the end of '%s'", s, spec);
        return NULL;
    }
    return kni_device_opened(b->device);
}

bool kn_device_describe(int32_t n, char *text, size_t bytes)
{
    static bool (*const kinds[])(int32_t, char *, size_t) = {
#define DEVICE(name, ...) kni_##name##_describe,
#include "core/devices.def"
#undef DEVICE
        NULL};
    char unused[8];
    if (!text || !bytes) {
        text = unused;
        bytes = sizeof unused;
    }
    for (int k = 0; kinds[k] && n >= 0; k++) {
        int32_t count = 0;
        for (; count <= n; count++)
            if (!kinds[k](count, text, bytes)) break;
        if (count > n) return true;
        n -= count;
    }
    text[0] = 0;
    return false;
}

bool kn_device_enumerate(int32_t n, char *name, size_t bytes)
{
    if (n < 0 || n >= opener_count()) return false;
    if (bytes && !name) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_device_enumerate: the buffer for the name is NULL");
        return false;
    }
    kni_text text = {name, bytes, 0};
    if (bytes) name[0] = 0;
    kni_text_string(&text, openers[n].name);
    return true;
}

kn_status kn_backend_register(const char *name, kn_backend_open_fn open)
{
    kn_status s = KN_OK;
    kni_lock(&lock);
    int n = opener_count();
    if (!name || !open || !*name || strlen(name) >= MAX_NAME || n == MAX_NAMES || find(name, strlen(name))) {
        s = kni_fail(KN_ERROR_ARGUMENT,
                     "kn_backend_register: the name is missing, too long or taken, or the list is full");
    } else if (name[strcspn(name, "(),:" WHITE)]) {
        s = kni_fail(
            KN_ERROR_ARGUMENT,
            "kn_backend_register: '%s' cannot be a name, because a device string has brackets, commas, "
            "colons and spaces between names",
            name);
    } else {
        memcpy(openers[n].name, name, strlen(name) + 1);
        openers[n].inner = ANY_NUMBER;
        openers[n].open = open;
    }
    kni_unlock(&lock);
    return s;
}
