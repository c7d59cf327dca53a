/* Where all memory comes from: the system or the caller's static buffer, counted, limited, and failing on
   request for tests. */
#ifndef KNI_ALLOCATOR_H
#define KNI_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tensor data and other blocks, 64-byte aligned. bytes given to kni_free must be those asked for. */
void *kni_allocate(size_t bytes);
/* The same, or a larger block that is kept, at most twice as large; *real: the bytes to free it with. */
void *kni_allocate_at_least(size_t bytes, size_t *real);
void kni_free(void *p, size_t bytes);
/* Copies the old content; the old block survives a failure. */
void *kni_reallocate(void *p, size_t old_bytes, size_t new_bytes);
/* A list with room for `needed` items of `size` bytes, at least one: the list as it is, or one that was doubled until they fit.
   NULL without memory: the old list is as it was. Freed as room * size bytes. */
void *kni_grow(void *list, uint32_t *room, uint32_t needed, size_t size);

/* Small blocks (to KNI_SMALL_MAX bytes) are recycled through lists of the calling thread. */
enum { KNI_SMALL_CLASSES = 6, KNI_SMALL_MIN = 128, KNI_SMALL_MAX = 4096, KNI_SMALL_KEPT = 64 };
typedef struct kni_small_cache {
    void *head[KNI_SMALL_CLASSES];
    uint32_t count[KNI_SMALL_CLASSES];
} kni_small_cache;
void *kni_small_allocate(kni_small_cache *cache, size_t bytes);
void kni_small_free(kni_small_cache *cache, void *p, size_t bytes);
void kni_small_trim(kni_small_cache *cache);
/* Takes bytes out of the count of what is in use, and puts them back in, which passes any limit. */
void kni_memory_uncount(size_t bytes);
void kni_memory_recount(size_t bytes);

/* Gives the large blocks that are kept for later back to the system. */
void kni_cache_trim(void);

struct kn_memory;
void kni_memory_counters(struct kn_memory *m);

#endif
