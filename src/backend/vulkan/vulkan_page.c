/* Pages: staging memory on the host and the descriptor sets of launches; and which commands must wait for each other. */
#include "backend/vulkan/vulkan_driver.h"
#include <string.h>

int32_t kni_vulkan_page_open(vulkan *v, vulkan_page *p, uint64_t staging, uint32_t sets, uint32_t descriptors)
{
    const vk_pool_size size = {VK_STORAGE_BUFFER, descriptors};
    const vk_set_pool_info pool = {.is = VK_IS_SET_POOL, .max_sets = sets, .n_sizes = 1, .sizes = &size};
    *p = (vulkan_page){.bytes = staging, .most_sets = sets, .most_descriptors = descriptors};
    int32_t status = v->api->create_set_pool(v->device, &pool, NULL, &p->sets);
    if (!status)
        status = kni_vulkan_make_buffer(v, staging, VK_USE_STORAGE | VK_USE_COPY_FROM | VK_USE_COPY_TO,
                                        VK_ON_HOST | VK_COHERENT, VK_CACHED, &p->staging, &p->memory);
    if (!status) status = v->api->map(v->device, p->memory, 0, staging, 0, (void **)&p->mapped);
    return status;
}

void kni_vulkan_page_close(vulkan *v, vulkan_page *p)
{
    if (p->sets) v->api->destroy_set_pool(v->device, p->sets, NULL);
    if (p->staging) v->api->destroy_buffer(v->device, p->staging, NULL);
    if (p->memory) v->api->free(v->device, p->memory, NULL);
    *p = (vulkan_page){0};
}

static uint64_t rounded(uint64_t bytes)
{
    uint64_t up = bytes + VULKAN_ALIGNMENT - 1;
    return up - up % VULKAN_ALIGNMENT;
}

bool kni_vulkan_page_has(const vulkan_page *p, uint64_t bytes, uint32_t n_buffers)
{
    return p->staged + rounded(bytes) <= p->bytes && p->n_sets < p->most_sets &&
           p->n_descriptors + n_buffers <= p->most_descriptors;
}

uint64_t kni_vulkan_page_take(vulkan_page *p, uint64_t bytes)
{
    uint64_t at = p->staged;
    p->staged += rounded(bytes);
    return at;
}

/* ---- what must wait for what */

vulkan_use kni_vulkan_use_of(const void *memory, uint64_t offset, uint64_t bytes, bool written)
{
    const vulkan_memory *m = memory;
    return (vulkan_use){kni_vulkan_buffer(m), m->offset + offset, bytes, written};
}

static bool meets(const vulkan_use *a, const vulkan_use *b)
{
    return (a->written || b->written) && a->buffer == b->buffer && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

bool kni_vulkan_conflicts(vulkan_hazards *h, const vulkan_use *uses, uint32_t n)
{
    bool conflict = h->n + n > VULKAN_USES;
    for (uint32_t i = 0; i < h->n && !conflict; i++)
        for (uint32_t k = 0; k < n && !conflict; k++) conflict = meets(&h->uses[i], &uses[k]);
    if (conflict) h->n = 0;
    memcpy(h->uses + h->n, uses, n * sizeof *uses);
    h->n += n;
    return conflict;
}

void kni_vulkan_barrier(vulkan *v, vk_commands commands)
{
    enum { WRITES = VK_SHADER_WRITES | VK_COPY_WRITES, READS = VK_SHADER_READS | VK_COPY_READS };
    const vk_barrier barrier = {.is = VK_IS_MEMORY_BARRIER, .before = WRITES, .after = WRITES | READS};
    uint32_t stages = VK_STAGE_COMPUTE | VK_STAGE_COPY;
    v->api->barrier(commands, stages, stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}
