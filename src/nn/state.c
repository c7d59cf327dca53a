/* States: named tensors and texts in the order they were put. A hash table of positions makes putting and getting cheap for
   models with many thousands of tensors. */
#include "core/objects.h"
#include "support/buffer.h"
#include "support/failure.h"
#include <kn/autodiff.h>
#include <kn/state.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    char *name;
    kn_tensor value; /* owned */
    char *text;      /* of a text */
} entry;

/* Entries by name. slots[h] is a position + 1, 0 when free; there are always twice as many slots as entries. */
typedef struct directory {
    entry *entries;
    int64_t count, capacity;
    uint32_t *slots;
    size_t slot_count;
} directory;

typedef struct kni_state {
    directory tensors, texts;
} kni_state;

static size_t slot_of(const directory *d, const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *c = name; *c; c++) hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    size_t i = (size_t)(hash ^ hash >> 29) & (d->slot_count - 1);
    while (d->slots[i] && strcmp(d->entries[d->slots[i] - 1].name, name) != 0)
        i = (i + 1) & (d->slot_count - 1);
    return i;
}

static entry *find(const directory *d, const char *name)
{
    if (!d->slot_count) return NULL;
    uint32_t position = d->slots[slot_of(d, name)];
    return position ? &d->entries[position - 1] : NULL;
}

static bool grow(directory *d)
{
    int64_t capacity = d->capacity ? d->capacity * 2 : 16;
    if (capacity > INT32_MAX) return false;
    entry *entries = realloc(d->entries, (size_t)capacity * sizeof *entries);
    if (!entries) return false;
    d->entries = entries;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof *slots);
    if (!slots) return false;
    free(d->slots);
    d->slots = slots;
    d->slot_count = (size_t)capacity * 2;
    d->capacity = capacity;
    for (int64_t i = 0; i < d->count; i++) d->slots[slot_of(d, d->entries[i].name)] = (uint32_t)i + 1;
    return true;
}

/* The entry called name, made when there is none; NULL without memory. */
static entry *obtain(directory *d, const char *name)
{
    entry *e = find(d, name);
    if (e) return e;
    if (d->count == d->capacity && !grow(d)) return NULL;
    size_t length = strlen(name) + 1;
    char *copy = malloc(length);
    if (!copy) return NULL;
    memcpy(copy, name, length);
    size_t slot = slot_of(d, name);
    e = &d->entries[d->count];
    *e = (entry){copy, KN_NONE, NULL};
    d->slots[slot] = (uint32_t)++d->count;
    return e;
}

static void clear(directory *d)
{
    for (int64_t i = 0; i < d->count; i++) {
        free(d->entries[i].name);
        free(d->entries[i].text);
        kn_drop(d->entries[i].value);
    }
    free(d->entries);
    free(d->slots);
}

/* prefix + name in buffer b. */
static const char *joined(kni_buffer *b, const char *prefix, const char *name)
{
    kni_buffer_text(b, prefix ? prefix : "");
    kni_buffer_text(b, name ? name : "");
    return b->failed ? NULL : kni_buffer_string(b);
}

static void destroy_state(void *object)
{
    kni_state *s = object;
    clear(&s->tensors);
    clear(&s->texts);
    free(s);
}

const kni_object_kind kni_kind_state = {"kn_state", "state", "freed", destroy_state};

kn_state kn_state_make(void)
{
    kni_state *s = calloc(1, sizeof *s);
    if (s) return kni_object_make(&kni_kind_state, s, __func__);
    (void)kni_failure_memory(__func__);
    return NULL;
}

void kn_state_free(kn_state state) { kni_object_free(state, &kni_kind_state, __func__); }

static kn_status put(kni_state *s, const char *prefix, const char *name, kn_tensor value,
                     const char *function)
{
    kn_status bad = kni_failure_of(value);
    if (bad == KN_OK && !name) bad = kni_failure(KN_ERROR_ARGUMENT, "%s: the name is NULL", function);
    if (bad != KN_OK) return bad;
    /* Detaching takes a temporary and aliases the others; a state needs no tape. */
    kn_tensor owned = kn_own(kn_detach(value));
    bad = kni_failure_dropped(owned);
    if (bad != KN_OK) return bad;
    kni_buffer full = {0};
    const char *text = joined(&full, prefix, name);
    entry *e = text ? obtain(&s->tensors, text) : NULL;
    kni_buffer_free(&full);
    if (!e) {
        kn_drop(owned);
        return kni_failure_memory(function);
    }
    kn_drop(e->value);
    e->value = owned;
    return KN_OK;
}

kn_status kn_state_put(kn_state state, const char *prefix, const char *name, kn_tensor value)
{
    KNI_ENDS;
    KNI_USE(state, s, state);
    return s ? put(s, prefix, name, value, __func__) : KNI_NO_OBJECT(state);
}

kn_status kn_state_put_int(kn_state state, const char *prefix, const char *name, int64_t value)
{
    KNI_ENDS;
    KNI_USE(state, s, state);
    return s ? put(s, prefix, name, kn_scalar_int(value, KN_I64), __func__) : KNI_NO_OBJECT(state);
}

kn_status kn_state_put_real(kn_state state, const char *prefix, const char *name, double value)
{
    KNI_ENDS;
    KNI_USE(state, s, state);
    return s ? put(s, prefix, name, kn_scalar(value, KN_F64), __func__) : KNI_NO_OBJECT(state);
}

static kn_tensor get(const kni_state *s, const char *prefix, const char *name)
{
    kni_buffer full = {0};
    const char *text = joined(&full, prefix, name);
    const entry *e = text ? find(&s->tensors, text) : NULL;
    kni_buffer_free(&full);
    return e ? e->value : KN_NONE;
}

static bool get_number(const kni_state *s, const char *prefix, const char *name, kn_dtype dtype, void *value)
{
    kn_tensor t = get(s, prefix, name);
    return kn_ok(t) && kn_count(t) == 1 && kn_read_as(t, dtype, value, 8) == KN_OK;
}

kn_tensor kn_state_get(kn_state state, const char *prefix, const char *name)
{
    KNI_USE(state, s, state);
    return s ? get(s, prefix, name) : kn_poison(KNI_NO_OBJECT(state), NULL);
}

bool kn_state_get_int(kn_state state, const char *prefix, const char *name, int64_t *value)
{
    KNI_USE(state, s, state);
    return s && get_number(s, prefix, name, KN_I64, value);
}

bool kn_state_get_real(kn_state state, const char *prefix, const char *name, double *value)
{
    KNI_USE(state, s, state);
    return s && get_number(s, prefix, name, KN_F64, value);
}

kn_status kn_state_put_text(kn_state state, const char *name, const char *text)
{
    KNI_ENDS;
    KNI_USE(state, s, state);
    if (!s) return KNI_NO_OBJECT(state);
    if (!name || !text)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_state_put_text: the name or the text is NULL");
    size_t length = strlen(text) + 1;
    char *copy = malloc(length);
    entry *e = copy ? obtain(&s->texts, name) : NULL;
    if (!e) {
        free(copy);
        return kni_failure_memory("kn_state_put_text");
    }
    memcpy(copy, text, length);
    free(e->text);
    e->text = copy;
    return KN_OK;
}

const char *kn_state_get_text(kn_state state, const char *name)
{
    KNI_USE(state, s, state);
    const entry *e = s && name ? find(&s->texts, name) : NULL;
    return e ? e->text : NULL;
}

int64_t kn_state_count(kn_state state)
{
    KNI_USE(state, s, state);
    return s ? s->tensors.count : 0;
}

const char *kn_state_name(kn_state state, int64_t index, kn_tensor *value)
{
    KNI_USE(state, s, state);
    if (!s || index < 0 || index >= s->tensors.count) return NULL;
    if (value) *value = s->tensors.entries[index].value;
    return s->tensors.entries[index].name;
}

int64_t kn_state_text_count(kn_state state)
{
    KNI_USE(state, s, state);
    return s ? s->texts.count : 0;
}

const char *kn_state_text_name(kn_state state, int64_t index, const char **text)
{
    KNI_USE(state, s, state);
    if (!s || index < 0 || index >= s->texts.count) return NULL;
    if (text) *text = s->texts.entries[index].text;
    return s->texts.entries[index].name;
}
