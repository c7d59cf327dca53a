/* The device's memory. Buffers are a page or more, so small pieces are equal parts of slabs; a large piece is a buffer of its own. A
   command buffer holds what it uses, so memory may be given back while it runs; a part that is taken again is written by later commands,
   which run after it. */
#include "backend/metal/metal_driver.h"
#include "core/allocator.h"
#include <string.h>

enum { SLAB = 1 << 20, SMALLEST_BITS = 8 };

struct metal_slab {
    metal_id buffer;
    uint32_t n_parts;
    metal_slab *next;
    metal_memory parts[];
};

static metal_id new_buffer(metal *m, uint64_t bytes)
{
    if (bytes > m->most_buffer) return NULL;
    /* Metal gives more than there is, and fails when it is used. */
    if (m->used_bytes + bytes > (uint64_t)m->driver.memory_bytes) return NULL;
    metal_id buffer = m->api->get_sized(m->device, m->api->s.new_buffer, bytes, METAL_PRIVATE);
    if (buffer) m->used_bytes += bytes;
    return buffer;
}

static size_t slab_bytes(uint32_t n_parts) { return sizeof(metal_slab) + n_parts * sizeof(metal_memory); }

static bool add_slab(metal *m, int size_class)
{
    uint64_t bytes = UINT64_C(1) << (SMALLEST_BITS + size_class);
    uint32_t n = (uint32_t)(SLAB / bytes);
    metal_slab *slab = kni_allocate(slab_bytes(n));
    if (!slab) return false;
    *slab = (metal_slab){.buffer = new_buffer(m, SLAB), .n_parts = n, .next = m->slabs};
    if (!slab->buffer) {
        kni_free(slab, slab_bytes(n));
        return false;
    }
    m->slabs = slab;
    for (uint32_t i = n; i-- > 0;) {
        slab->parts[i] = (metal_memory){slab->buffer, i * bytes, bytes, slab, m->free_parts[size_class]};
        m->free_parts[size_class] = &slab->parts[i];
    }
    return true;
}

static int class_of(uint64_t bytes)
{
    int size_class = 0;
    while (size_class < METAL_CLASSES && UINT64_C(1) << (SMALLEST_BITS + size_class) < bytes) size_class++;
    return size_class;
}

void *kni_metal_allocate(kni_driver *d, size_t bytes)
{
    metal *m = kni_metal_of(d);
    if (bytes > m->most_buffer) return NULL;
    int size_class = class_of(bytes);
    if (size_class < METAL_CLASSES) {
        if (!m->free_parts[size_class] && !add_slab(m, size_class)) return NULL;
        metal_memory *part = m->free_parts[size_class];
        m->free_parts[size_class] = part->next;
        return part;
    }
    metal_memory *memory = kni_allocate(sizeof *memory);
    uint64_t room = (bytes + METAL_ALIGNMENT - 1) / METAL_ALIGNMENT * METAL_ALIGNMENT;
    if (!memory) return NULL;
    *memory = (metal_memory){.buffer = new_buffer(m, room), .bytes = room};
    if (memory->buffer) return memory;
    kni_free(memory, sizeof *memory);
    return NULL;
}

void kni_metal_free(kni_driver *d, void *given)
{
    metal *m = kni_metal_of(d);
    metal_memory *memory = given;
    if (!memory) return;
    if (memory->slab) {
        int size_class = class_of(memory->bytes);
        memory->next = m->free_parts[size_class];
        m->free_parts[size_class] = memory;
        return;
    }
    kni_metal_release(m->api, memory->buffer);
    m->used_bytes -= memory->bytes;
    kni_free(memory, sizeof *memory);
}

void kni_metal_free_slabs(metal *m)
{
    for (metal_slab *slab = m->slabs, *next; slab; slab = next) {
        next = slab->next;
        kni_metal_release(m->api, slab->buffer);
        kni_free(slab, slab_bytes(slab->n_parts));
    }
    m->slabs = NULL;
    memset(m->free_parts, 0, sizeof m->free_parts);
}
