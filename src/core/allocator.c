/* Counting, limiting and failing allocations, and the per-thread lists of small blocks. */
#include "core/allocator.h"
#include "core/platform.h"
#include "core/static_arena.h"
#include <kn/tensor.h>
#include <stdatomic.h>
#include <string.h>
#ifndef KN_FREESTANDING
#include <stdlib.h>
#endif

static _Atomic int64_t bytes_now, bytes_peak, allocations, limit, fail_countdown;

#if defined(__SANITIZE_ADDRESS__)
#define RECYCLE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RECYCLE 0
#else
#define RECYCLE 1
#endif
#else
#define RECYCLE 1
#endif

static bool must_fail(void)
{
    if (KNI_LIKELY(atomic_load_explicit(&fail_countdown, memory_order_relaxed) == 0)) return false;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

static bool account(int64_t bytes)
{
    int64_t now = atomic_fetch_add_explicit(&bytes_now, bytes, memory_order_relaxed) + bytes;
    int64_t most = atomic_load_explicit(&limit, memory_order_relaxed);
    if (KNI_UNLIKELY(most > 0 && now > most)) {
        atomic_fetch_sub_explicit(&bytes_now, bytes, memory_order_relaxed);
        return false;
    }
    int64_t peak = atomic_load_explicit(&bytes_peak, memory_order_relaxed);
    while (now > peak && !atomic_compare_exchange_weak(&bytes_peak, &peak, now)) {}
    return true;
}

static void *from_system(size_t bytes)
{
#ifdef KN_FREESTANDING
    return kni_arena_allocate(bytes);
#else
    if (kni_arena_active()) return kni_arena_allocate(bytes);
    size_t rounded = (bytes + 63) & ~(size_t)63;
    return aligned_alloc(64, rounded);
#endif
}

static void to_system(void *p)
{
#ifdef KN_FREESTANDING
    kni_arena_free(p);
#else
    if (kni_arena_active())
        kni_arena_free(p);
    else
        free(p);
#endif
}

void *kni_allocate(size_t bytes)
{
    if (bytes == 0) bytes = 1;
    if (bytes > (size_t)PTRDIFF_MAX - 64 || must_fail() || !account((int64_t)bytes)) return NULL;
    void *p = from_system(bytes);
    if (!p) {
        atomic_fetch_sub_explicit(&bytes_now, (int64_t)bytes, memory_order_relaxed);
        return NULL;
    }
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return p;
}

void kni_free(void *p, size_t bytes)
{
    if (!p) return;
    atomic_fetch_sub_explicit(&bytes_now, (int64_t)(bytes ? bytes : 1), memory_order_relaxed);
    to_system(p);
}

void *kni_reallocate(void *p, size_t old_bytes, size_t new_bytes)
{
    void *q = kni_allocate(new_bytes);
    if (!q) return NULL;
    if (p) memcpy(q, p, old_bytes < new_bytes ? old_bytes : new_bytes);
    kni_free(p, old_bytes);
    return q;
}

static int class_of(size_t bytes)
{
    return bytes <= KNI_SMALL_MIN ? 0 : 64 - __builtin_clzll((bytes - 1) / KNI_SMALL_MIN);
}

void *kni_small_allocate(kni_small_cache *cache, size_t bytes)
{
    if (!RECYCLE || bytes > KNI_SMALL_MAX) return kni_allocate(bytes);
    int c = class_of(bytes);
    void *p = cache->head[c];
    if (KNI_UNLIKELY(!p || atomic_load_explicit(&fail_countdown, memory_order_relaxed)))
        return kni_allocate((size_t)KNI_SMALL_MIN << c);
    memcpy(&cache->head[c], p, sizeof p);
    cache->count[c]--;
    return p;
}

void kni_small_free(kni_small_cache *cache, void *p, size_t bytes)
{
    if (!RECYCLE || bytes > KNI_SMALL_MAX) {
        kni_free(p, bytes);
        return;
    }
    int c = class_of(bytes);
    if (cache->count[c] >= KNI_SMALL_KEPT) {
        kni_free(p, (size_t)KNI_SMALL_MIN << c);
        return;
    }
    memcpy(p, &cache->head[c], sizeof p);
    cache->head[c] = p;
    cache->count[c]++;
}

void kni_small_trim(kni_small_cache *cache)
{
    for (int c = 0; c < KNI_SMALL_CLASSES; c++) {
        while (cache->head[c]) {
            void *p = cache->head[c];
            memcpy(&cache->head[c], p, sizeof p);
            kni_free(p, (size_t)KNI_SMALL_MIN << c);
        }
        cache->count[c] = 0;
    }
}

void kn_memory_limit(int64_t bytes) { atomic_store(&limit, bytes > 0 ? bytes : 0); }

void kn_memory_fail_after(int64_t n) { atomic_store(&fail_countdown, n > 0 ? n : 0); }

void kni_memory_counters(kn_memory *m)
{
    m->bytes_now = atomic_load(&bytes_now);
    m->bytes_peak = atomic_load(&bytes_peak);
    m->allocations = atomic_load(&allocations);
    m->limit = atomic_load(&limit);
}
