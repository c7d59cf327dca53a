/* A hash table of names with open addressing, at most half full. */
#include "onnx/read/name_table.h"
#include <string.h>

bool kni_name_table_make(kni_name_table *names, kni_onnx_arena *arena, size_t count)
{
    size_t size = 4;
    while (size / 2 < count && size < SIZE_MAX / 4) size *= 2;
    names->entries = kni_onnx_arena_take(arena, size, sizeof *names->entries);
    names->mask = size - 1;
    names->count = 0;
    return names->entries != NULL;
}

static uint32_t hash_of(const char *name)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++) hash = (hash ^ *p) * 0x100000001B3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static kni_name_place *place_of(const kni_name_table *names, const char *name, uint32_t hash)
{
    size_t at = hash & names->mask;
    for (;; at = (at + 1) & names->mask) {
        kni_name_place *e = &names->entries[at];
        if (!e->name || (e->hash == hash && !strcmp(e->name, name))) return e;
    }
}

int32_t *kni_name_table_put(kni_name_table *names, const char *name)
{
    uint32_t hash = hash_of(name);
    kni_name_place *e = place_of(names, name, hash);
    if (!e->name) {
        *e = (kni_name_place){name, hash, -1};
        names->count++;
    }
    return &e->number;
}

const int32_t *kni_name_table_at(const kni_name_table *names, const char *name)
{
    const kni_name_place *e = place_of(names, name, hash_of(name));
    return e->name ? &e->number : NULL;
}

int32_t kni_name_table_find(const kni_name_table *names, const char *name)
{
    const int32_t *number = kni_name_table_at(names, name);
    return number ? *number : -1;
}
