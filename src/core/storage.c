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

/* A header alone, for memory from elsewhere. */
static kni_storage *header_for(void *data, size_t bytes, void (*release)(void *), void *context,
                               uint32_t flags)
{
    kni_storage *s = kni_small_allocate(&kni_thread_self()->small, HEADER);
    if (!s) return NULL;
    start(s, data, bytes, HEADER);
    s->flags = flags;
    s->release = release;
    s->context = context;
    return s;
}

kni_storage *kni_storage_wrap(void *data, size_t bytes, void (*release)(void *), void *context)
{
    return header_for(data, bytes, release, context, KNI_STORAGE_WRAPPED);
}

kni_storage *kni_storage_device(void *data, size_t bytes, void (*release)(void *), void *context)
{
    return header_for(data, bytes, release, context, KNI_STORAGE_DEVICE);
}

kni_storage *kni_storage_promise(size_t bytes)
{
    return header_for(NULL, bytes, NULL, NULL, KNI_STORAGE_PENDING);
}

static void release_source(void *source) { kni_storage_release(source); }

void kni_storage_fulfil(kni_storage *promise, kni_storage *source)
{
    bool shared = atomic_load_explicit(&source->references, memory_order_acquire) != 1;
    promise->data = source->data;
    promise->release = release_source;
    promise->context = source;
    promise->flags = source->flags | (shared ? KNI_STORAGE_READ_ONLY : 0u);
}

void kni_storage_destroy(kni_storage *s)
{
    if (s->release) s->release(s->context);
    kni_small_free(&kni_thread_self()->small, s, s->allocation);
}
