/* Counting, limiting and failing allocations, and the per-thread lists of small blocks. */
#include "core/allocator.h"
#include "core/large_blocks.h"
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
    /* Never below 0: threads that allocate at once must not wrap past the one that fails. */
    int64_t left = atomic_load(&fail_countdown);
    while (left > 0 && !atomic_compare_exchange_weak(&fail_countdown, &left, left - 1)) {}
    return left == 1;
}

/* Blocks that are kept count against the limit; they are given up before an allocation fails. */
static bool within_limit(int64_t now)
{
    int64_t most = atomic_load_explicit(&limit, memory_order_relaxed);
    if (KNI_LIKELY(most <= 0)) return true;
    if (now > most) return false;
#ifndef KN_FREESTANDING
    kni_large_trim(most - now);
#endif
    return true;
}

static bool account(int64_t bytes)
{
    int64_t now = atomic_fetch_add_explicit(&bytes_now, bytes, memory_order_relaxed) + bytes;
    if (KNI_UNLIKELY(!within_limit(now))) {
        atomic_fetch_sub_explicit(&bytes_now, bytes, memory_order_relaxed);
        return false;
    }
    int64_t peak = atomic_load_explicit(&bytes_peak, memory_order_relaxed);
    while (now > peak && !atomic_compare_exchange_weak(&bytes_peak, &peak, now)) {}
    return true;
}

#ifdef KN_FREESTANDING
static void *from_system(size_t bytes)
{
    void *p = kni_arena_allocate(bytes);
    if (p) atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return p;
}

static void to_system(void *p, size_t bytes)
{
    (void)bytes;
    kni_arena_free(p);
}

static void *take_kept(size_t *bytes, bool larger)
{
    (void)bytes, (void)larger;
    return NULL;
}

void kni_cache_trim(void) {}

static int64_t bytes_cached(void) { return 0; }
#else
static bool is_large(size_t bytes) { return RECYCLE && bytes >= KNI_LARGE_MIN && !kni_arena_active(); }

/* What is in use and what is kept together never pass what was in use at most, but for the quarter that sizes may
   be rounded up by, and never the limit. KNI_LARGE_ALWAYS may be kept in any case but for the limit. */
static int64_t room_to_keep(void)
{
    int64_t now = atomic_load(&bytes_now), room = atomic_load(&bytes_peak) - now, most = atomic_load(&limit);
    room += room / 4;
    if (room < KNI_LARGE_ALWAYS) room = KNI_LARGE_ALWAYS;
    return most > 0 && most - now < room ? most - now : room;
}

/* *bytes: what the block has, where it is larger. */
static void *take_kept(size_t *bytes, bool larger)
{
    if (KNI_LIKELY(!is_large(*bytes))) return NULL;
    const size_t wanted = kni_large_size(*bytes);
    size_t size = wanted;
    void *p = kni_large_take(&size, larger ? 2 * wanted : wanted);
    if (p && size > wanted) *bytes = size;
    return p;
}

/* Pages' workers allocate while they run a task; wasi-libc knows of no threads. */
#if KNI_TEAM && !KNI_THREADS
static kni_mutex heap = KNI_MUTEX_INIT;
static void *heap_take(size_t alignment, size_t size)
{
    kni_lock(&heap);
    void *p = aligned_alloc(alignment, size);
    kni_unlock(&heap);
    return p;
}

static void heap_give(void *p)
{
    kni_lock(&heap);
    free(p);
    kni_unlock(&heap);
}
#else
static void *heap_take(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }
static void heap_give(void *p) { free(p); }
#endif

static void *large_from_system(size_t bytes)
{
    size_t size = kni_large_size(bytes), alignment = kni_large_alignment(size);
    kni_large_trim(room_to_keep());
    void *p = heap_take(alignment, size);
    if (!p) {
        kni_large_trim(0);
        p = heap_take(alignment, size);
    }
    if (!p) return NULL;
    kni_large_advise(p, size);
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return p;
}

static void *from_system(size_t bytes)
{
    if (is_large(bytes)) return large_from_system(bytes);
    size_t rounded = (bytes + 63) & ~(size_t)63;
    void *p = kni_arena_active() ? kni_arena_allocate(bytes) : heap_take(64, rounded);
    if (p) atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    return p;
}

static void to_system(void *p, size_t bytes)
{
    if (kni_arena_active())
        kni_arena_free(p);
    else if (!is_large(bytes) || !kni_large_keep(p, kni_large_size(bytes), room_to_keep()))
        heap_give(p);
}

void kni_cache_trim(void) { kni_large_trim(0); }

static int64_t bytes_cached(void) { return kni_large_bytes(); }
#endif

static void *allocate(size_t *bytes, bool larger)
{
    if (*bytes == 0) *bytes = 1;
    /* A quarter is more than sizes are rounded up by. */
    if (*bytes > (size_t)PTRDIFF_MAX / 4 * 3 || must_fail()) return NULL;
    void *p = take_kept(bytes, larger); /* before the limit is looked at, which may give kept blocks up */
    if (KNI_UNLIKELY(!account((int64_t)*bytes))) {
        if (p) to_system(p, *bytes);
        return NULL;
    }
    if (!p) p = from_system(*bytes);
    if (!p) atomic_fetch_sub_explicit(&bytes_now, (int64_t)*bytes, memory_order_relaxed);
    return p;
}

void *kni_allocate(size_t bytes) { return allocate(&bytes, false); }

void *kni_allocate_at_least(size_t bytes, size_t *real)
{
    *real = bytes;
    return allocate(real, true);
}

void kni_free(void *p, size_t bytes)
{
    if (!p) return;
    if (bytes == 0) bytes = 1;
    atomic_fetch_sub_explicit(&bytes_now, (int64_t)bytes, memory_order_relaxed);
    to_system(p, bytes);
}

void kni_memory_uncount(size_t bytes)
{
    atomic_fetch_sub_explicit(&bytes_now, (int64_t)bytes, memory_order_relaxed);
}

void kni_memory_recount(size_t bytes)
{
    atomic_fetch_add_explicit(&bytes_now, (int64_t)bytes, memory_order_relaxed);
}

void *kni_reallocate(void *p, size_t old_bytes, size_t new_bytes)
{
    void *q = kni_allocate(new_bytes);
    if (!q) return NULL;
    if (p) memcpy(q, p, old_bytes < new_bytes ? old_bytes : new_bytes);
    kni_free(p, old_bytes);
    return q;
}

void *kni_grow(void *list, uint32_t *room, uint32_t needed, size_t size)
{
    enum { FIRST = 16 };
    uint64_t more = *room ? *room : FIRST;
    if (KNI_LIKELY(needed <= *room)) return list;
    while (more < needed) more *= 2;
    if (more > UINT32_MAX || more > SIZE_MAX / size) return NULL;
    void *grown = kni_reallocate(list, *room * size, (size_t)more * size);
    if (grown) *room = (uint32_t)more;
    return grown;
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

void kn_memory_limit(int64_t bytes)
{
    atomic_store(&limit, bytes > 0 ? bytes : 0);
    (void)within_limit(atomic_load(&bytes_now));
}

void kn_memory_fail_after(int64_t n) { atomic_store(&fail_countdown, n > 0 ? n : 0); }

void kni_memory_counters(kn_memory *m)
{
    m->bytes_now = atomic_load(&bytes_now);
    m->bytes_peak = atomic_load(&bytes_peak);
    m->allocations = atomic_load(&allocations);
    m->limit = atomic_load(&limit);
    m->bytes_cached = bytes_cached();
}
