/* Memory that is taken in small pieces and given back all at once: chunks that never move. */
#ifndef KNI_BUMP_H
#define KNI_BUMP_H

#include "core/allocator.h"

typedef struct kni_bump_chunk {
    struct kni_bump_chunk *next;
    size_t bytes; /* of the whole allocation */
    _Alignas(16) char data[];
} kni_bump_chunk;

typedef struct kni_bump {
    kni_bump_chunk *first, *last; /* `last` is the one in use; those behind it are empty */
    size_t used;                  /* of its data */
} kni_bump;

/* n bytes, aligned to 8; NULL without memory. */
void *kni_bump_take_more(kni_bump *b, size_t n);
static inline void *kni_bump_take(kni_bump *b, size_t n)
{
    n = (n + 7) & ~(size_t)7;
    if (!b->last || b->last->bytes - sizeof(kni_bump_chunk) - b->used < n) return kni_bump_take_more(b, n);
    void *p = b->last->data + b->used;
    b->used += n;
    return p;
}
/* Makes all of it free again but keeps the chunks. */
static inline void kni_bump_clear(kni_bump *b)
{
    b->last = b->first;
    b->used = 0;
}
void kni_bump_free(kni_bump *b);
size_t kni_bump_bytes(const kni_bump *b);

#endif
