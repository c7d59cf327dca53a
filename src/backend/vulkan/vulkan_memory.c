/* The device's memory. Drivers allow a few thousand allocations, so small pieces are parts of chunks, found first fit; a large piece is a
   chunk of its own. Commands run in the order in which they are recorded, so a part may be used again at once; a chunk is given back
   only when nothing runs. */
#include "backend/vulkan/vulkan_driver.h"
#include "core/allocator.h"
#include <string.h>

enum { CHUNK = 32 << 20, LARGE = 4 << 20 };

typedef struct hole {
    uint64_t offset, bytes;
} hole;

struct vulkan_chunk {
    vk_buffer buffer;
    vk_memory memory;
    uint64_t bytes, used;
    hole *holes; /* in the order of their offsets, none touching the next */
    size_t n_holes, hole_room;
    vulkan_chunk *next;
};

static uint32_t find_type(const vulkan *v, uint32_t allowed, uint32_t flags)
{
    for (uint32_t i = 0; i < v->types.n_types; i++)
        if ((allowed & 1u << i) && (v->types.types[i].flags & flags) == flags) return i;
    return UINT32_MAX;
}

int32_t kni_vulkan_make_buffer(vulkan *v, uint64_t bytes, uint32_t usage, uint32_t wanted, uint32_t liked,
                               vk_buffer *buffer, vk_memory *memory)
{
    const kni_vulkan_api *a = v->api;
    const vk_buffer_info info = {.is = VK_IS_BUFFER, .bytes = bytes, .usage = usage};
    vk_requirements needs;
    int32_t status = a->create_buffer(v->device, &info, NULL, buffer);
    if (status) return status;
    a->requirements(v->device, *buffer, &needs);
    uint32_t type = find_type(v, needs.types, wanted | liked);
    if (type == UINT32_MAX) type = find_type(v, needs.types, wanted);
    const vk_memory_info memory_info = {.is = VK_IS_MEMORY, .bytes = needs.bytes, .type = type};
    status = type == UINT32_MAX ? VK_NO_DEVICE_MEMORY : a->allocate(v->device, &memory_info, NULL, memory);
    if (!status) {
        status = a->bind(v->device, *buffer, *memory, 0);
        if (status) a->free(v->device, *memory, NULL);
    }
    if (status) a->destroy_buffer(v->device, *buffer, NULL);
    return status;
}

static void free_chunk(vulkan *v, vulkan_chunk *c)
{
    v->api->destroy_buffer(v->device, c->buffer, NULL);
    v->api->free(v->device, c->memory, NULL);
    v->used_bytes -= c->bytes;
    if (c->holes) kni_free(c->holes, c->hole_room * sizeof *c->holes);
    kni_free(c, sizeof *c);
}

void kni_vulkan_free_chunks(vulkan *v)
{
    for (vulkan_chunk *c = v->chunks, *next; c; c = next) {
        next = c->next;
        free_chunk(v, c);
    }
    v->chunks = NULL;
}

static vulkan_chunk *new_chunk(vulkan *v, uint64_t bytes)
{
    enum { ROOM = 16 };
    vulkan_chunk *c = kni_allocate(sizeof *c);
    if (!c) return NULL;
    *c = (vulkan_chunk){.bytes = bytes, .hole_room = ROOM, .holes = kni_allocate(ROOM * sizeof *c->holes)};
    if (!c->holes || kni_vulkan_make_buffer(v, bytes, VK_USE_STORAGE | VK_USE_COPY_FROM | VK_USE_COPY_TO, 0,
                                            VK_ON_DEVICE, &c->buffer, &c->memory)) {
        if (c->holes) kni_free(c->holes, ROOM * sizeof *c->holes);
        kni_free(c, sizeof *c);
        return NULL;
    }
    c->holes[0] = (hole){0, bytes};
    c->n_holes = 1;
    c->next = v->chunks;
    v->chunks = c;
    v->used_bytes += bytes;
    return c;
}

static bool take(vulkan_chunk *c, uint64_t bytes, uint64_t *offset)
{
    for (size_t i = 0; i < c->n_holes; i++) {
        hole *h = &c->holes[i];
        if (h->bytes < bytes) continue;
        *offset = h->offset;
        h->offset += bytes;
        h->bytes -= bytes;
        if (!h->bytes) memmove(h, h + 1, (--c->n_holes - i) * sizeof *h);
        c->used += bytes;
        return true;
    }
    return false;
}

void *kni_vulkan_allocate(kni_driver *d, size_t bytes)
{
    vulkan *v = kni_vulkan_of(d);
    uint64_t offset = 0, size = (bytes ? (uint64_t)bytes : 1) + VULKAN_ALIGNMENT - 1;
    size -= size % VULKAN_ALIGNMENT;
    if (size < bytes || size > v->max_range) return NULL;
    vulkan_memory *m = kni_allocate(sizeof *m);
    if (!m) return NULL;
    vulkan_chunk *c = size >= LARGE ? NULL : v->chunks;
    while (c && !take(c, size, &offset)) c = c->next;
    if (!c) {
        c = new_chunk(v, size >= LARGE ? size : CHUNK);
        if (c) (void)take(c, size, &offset);
    }
    if (!c) {
        kni_free(m, sizeof *m);
        return NULL;
    }
    *m = (vulkan_memory){c, offset, size};
    return m;
}

/* Adds a hole and joins it with its neighbours. Without memory for one more the part stays taken until the chunk goes. */
static void put_back(vulkan_chunk *c, uint64_t offset, uint64_t bytes)
{
    size_t i = 0;
    while (i < c->n_holes && c->holes[i].offset < offset) i++;
    hole *before = i ? &c->holes[i - 1] : NULL, *behind = i < c->n_holes ? &c->holes[i] : NULL;
    bool joins = before && before->offset + before->bytes == offset;
    bool meets = behind && offset + bytes == behind->offset;
    c->used -= bytes;
    if (joins) {
        before->bytes += bytes + (meets ? behind->bytes : 0);
        if (meets) memmove(behind, behind + 1, (--c->n_holes - i) * sizeof *behind);
    } else if (meets) {
        behind->offset -= bytes;
        behind->bytes += bytes;
    } else {
        if (c->n_holes == c->hole_room) {
            size_t room = c->hole_room * 2;
            hole *more = kni_reallocate(c->holes, c->hole_room * sizeof *more, room * sizeof *more);
            if (!more) return;
            c->holes = more;
            c->hole_room = room;
        }
        memmove(c->holes + i + 1, c->holes + i, (c->n_holes - i) * sizeof *c->holes);
        c->holes[i] = (hole){offset, bytes};
        c->n_holes++;
    }
}

void kni_vulkan_free(kni_driver *d, void *memory)
{
    vulkan *v = kni_vulkan_of(d);
    vulkan_memory *m = memory;
    if (!m) return;
    vulkan_chunk *c = m->chunk;
    put_back(c, m->offset, m->bytes);
    kni_vulkan_retire(v, m, 0);
    /* One empty chunk of the small size stays, for the next piece. */
    if (c->used || (c->bytes == CHUNK && c == v->chunks && !c->next)) return;
    if (kni_vulkan_sync(d) != KN_OK && !v->lost) return;
    for (vulkan_chunk **at = &v->chunks; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    free_chunk(v, c);
}

vk_buffer kni_vulkan_buffer(const vulkan_memory *m) { return m->chunk->buffer; }
