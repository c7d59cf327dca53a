/* A list of texts with a hash table, so that a text's place is found at once: classes, columns, categories, paths. */
#include "data/data_internal.h"
#include <stdlib.h>
#include <string.h>

void kni_names_free(kni_names *names)
{
    kni_buffer_free(&names->bytes);
    kni_buffer_free(&names->offsets);
    free(names->slots);
    *names = (kni_names){0};
}

const char *kni_names_at(const kni_names *names, int64_t index)
{
    if (index < 0 || index >= names->count) return NULL;
    return names->bytes.data + ((const size_t *)(const void *)names->offsets.data)[index];
}

/* FNV-1a with a last mix, so that a power of two as table size is no weakness. */
static uint64_t hash_text(const char *text, size_t length)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++) h = (h ^ (uint8_t)text[i]) * 0x100000001b3u;
    h = (h ^ (h >> 32)) * 0x9e3779b97f4a7c15u;
    return h ^ (h >> 29);
}

static bool same(const kni_names *names, int64_t index, const char *text, size_t length)
{
    const size_t *offsets = (const size_t *)(const void *)names->offsets.data;
    size_t begin = offsets[index];
    size_t end = index + 1 < names->count ? offsets[index + 1] : names->bytes.length;
    return end - begin - 1 == length && !memcmp(names->bytes.data + begin, text, length);
}

/* The slot that holds the text or would. */
static int64_t find_slot(const kni_names *names, const char *text, size_t length)
{
    int64_t mask = names->slot_count - 1, s = (int64_t)(hash_text(text, length) & (uint64_t)mask);
    while (names->slots[s] && !same(names, names->slots[s] - 1, text, length)) s = (s + 1) & mask;
    return s;
}

int64_t kni_names_find(const kni_names *names, const char *text, size_t length)
{
    if (!names->slot_count) return -1;
    return names->slots[find_slot(names, text, length)] - 1;
}

static bool grow(kni_names *names)
{
    if ((names->count + 1) * 2 <= names->slot_count) return true;
    int64_t wanted = names->slot_count ? names->slot_count * 2 : 16;
    int64_t *slots = calloc((size_t)wanted, sizeof *slots);
    if (!slots) return false;
    free(names->slots);
    names->slots = slots;
    names->slot_count = wanted;
    const size_t *offsets = (const size_t *)(const void *)names->offsets.data;
    for (int64_t i = 0; i < names->count; i++) {
        size_t end = i + 1 < names->count ? offsets[i + 1] : names->bytes.length;
        slots[find_slot(names, names->bytes.data + offsets[i], end - offsets[i] - 1)] = i + 1;
    }
    return true;
}

int64_t kni_names_add(kni_names *names, const char *text, size_t length)
{
    int64_t found = kni_names_find(names, text, length);
    if (found >= 0) return found;
    size_t offset = names->bytes.length;
    if (!grow(names) || !kni_buffer_reserve(&names->bytes, length + 1) ||
        !kni_buffer_reserve(&names->offsets, sizeof offset))
        return -1;
    names->slots[find_slot(names, text, length)] = names->count + 1;
    kni_buffer_append(&names->bytes, text, length);
    kni_buffer_append(&names->bytes, "", 1);
    kni_buffer_append(&names->offsets, &offset, sizeof offset);
    return names->count++;
}

bool kni_names_copy(kni_names *to, const kni_names *from)
{
    const size_t *offsets = (const size_t *)(const void *)from->offsets.data;
    for (int64_t i = 0; i < from->count; i++) {
        size_t end = i + 1 < from->count ? offsets[i + 1] : from->bytes.length;
        if (kni_names_add(to, from->bytes.data + offsets[i], end - offsets[i] - 1) < 0) return false;
    }
    return true;
}

bool kni_names_add_lines(kni_names *names, const char *text, size_t length)
{
    for (size_t at = 0, end; at < length; at = end + 1) {
        for (end = at; end < length && text[end] != '\n' && text[end] != '\r';) end++;
        if (end > at && kni_names_add(names, text + at, end - at) < 0) return false;
    }
    return true;
}
