/* A first-fit allocator with an address-ordered free list over the buffer given to kn_init_static.
   Neighbouring free blocks merge, so a training loop does not fragment it for ever. */
#include "core/static_arena.h"
#include "core/life.h"
#include <stdint.h>

/* Precedes each block, free or used; padded to the alignment. */
typedef struct block {
    size_t bytes; /* header included */
    struct block *next_free;
} block;

enum { HEADER = KNI_ARENA_ALIGN };

static block *free_list;
static bool active;
static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_INNER);

bool kni_arena_active(void) { return active; }

bool kni_arena_start(void *buffer, size_t bytes)
{
    uintptr_t begin = ((uintptr_t)buffer + HEADER - 1) & ~(uintptr_t)(HEADER - 1);
    uintptr_t end = ((uintptr_t)buffer + bytes) & ~(uintptr_t)(HEADER - 1);
    if (!buffer || active || end < begin + 2 * HEADER) return false;
    free_list = (block *)begin;
    free_list->bytes = end - begin;
    free_list->next_free = NULL;
    active = true;
    return true;
}

void *kni_arena_allocate(size_t bytes)
{
    if (bytes > SIZE_MAX - 2 * HEADER) return NULL;
    size_t need = (bytes + 2 * HEADER - 1) & ~(size_t)(HEADER - 1);
    void *result = NULL;
    kni_guard_lock(&lock);
    for (block **link = &free_list; *link; link = &(*link)->next_free) {
        block *b = *link;
        if (b->bytes < need) continue;
        if (b->bytes - need >= 2 * HEADER) {
            block *rest = (block *)((char *)b + need);
            rest->bytes = b->bytes - need;
            rest->next_free = b->next_free;
            b->bytes = need;
            *link = rest;
        } else {
            *link = b->next_free;
        }
        result = (char *)b + HEADER;
        break;
    }
    kni_guard_unlock(&lock);
    return result;
}

static void merge_with_next(block *b)
{
    if (b->next_free && (char *)b + b->bytes == (char *)b->next_free) {
        b->bytes += b->next_free->bytes;
        b->next_free = b->next_free->next_free;
    }
}

void kni_arena_free(void *p)
{
    block *b = (block *)((char *)p - HEADER), *before = NULL;
    kni_guard_lock(&lock);
    block *after = free_list;
    while (after && after < b) before = after, after = after->next_free;
    b->next_free = after;
    if (before)
        before->next_free = b;
    else
        free_list = b;
    merge_with_next(b);
    if (before) merge_with_next(before);
    kni_guard_unlock(&lock);
}
