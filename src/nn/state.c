/* States: named tensors and texts in the order they were put. A hash table of positions makes putting and getting cheap for
   models with many thousands of tensors. */
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

struct kn_state_object {
    directory tensors, texts;
};

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

kn_state kn_state_make(void)
{
    kn_state state = calloc(1, sizeof *state);
    if (!state) (void)kni_failure_memory("kn_state_make");
    return state;
}

void kn_state_free(kn_state state)
{
    if (!state) return;
    clear(&state->tensors);
    clear(&state->texts);
    free(state);
}

kn_status kn_state_put(kn_state state, const char *prefix, const char *name, kn_tensor value)
{
    if (!state) return kni_failure(KN_ERROR_ARGUMENT, "kn_state_put: the state is NULL");
    kn_status bad = kni_failure_of(value);
    if (bad != KN_OK) return bad;
    /* Detaching takes a temporary and aliases the others; a state needs no tape. */
    kn_tensor owned = kn_own(kn_detach(value));
    if (!kn_ok(owned)) return kni_failure_of(owned);
    kni_buffer full = {0};
    const char *text = joined(&full, prefix, name);
    entry *e = text ? obtain(&state->tensors, text) : NULL;
    kni_buffer_free(&full);
    if (!e) {
        kn_drop(owned);
        return kni_failure_memory("kn_state_put");
    }
    kn_drop(e->value);
    e->value = owned;
    return KN_OK;
}

kn_tensor kn_state_get(kn_state state, const char *prefix, const char *name)
{
    if (!state) return KN_NONE;
    kni_buffer full = {0};
    const char *text = joined(&full, prefix, name);
    const entry *e = text ? find(&state->tensors, text) : NULL;
    kni_buffer_free(&full);
    return e ? e->value : KN_NONE;
}

kn_status kn_state_put_int(kn_state state, const char *prefix, const char *name, int64_t value)
{
    return kn_state_put(state, prefix, name, kn_scalar_int(value, KN_I64));
}

kn_status kn_state_put_real(kn_state state, const char *prefix, const char *name, double value)
{
    return kn_state_put(state, prefix, name, kn_scalar(value, KN_F64));
}

bool kn_state_get_int(kn_state state, const char *prefix, const char *name, int64_t *value)
{
    kn_tensor t = kn_state_get(state, prefix, name);
    return kn_ok(t) && kn_count(t) == 1 && kn_read_as(t, KN_I64, value, sizeof *value) == KN_OK;
}

bool kn_state_get_real(kn_state state, const char *prefix, const char *name, double *value)
{
    kn_tensor t = kn_state_get(state, prefix, name);
    return kn_ok(t) && kn_count(t) == 1 && kn_read_as(t, KN_F64, value, sizeof *value) == KN_OK;
}

kn_status kn_state_put_text(kn_state state, const char *name, const char *text)
{
    if (!state || !name || !text)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_state_put_text: the state, name or text is NULL");
    size_t length = strlen(text) + 1;
    char *copy = malloc(length);
    entry *e = copy ? obtain(&state->texts, name) : NULL;
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
    const entry *e = state && name ? find(&state->texts, name) : NULL;
    return e ? e->text : NULL;
}

int64_t kn_state_count(kn_state state) { return state ? state->tensors.count : 0; }

const char *kn_state_name(kn_state state, int64_t index, kn_tensor *value)
{
    if (!state || index < 0 || index >= state->tensors.count) return NULL;
    if (value) *value = state->tensors.entries[index].value;
    return state->tensors.entries[index].name;
}

int64_t kn_state_text_count(kn_state state) { return state ? state->texts.count : 0; }

const char *kn_state_text_name(kn_state state, int64_t index, const char **text)
{
    if (!state || index < 0 || index >= state->texts.count) return NULL;
    if (text) *text = state->texts.entries[index].text;
    return state->texts.entries[index].name;
}
