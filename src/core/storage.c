/* Making and freeing storages: header and data are one block. */
#include "core/storage.h"

enum { HEADER = 64 };
_Static_assert(sizeof(kni_storage) <= HEADER, "the data would not stay aligned");

static kni_storage *start(kni_storage *s, void *data, size_t bytes, size_t allocation)
{
    atomic_init(&s->references, 1);
    s->flags = 0;
    s->data = data;
    s->bytes = bytes;
    s->allocation = allocation;
    s->release = NULL;
    s->context = NULL;
    return s;
}

kni_storage *kni_storage_new(size_t bytes)
{
    if (bytes > (size_t)PTRDIFF_MAX - 2 * HEADER) return NULL;
    kni_storage *s = kni_small_allocate(&kni_thread_self()->small, bytes + HEADER);
    return s ? start(s, (char *)s + HEADER, bytes, bytes + HEADER) : NULL;
}

kni_storage *kni_storage_wrap(void *data, size_t bytes, void (*release)(void *), void *context)
{
    kni_storage *s = kni_small_allocate(&kni_thread_self()->small, HEADER);
    if (!s) return NULL;
    start(s, data, bytes, HEADER);
    s->flags = KNI_STORAGE_WRAPPED;
    s->release = release;
    s->context = context;
    return s;
}

void kni_storage_destroy(kni_storage *s)
{
    if (s->release) s->release(s->context);
    kni_small_free(&kni_thread_self()->small, s, s->allocation);
}
