/* Chunks of a bump allocator. */
#include "graph/bump.h"

enum { CHUNK = 1 << 15 };

void *kni_bump_take_more(kni_bump *b, size_t n)
{
    kni_bump_chunk *next = b->last ? b->last->next : b->first;
    if (!next || next->bytes - sizeof *next < n) {
        size_t bytes = sizeof *next + (n > CHUNK ? n : CHUNK);
        kni_bump_chunk *made = bytes < n ? NULL : kni_allocate(bytes);
        if (!made) return NULL;
        made->bytes = bytes;
        made->next = next;
        if (b->last)
            b->last->next = made;
        else
            b->first = made;
        next = made;
    }
    b->last = next;
    b->used = n;
    return next->data;
}

void kni_bump_free(kni_bump *b)
{
    while (b->first) {
        kni_bump_chunk *c = b->first;
        b->first = c->next;
        kni_free(c, c->bytes);
    }
    b->last = NULL;
    b->used = 0;
}

size_t kni_bump_bytes(const kni_bump *b)
{
    size_t n = 0;
    for (const kni_bump_chunk *c = b->first; c; c = c->next) n += c->bytes;
    return n;
}
