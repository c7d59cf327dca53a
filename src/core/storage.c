/* Making and freeing storages: header and data are one block. */
#include "core/storage.h"
#include "core/made_forms.h"

enum { HEADER = 64 };
_Static_assert(sizeof(kni_storage) <= HEADER, "the data would not stay aligned");

static kni_storage *start(kni_storage *s, void *data, size_t bytes, size_t allocation)
{
    atomic_init(&s->references, 1);
    atomic_init(&s->flags, 0);
    s->data = data;
    s->bytes = bytes;
    s->allocation = allocation;
    s->release = NULL;
    s->context = NULL;
    s->debtor = NULL;
    s->error = (kn_tensor){0};
    return s;
}

kni_storage *kni_storage_new(size_t bytes)
{
    if (bytes > (size_t)PTRDIFF_MAX - 2 * HEADER) return NULL;
    size_t real = bytes + HEADER;
    kni_storage *s = real <= KNI_SMALL_MAX ? kni_small_allocate(&kni_thread_self()->small, real)
                                           : kni_allocate_at_least(real, &real);
    return s ? start(s, (char *)s + HEADER, bytes, real) : NULL;
}

/* A header alone, for memory from elsewhere. */
static kni_storage *header_for(void *data, size_t bytes, void (*release)(void *), void *context,
                               uint32_t flags)
{
    kni_storage *s = kni_small_allocate(&kni_thread_self()->small, HEADER);
    if (!s) return NULL;
    start(s, data, bytes, HEADER);
    atomic_init(&s->flags, flags);
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

kni_storage *kni_storage_promise(size_t bytes, kni_debtor *debtor, void *context)
{
    kni_storage *s = header_for(NULL, bytes, NULL, context, KNI_STORAGE_PENDING | KNI_STORAGE_PROMISE);
    if (s) s->debtor = debtor;
    return s;
}

static void release_source(void *source) { kni_storage_release(source); }

/* A source that was a promise itself and has no other user hands on what it got, so that values which are updated again
   and again in place make no chain. */
static kni_storage *innermost(kni_storage *source)
{
    while (source->release == release_source &&
           atomic_load_explicit(&source->references, memory_order_acquire) == 1) {
        kni_storage *inner = source->context;
        source->release = NULL;
        kni_storage_release(source);
        source = inner;
    }
    return source;
}

kni_storage *kni_storage_owner(kni_storage *s)
{
    while (s->release == release_source && s->context) s = s->context;
    return s;
}

#ifndef KN_FREESTANDING
void kni_storage_written(kni_storage *s)
{
    s = kni_storage_owner(s);
    if (KNI_LIKELY(!(kni_storage_flags(s) & KNI_STORAGE_USES))) return;
    atomic_fetch_add(&s->flags, KNI_STORAGE_WRITTEN);
    atomic_fetch_and(&s->flags, ~(uint32_t)KNI_STORAGE_USES);
    kni_forms_end(s);
}
#endif

void kni_storage_fulfil(kni_storage *promise, kni_storage *source)
{
    uint32_t flags = 0;
    promise->context = NULL;
    if (source) {
        source = innermost(source);
        bool shared = atomic_load_explicit(&source->references, memory_order_acquire) != 1;
        flags = kni_storage_flags(source) | (shared ? KNI_STORAGE_READ_ONLY : 0u);
        /* What is known of the bytes is the owner's alone. */
        flags &= KNI_STORAGE_READ_ONLY | KNI_STORAGE_WRAPPED | KNI_STORAGE_DEVICE | KNI_STORAGE_FAILED;
        promise->data = source->data;
        promise->context = source;
        promise->release = release_source;
    }
    atomic_store_explicit(&promise->flags, flags | KNI_STORAGE_PROMISE, memory_order_release);
}

/* A function of the user's runs: it must not end the library. */
static void release(kni_storage *s)
{
    if (!s->release) return;
    kni_thread_self()->depth_of_calls++;
    s->release(s->context);
    kni_thread_self()->depth_of_calls--;
}

void kni_storage_break(kni_storage *promise, kn_tensor error)
{
    release(promise); /* kept, and found bad afterwards */
    promise->release = NULL;
    promise->data = NULL;
    promise->context = NULL;
    promise->error = error;
    atomic_store_explicit(&promise->flags, KNI_STORAGE_FAILED | KNI_STORAGE_PROMISE, memory_order_release);
}

void kni_storage_destroy(kni_storage *s)
{
    kni_forms_free(s);
    release(s);
    kni_small_free(&kni_thread_self()->small, s, s->allocation);
}
